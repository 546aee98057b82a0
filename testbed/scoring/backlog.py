"""The rows that wait before the operators of a workflow, whatever number of operators there is."""

from dataclasses import dataclass

from testbed.scoring.sample import Sample


@dataclass(frozen=True, slots=True, kw_only=True)
class Backlog:
    """Rows offered and not yet processed, of all operators together, over the measurement.

    Attributes
    ----------
    avg_backlog_rows
        Mean over time.
    max_backlog_rows
        Its maximum, or a little more where operators have theirs at different times: the sum of each one's maximum.
    """

    avg_backlog_rows: float
    max_backlog_rows: float


class BacklogMeter:
    """Takes the samples of all operators of a workflow, each of which holds until the operator's next one.

    Parameters
    ----------
    measured_s
        T, the length of the measurement; what comes later does not count.
    """

    __slots__ = ("_measured_s", "_queues")

    def __init__(self, measured_s: float) -> None:
        self._measured_s = measured_s
        self._queues: dict[str, _Queue] = {}

    def sampled(self, operator: str, sample: Sample) -> None:
        """Take an operator's sample, in the order of its time."""
        queue = self._queues.get(operator) or self._queues.setdefault(operator, _Queue())
        queue.hold_until(sample.t_s if sample.t_s < self._measured_s else self._measured_s)
        queue.net_rows_per_s = sample.input_rows_per_s - sample.processed_rows_per_s

    def backlog(self) -> Backlog:
        """Return the figures; the newest samples hold until the end of the measurement."""
        queues = self._queues.values()
        for queue in queues:
            queue.hold_until(self._measured_s)
        return Backlog(
            avg_backlog_rows=sum(queue.row_s for queue in queues) / self._measured_s,
            max_backlog_rows=sum(queue.most_rows for queue in queues),
        )


@dataclass(slots=True)
class _Queue:
    """One operator's: its length changes evenly while a sample holds, and is never below 0."""

    at_s: float = 0.0
    rows: float = 0.0
    most_rows: float = 0.0
    row_s: float = 0.0
    net_rows_per_s: float = 0.0

    def hold_until(self, until_s: float) -> None:
        seconds = until_s - self.at_s
        if seconds <= 0:
            return
        after = self.rows + self.net_rows_per_s * seconds
        if after <= 0:
            after = 0.0
        elif after > self.most_rows:
            self.most_rows = after
        self.row_s += (self.rows + after) / 2 * seconds
        self.at_s, self.rows = until_s, after
