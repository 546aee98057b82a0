"""Totals over all operators of a workflow: replicas, scaling actions, backlog."""

from dataclasses import dataclass

from testbed.scoring.sample import Sample


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaCount:
    """Replicas of all operators together over the measurement, as in Kanis (2023, section 5.3)."""

    #: Mean of their supply over time.
    avg_replicas: float
    #: Its maximum.
    max_replicas: int
    #: Its value at the end.
    final_replicas: int
    #: Instants at which changes were ordered, of one or more operators.
    scaling_actions: int
    #: Time of the last of them, seconds since the start; 0 without any.
    last_action_s: float


class ReplicaCounter:
    """Accumulates samples of all operators of a workflow; each holds until the operator's next one."""

    def __init__(self, measured_s: float) -> None:
        self._measured_s = measured_s
        self._at_s = self._replica_s = self._last_action_s = 0.0
        self._supply: dict[str, int] = {}
        self._ordered = False
        self._total = self._most = self._final = self._actions = 0

    def on_sample(self, operator: str, sample: Sample) -> None:
        """Add an operator's sample; samples arrive in the order of time, those of an instant in any order."""
        if sample.t_s > self._at_s:
            self._hold_until(sample.t_s)
        supply = sample.supply_replicas
        if supply != self._supply.get(operator):
            self._supply[operator] = supply
            self._total = sum(self._supply.values())
        if sample.reconfigurations:
            self._ordered = True

    def replica_count(self) -> ReplicaCount:
        """Return the figures; the newest samples hold until the end of the measurement."""
        self._hold_until(max(self._at_s, self._measured_s))
        return ReplicaCount(
            avg_replicas=self._replica_s / self._measured_s,
            max_replicas=self._most,
            final_replicas=self._final,
            scaling_actions=self._actions,
            last_action_s=self._last_action_s,
        )

    def _hold_until(self, until_s: float) -> None:
        """Close the current instant, now that all its samples have arrived."""
        measured_s = self._measured_s
        if self._at_s < measured_s:
            supply = self._final = self._total
            self._replica_s += supply * ((until_s if until_s < measured_s else measured_s) - self._at_s)
            self._most = max(self._most, supply)
            if self._ordered:
                self._actions += 1
                self._last_action_s = self._at_s
        self._at_s, self._ordered = until_s, False


@dataclass(frozen=True, slots=True, kw_only=True)
class Backlog:
    """Rows offered and neither processed nor lost, of all operators together, over the measurement."""

    #: Mean over time.
    avg_backlog_rows: float
    #: Sum of each operator's maximum, which is an upper bound of the maximum.
    max_backlog_rows: float


class BacklogMeter:
    """Accumulates samples of all operators of a workflow; each holds until the operator's next one."""

    def __init__(self, measured_s: float) -> None:
        self._measured_s = measured_s
        self._queues: dict[str, _Queue] = {}

    def on_sample(self, operator: str, sample: Sample) -> None:
        """Add an operator's sample, in the order of time."""
        queue = self._queues.get(operator) or self._queues.setdefault(operator, _Queue())
        queue.hold_until(sample.t_s if sample.t_s < self._measured_s else self._measured_s)
        queue.net_rows_per_s = sample.input_rows_per_s - sample.processed_rows_per_s - sample.lost_rows_per_s

    def backlog(self) -> Backlog:
        """Return the figures; the newest samples hold until the end of the measurement."""
        queues = self._queues.values()
        for queue in queues:
            queue.hold_until(self._measured_s)
        return Backlog(
            avg_backlog_rows=sum(queue.row_s for queue in queues) / self._measured_s,
            max_backlog_rows=sum(queue.max_rows for queue in queues),
        )


@dataclass(slots=True)
class _Queue:
    """Backlog of one operator, which changes linearly within a sample and is never below 0."""

    at_s: float = 0.0
    rows: float = 0.0
    max_rows: float = 0.0
    row_s: float = 0.0
    net_rows_per_s: float = 0.0

    def hold_until(self, until_s: float) -> None:
        seconds = until_s - self.at_s
        if seconds <= 0:
            return
        after = self.rows + self.net_rows_per_s * seconds
        if after <= 0:
            after = 0.0
        elif after > self.max_rows:
            self.max_rows = after
        self.row_s += (self.rows + after) / 2 * seconds
        self.at_s, self.rows = until_s, after
