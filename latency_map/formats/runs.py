"""Runs of a program that probes one node from another: their replies, held against their summary."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from statistics import fmean

from latency_map.errors import LatencyMapError
from latency_map.formats.samples import DelaySample
from latency_map.kinds import DelayKind, DelayUnit


@dataclass(slots=True, kw_only=True)
class ProbeRun:
    """Probes from one node to another, as a program reports them; None or NaN for what it does not report."""

    place: str
    source: str = ""
    target: str
    #: Single round trips with their times, and those of doubled replies.
    replies: list[tuple[float, float | None]] = field(default_factory=list)
    doubled: list[float] = field(default_factory=list)
    #: From the summary: mean round trip, probes sent, replies received; whether it was a failure.
    mean: float = math.nan
    sent: float = math.nan
    received: float = math.nan
    failed: bool = False
    #: Time of the run, for replies without one.
    at_s: float | None = None
    #: Replies without a valid time, and those of another host, that the target is unreachable.
    invalid: int = 0
    refused: int = 0
    #: Difference of two means that the steps of the figures explain, and its ratio.
    margin: float = 0.0
    margin_ratio: float = 0.0

    def samples(self, file: str, unit: DelayUnit) -> Iterator[DelaySample]:
        """Return a sample of each reply; one of the mean if replies are not shown, or of a loss if none came.

        Raises
        ------
        LatencyMapError
            The replies contradict the summary.
        """
        self._check(file)
        replies = self.replies
        if not replies:
            replies = [(math.nan if self.failed or self.invalid else self.mean, None)]
        loss_ratio = 1.0 if self.failed else None
        if self.sent > 0 and self.received >= 0 and not self.failed:
            loss_ratio = 1 - min(1.0, self.received / self.sent)
        for delay, at_s in replies:
            when = self.at_s if at_s is None else at_s
            yield DelaySample(self.source, self.target, delay, self.place, unit, DelayKind.RTT, loss_ratio, when)

    def _check(self, file: str) -> None:
        read = len(self.replies) + self.invalid
        shown = read or math.isnan(self.mean)
        if shown and not math.isnan(self.received) and read != self.received:
            fields = {"target": self.target, "received": int(self.received), "read": read}
            raise LatencyMapError("map-ping-replies-unread", source=file, place=self.place, **fields)
        if math.isnan(self.mean) or not self.replies or self.invalid:
            return
        single = [delay for delay, _ in self.replies]
        means = fmean(single), fmean(single + self.doubled)
        if min(abs(mean - self.mean) for mean in means) > self.margin + self.margin_ratio * self.mean:
            fields = {"target": self.target, "mean": means[0], "summary": self.mean}
            raise LatencyMapError("map-ping-mean-contradicted", source=file, place=self.place, **fields)
