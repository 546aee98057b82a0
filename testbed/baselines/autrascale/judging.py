"""What a run of a configuration has shown, and what follows from it, in words."""

from dataclasses import dataclass
from statistics import fmean, linear_regression, median

from gesscale.model.decision import Reason
from testbed.baselines.autrascale.analysis.space import Replicas
from testbed.baselines.autrascale.memo import AutrascaleMemo, Phase, RateCheck
from testbed.baselines.autrascale.situation import AutrascaleContext

_OTHER_RATE = 0.1
"""A rate that differs by more than this share is another one: our value, the paper names none."""

KEPT_UP = 0.98
"""From this share of the rate on, the throughput is high enough: our value, the paper has no tolerance."""

_AT_LIMIT = 0.95
"""The same where something else limits the throughput, because a noisy figure shows that: our value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Assessment:
    """The mean of the second half of the time that a configuration must run before it is judged.

    Checks at another rate do not count where there are others.

    Attributes
    ----------
    rate
        lambda, the median, rows/s.
    throughput
        v_t, rows/s.
    latency_s
        l_p.
    waiting_s
        l_w at the end; None where the backlog is unknown.
    falls_behind
        Whether it processes less than is offered, and rows pile up as far as is known.
    """

    rate: float
    throughput: float
    latency_s: float
    waiting_s: float | None
    falls_behind: bool

    def misses(self, capped_at: float) -> bool:
        """Whether the throughput is less than it should be; `capped_at` is the most that is possible, 0 for none."""
        return self.falls_behind and (capped_at <= 0 or self.throughput < _AT_LIMIT * capped_at)


def judged(memo: AutrascaleMemo, stabilise_s: float) -> Assessment | None:
    """Return what the present run has shown; None until it has lasted for the stabilisation time."""
    newest = memo.checks[-1]
    if newest.at_s - memo.since_s < stabilise_s:
        return None
    late = [check for check in memo.checks if check.at_s > newest.at_s - stabilise_s / 2]
    inside = [check for check in late if not is_other(check.rate, memo.rate)] or late
    offered, throughput = fmean(check.rate for check in inside), fmean(check.throughput for check in inside)
    return Assessment(
        rate=median(check.rate for check in inside),
        throughput=throughput,
        latency_s=fmean(check.latency_s for check in inside),
        waiting_s=newest.waiting_s,
        falls_behind=throughput < KEPT_UP * offered and _grows(inside),
    )


def is_other(rate: float, known: float) -> bool:
    """Whether a rate differs from that of a model."""
    return abs(rate - known) > _OTHER_RATE * known


def staying(memo: AutrascaleMemo, detail: str, reason: Reason, **changes: object) -> AutrascaleMemo:
    """Return what to remember where the configuration that runs stays."""
    return memo.but(wanted=memo.replicas, detail=detail, reason=reason, **changes)


def ordering(
    memo: AutrascaleMemo, now: AutrascaleContext, replicas: Replicas, phase: Phase, detail: str
) -> AutrascaleMemo:
    """Return what to remember where another configuration is to run, and a step is then under way."""
    return memo.but(
        wanted=replicas, ordered_s=now.at_s, phase=phase, detail=detail, reason=Reason.WITHIN_TARGET
    )


def stabilising(memo: AutrascaleMemo, step: str, stabilise_s: float) -> AutrascaleMemo:
    """Return what to remember where a configuration has not run long enough to be judged."""
    ran_s = memo.checks[-1].at_s - memo.since_s
    detail = f"{step}: {shown(memo.replicas)} has run for {ran_s:.0f} of {stabilise_s:.0f} s"
    return staying(memo, detail, Reason.COOLING_DOWN)


def shown(replicas: Replicas) -> str:
    """Return a configuration for people."""
    return f"({', '.join(map(str, replicas))})"


def _grows(checks: list[RateCheck]) -> bool:
    known = [(check.at_s, check.waiting_s * check.rate) for check in checks if check.waiting_s is not None]
    if len(known) < max(2, len(checks)):
        return True
    at_s, rows = zip(*known, strict=True)
    return linear_regression(at_s, rows).slope > 0
