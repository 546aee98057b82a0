"""What samples tell: supply against demand, what was held and paid for, and when the rows were done."""

from gesscale.errors import InputError
from testbed.scoring.sample import Sample


def is_rounding(backlog_rows: float, offered_rows: float) -> bool:
    """Tell whether a backlog is no more than what rounded rates leave: half a row and 0.001 % of all rows."""
    return backlog_rows <= 0.5 + 1e-5 * offered_rows


class Provision:
    """Sums over the samples of an operator, each of which holds until the next one.

    Attributes
    ----------
    over_replica_s, under_replica_s
        Areas of supply above and below demand, replica-seconds, over the measurement.
    over_s, under_s
        Time over- and under-provisioned, seconds, over the measurement.
    reconfigurations
        Ordered during the measurement.
    paid_replica_s
        Replica-seconds of the supply, over the measurement.
    held_replica_s
        The same until the end of the run.
    changes, converging_s
        Changes of the demand, the beginning counting as one, and the time until the supply equalled it, summed.
    input_ended_s
        When the input stopped, within the measurement; None before there was any.
    through_s
        When rows were last processed or offered.
    began_s
        When the first sample was taken; None before.
    backlog_rows
        Rows offered and not yet processed.
    backlogged_since_s
        The oldest of them was offered then or later; None where there is no backlog.
    """

    __slots__ = (
        "_change_s",
        "_demand",
        "_offered_rows",
        "_sample",
        "backlog_rows",
        "backlogged_since_s",
        "began_s",
        "changes",
        "converging_s",
        "held_replica_s",
        "input_ended_s",
        "measured_s",
        "over_replica_s",
        "over_s",
        "paid_replica_s",
        "reconfigurations",
        "restart_is_supply",
        "through_s",
        "under_replica_s",
        "under_s",
    )

    def __init__(self, measured_s: float, *, restart_is_supply: bool) -> None:
        self.measured_s, self.restart_is_supply = measured_s, restart_is_supply
        self.over_replica_s = self.under_replica_s = self.over_s = self.under_s = 0.0
        self.paid_replica_s = self.held_replica_s = 0.0
        self.reconfigurations = 0
        self.changes, self.converging_s = 0, 0.0
        self.input_ended_s: float | None = None
        self.began_s: float | None = None
        self.through_s = self.backlog_rows = self._offered_rows = 0.0
        self.backlogged_since_s: float | None = None
        self._sample: Sample | None = None
        self._demand: int | None = None
        self._change_s: float | None = None  # of the demand, while the supply has not equalled it since

    def sampled(self, sample: Sample) -> None:
        """Take a sample, in the order of time; of two at one instant the later holds and both orders count."""
        at_s = sample.t_s
        if self._sample is None:
            self.began_s = at_s
        else:
            self.hold_until(at_s)
        self._sample = sample
        if sample.reconfigurations and at_s < self.measured_s:
            self.reconfigurations += sample.reconfigurations

    def hold_until(self, until_s: float) -> None:
        """Let the newest sample hold until an instant."""
        sample = self._sample
        if sample is None:
            return
        from_s = sample.t_s
        if until_s <= from_s:
            if until_s < from_s:
                message = f"scores: expected times in their order, got {until_s:g} s after {from_s:g} s"
                raise InputError(message)
            return
        self.held_replica_s += sample.supply_replicas * (until_s - from_s)
        measured_s = self.measured_s
        if from_s < measured_s:
            self._measure(sample, from_s, until_s if until_s < measured_s else measured_s)
        self._flow(sample, from_s, until_s)

    def converging_until_end_s(self) -> float:
        """Return the time until the supply equalled the demand, summed over its changes, at the end of the run."""
        waiting_s = 0.0 if self._change_s is None else self.measured_s - self._change_s
        return self.converging_s + waiting_s

    @property
    def drained(self) -> bool:
        """Whether all rows were processed."""
        return is_rounding(self.backlog_rows, self._offered_rows)

    def _measure(self, sample: Sample, from_s: float, until_s: float) -> None:
        seconds = until_s - from_s
        demand, supply = sample.demand_replicas, sample.supply_replicas
        self.paid_replica_s += supply * seconds
        if not self.restart_is_supply:
            supply = sample.serving_replicas
        if supply > demand:
            self.over_replica_s += (supply - demand) * seconds
            self.over_s += seconds
        elif supply < demand:
            self.under_replica_s += (demand - supply) * seconds
            self.under_s += seconds
        if demand != self._demand:
            if self._change_s is not None:
                self.converging_s += from_s - self._change_s
            self._demand, self._change_s = demand, from_s
            self.changes += 1
        if supply == demand and self._change_s is not None:
            self.converging_s += from_s - self._change_s
            self._change_s = None
        if sample.input_rows_per_s > 0:
            self.input_ended_s = until_s

    def _flow(self, sample: Sample, from_s: float, until_s: float) -> None:
        seconds = until_s - from_s
        offered, processed = sample.input_rows_per_s, sample.processed_rows_per_s
        backlog = self.backlog_rows
        if offered > 0:
            self._offered_rows += offered * seconds
            self.through_s = until_s
            if self.backlogged_since_s is None:
                self.backlogged_since_s = from_s
        elif backlog > 0 and processed > 0:
            self.through_s = min(until_s, from_s + backlog / processed)
        backlog += (offered - processed) * seconds
        self.backlog_rows = backlog if backlog > 0 else 0.0
        if self.backlogged_since_s is not None and is_rounding(backlog, self._offered_rows):
            self.backlogged_since_s = None
