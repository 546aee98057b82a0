"""Records the trajectory of a run for figures, in bounded memory."""

from collections.abc import Mapping
from copy import deepcopy

from testbed.scoring.sample import Sample

_COLUMNS = (
    "t_s",
    "input_rows_per_s",
    "processed_rows_per_s",
    "demand_replicas",
    "supply_replicas",
    "serving_replicas",
    "backlog_rows",
)


class SeriesRecorder:
    """Downsamples the samples of an operator to bins of equal length.

    A bin has the mean of rates over time, and the backlog at its end. Its replicas are the value farthest from that of
    the previous bin, the last one of ties; in the first bin, the first value. So a step line shows even a restart that
    ends within a bin, less than a bin from its true time.
    """

    def __init__(self, until_s: float, bins: int = 600) -> None:
        """Begin at time 0."""
        self._until_s, self._bins = until_s, bins
        self._points: list[tuple[float | None, ...]] = []
        self._end_s = until_s / bins
        self._covered_s = self._input_rows = self._processed_rows = self._backlog_rows = 0.0
        self._sample: Sample | None = None
        self._replicas: tuple[int, int, int] | None = None
        self._bin_replicas: list[int] = []
        self._previous_replicas: list[int] = []

    def on_sample(self, sample: Sample) -> None:
        """Add a sample, in the order of time; it holds until the next one."""
        if self._sample is not None:
            self._hold_until(sample.t_s)
        self._sample = sample

    def series(self) -> Mapping[str, tuple[float | None, ...]]:
        """Return the columns; the newest sample holds until the end."""
        whole = deepcopy(self)
        if whole._sample is not None:
            whole._hold_until(whole._until_s)
        while len(whole._points) < whole._bins:
            whole._close_bin()
        return dict(zip(_COLUMNS, zip(*whole._points, strict=True), strict=True))

    def _hold_until(self, until_s: float) -> None:
        sample = self._sample
        if sample is None:
            return
        until_s = min(until_s, self._until_s)
        at_s = sample.t_s
        offered, processed = sample.input_rows_per_s, sample.processed_rows_per_s
        while at_s < until_s:
            end_s = self._end_s
            if at_s >= end_s:
                self._close_bin()
                continue
            end_s = min(end_s, until_s)
            seconds = end_s - at_s
            self._covered_s += seconds
            self._input_rows += offered * seconds
            self._processed_rows += processed * seconds
            left = offered - processed - sample.lost_rows_per_s
            self._backlog_rows = max(0.0, self._backlog_rows + left * seconds)
            replicas = (sample.demand_replicas, sample.supply_replicas, sample.serving_replicas)
            if replicas != self._replicas:
                self._note_replicas(replicas)
            at_s = end_s

    def _note_replicas(self, replicas: tuple[int, int, int]) -> None:
        self._replicas = replicas
        if not self._bin_replicas:
            self._bin_replicas = list(replicas)
        elif self._previous_replicas:
            self._bin_replicas = [
                now if abs(now - before) >= abs(noted - before) else noted
                for now, noted, before in zip(replicas, self._bin_replicas, self._previous_replicas, strict=True)
            ]

    def _close_bin(self) -> None:
        index = len(self._points)
        start_s, seconds = index * self._until_s / self._bins, self._covered_s
        point: tuple[float | None, ...] = (start_s, *(None,) * (len(_COLUMNS) - 1))
        if seconds > 0:
            rates = self._input_rows / seconds, self._processed_rows / seconds
            point = (start_s, *rates, *self._bin_replicas, self._backlog_rows)
            self._previous_replicas = self._bin_replicas
        self._points.append(point)
        last = index + 2 >= self._bins
        self._end_s = self._until_s if last else (index + 2) * self._until_s / self._bins
        self._covered_s = self._input_rows = self._processed_rows = 0.0
        self._bin_replicas, self._replicas = [], None
