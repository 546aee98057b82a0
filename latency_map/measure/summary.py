"""What several probes of one pair say together."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean

from latency_map.measure.probe import Reply, RttSample, Timeout, UnknownHost, Unreachable


@dataclass(frozen=True, slots=True, kw_only=True)
class PairSummary:
    """Probes of one pair; lost ones are counted and enter no figure of time.

    Attributes
    ----------
    median_ms, p95_ms
        Of the round trips; None where there was no reply. The 95th percentile is interpolated between
        replies.
    jitter_ms
        Mean absolute difference of one reply to the next that came; None with fewer than two.
    replies, timeouts, unknown_host, unreachable
        How often each answer came.
    """

    median_ms: float | None
    p95_ms: float | None
    jitter_ms: float | None
    replies: int
    timeouts: int
    unknown_host: int
    unreachable: int

    @property
    def probes(self) -> int:
        """How many there were."""
        return self.replies + self.timeouts + self.unknown_host + self.unreachable

    @property
    def loss_ratio(self) -> float | None:
        """Share of the probes without a reply, for whatever reason; None where there was no probe."""
        return (self.probes - self.replies) / self.probes if self.probes else None


def summarise(samples: Sequence[RttSample]) -> PairSummary:
    """Sum up the probes of one pair.

    Parameters
    ----------
    samples
        What came, in the order in which the probes were sent.

    Returns
    -------
    PairSummary
        What they say together.
    """
    rtts_ms = [sample.rtt_ms for sample in samples if isinstance(sample, Reply)]
    steps_ms = [abs(later - earlier) for earlier, later in pairwise(rtts_ms)]
    return PairSummary(
        median_ms=_quantile(rtts_ms, 0.5) if rtts_ms else None,
        p95_ms=_quantile(rtts_ms, 0.95) if rtts_ms else None,
        jitter_ms=fmean(steps_ms) if steps_ms else None,
        replies=len(rtts_ms),
        timeouts=_count(samples, Timeout),
        unknown_host=_count(samples, UnknownHost),
        unreachable=_count(samples, Unreachable),
    )


def _quantile(values: Sequence[float], share: float) -> float:
    """Interpolate between the two values around a share of them; NumPy would double an agent's memory."""
    ordered, place = sorted(values), share * (len(values) - 1)
    below = int(place)
    above = min(below + 1, len(values) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def _count(samples: Sequence[RttSample], kind: type[RttSample]) -> int:
    return sum(isinstance(sample, kind) for sample in samples)
