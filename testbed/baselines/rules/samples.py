"""The readings of one metric over time, as few as its longest time needs."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple


class MetricReport(NamedTuple):
    """What an operator said of a metric at an instant.

    Attributes
    ----------
    at_s
        When, seconds since the epoch.
    value
        In the metric's own unit.
    reach_s
        How far back it speaks, where no other report came since, seconds.
    """

    at_s: float
    value: float
    reach_s: float


class MetricSample(NamedTuple):
    """A report, or several that were merged, as it is kept.

    Attributes
    ----------
    at_s
        When the last of them was reported, seconds since the epoch.
    covers_s
        The time that they speak for, seconds.
    low, high
        The least and the greatest value.
    """

    at_s: float
    covers_s: float
    low: float
    high: float


MetricSamples = tuple[MetricSample, ...]


def appended(
    samples: Sequence[MetricSample], reports: Iterable[MetricReport], max_gap_s: float
) -> MetricSamples:
    """Return samples with newer reports behind them.

    Parameters
    ----------
    samples
        Oldest first.
    reports
        Oldest first; those that are not newer than the last sample are passed over.
    max_gap_s
        Where a report comes later than this and does not reach back to the one before, all before it is forgotten.
    """
    kept = list(samples)
    for report in reports:
        at_s, value = round(report.at_s, 3), round(report.value, 3)
        since_s = at_s - kept[-1].at_s if kept else 0.0
        if kept and since_s <= 0:
            continue
        if since_s > max(max_gap_s, report.reach_s):
            kept.clear()
            since_s = 0.0
        kept.append(MetricSample(at_s, round(min(since_s, report.reach_s), 3), value, value))
    return tuple(kept)


def pruned(samples: Sequence[MetricSample], longest_s: float, most: int) -> MetricSamples:
    """Return no more of the samples than are needed.

    Parameters
    ----------
    samples
        Oldest first.
    longest_s
        The longest time that a condition looks back, seconds. One older sample is kept as well, and the newest two in
        any case.
    most
        How many may be kept, at least 2. Where there are more, neighbours are merged, old ones rather than new ones:
        what holds of all values holds of the least and the greatest.
    """
    if not samples:
        return ()
    begins_s = samples[-1].at_s - longest_s
    before = sum(sample.at_s <= begins_s for sample in samples)
    kept = list(samples[max(0, min(before - 1, len(samples) - 2)) :])
    while len(kept) > most:
        kept = _one_fewer(kept)
    return tuple(kept)


def _one_fewer(samples: list[MetricSample]) -> list[MetricSample]:
    """Merge two neighbours: those that cover the least time for how long ago it was. The newest stays alone."""
    now_s = samples[-1].at_s

    def spread(index: int) -> float:
        one, two = samples[index : index + 2]
        return (one.covers_s + two.covers_s) / (now_s - two.at_s)

    index = min(range(len(samples) - 2), key=spread)
    one, two = samples[index : index + 2]
    both = MetricSample(
        two.at_s, round(one.covers_s + two.covers_s, 3), min(one.low, two.low), max(one.high, two.high)
    )
    return [*samples[:index], both, *samples[index + 2 :]]
