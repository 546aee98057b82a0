"""Scores a run online from its samples and completions."""

import math
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, replace
from statistics import fmean

from gesscale.model.undone_changes import UNDONE_WITHIN_S, undone_changes
from testbed.scoring.latency import LagCurve, LatencyHistogram, QuantileOverTime
from testbed.scoring.sample import LAG_ABOVE, LAG_AREA, Completion, Sample, Scores


def is_rounding(backlog_rows: float, offered_rows: float) -> bool:
    """Return whether a backlog is within the rounding of rates: half a row and 0.001 % of all rows."""
    return backlog_rows <= 0.5 + 1e-5 * offered_rows


class Provision:
    """Sums over the samples of an operator, each of which holds until the next one.

    Attributes
    ----------
    over_replica_s, under_replica_s
        Areas of the supply above and below the demand, replica-seconds, over the measurement.
    over_s, under_s
        Time over- and under-provisioned, seconds, over the measurement.
    reconfigurations
        Changes ordered during the measurement.
    resizes
        Instants of these changes, and replicas added less those removed.
    measured_replica_s
        Replica-seconds of the supply, weighted by the prices of their nodes, over the measurement.
    total_replica_s
        The same until the end of the run.
    changes, converging_s
        Number of changes of the demand, including the start, and the total time until the supply equalled it.
    input_ended_s
        End of the input within the measurement; None before any input.
    through_s
        Time when rows were last processed or offered.
    began_s
        Time of the first sample; None before it.
    backlog_rows
        Rows offered and neither processed nor lost.
    backlogged_since_s
        Earliest time at which the oldest of them was offered; None without a backlog.
    """

    def __init__(self, measured_s: float, *, restart_is_supply: bool) -> None:
        self.measured_s, self.restart_is_supply = measured_s, restart_is_supply
        self.over_replica_s = self.under_replica_s = self.over_s = self.under_s = 0.0
        self.measured_replica_s = self.total_replica_s = 0.0
        self.reconfigurations = 0
        self.resizes: list[tuple[float, int]] = []
        self.changes, self.converging_s = 0, 0.0
        self.input_ended_s: float | None = None
        self.began_s: float | None = None
        self.through_s = self.backlog_rows = self._offered_rows = 0.0
        self.backlogged_since_s: float | None = None
        self._sample: Sample | None = None
        self._demand: int | None = None
        self._change_s: float | None = None  # last change of the demand, until the supply equals it

    def on_sample(self, sample: Sample) -> None:
        """Add a sample, in the order of time; of two at one instant the later holds and both orders count."""
        at_s, before = sample.t_s, self._sample
        if before is None:
            self.began_s = at_s
        else:
            self.hold_until(at_s)
        self._sample = sample
        if sample.reconfigurations and at_s < self.measured_s:
            self.reconfigurations += sample.reconfigurations
            if before is not None:
                self.resizes.append((at_s, sample.supply_replicas - before.supply_replicas))

    def hold_until(self, until_s: float) -> None:
        """Extend the newest sample to an instant."""
        sample = self._sample
        if sample is None:
            return
        from_s = sample.t_s
        if until_s <= from_s:
            return
        price = sample.supply_replicas if sample.supply_price is None else sample.supply_price
        self.total_replica_s += price * (until_s - from_s)
        measured_s = self.measured_s
        if from_s < measured_s:
            self._measure(sample, price, from_s, until_s if until_s < measured_s else measured_s)
        self._flow(sample, from_s, until_s)

    def converging_until_end_s(self) -> float:
        """Return the total time until the supply equalled the demand after its changes, at the end of the run."""
        waiting_s = 0.0 if self._change_s is None else self.measured_s - self._change_s
        return self.converging_s + waiting_s

    @property
    def drained(self) -> bool:
        """Whether all rows were processed."""
        return is_rounding(self.backlog_rows, self._offered_rows)

    def _measure(self, sample: Sample, price: float, from_s: float, until_s: float) -> None:
        seconds = until_s - from_s
        demand, supply = sample.demand_replicas, sample.supply_replicas
        self.measured_replica_s += price * seconds
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
        offered, gone = sample.input_rows_per_s, sample.processed_rows_per_s + sample.lost_rows_per_s
        backlog = self.backlog_rows
        if offered > 0:
            self._offered_rows += offered * seconds
            self.through_s = until_s
            if self.backlogged_since_s is None:
                self.backlogged_since_s = from_s
        elif backlog > 0 and gone > 0:
            self.through_s = min(until_s, from_s + backlog / gone)
        backlog += (offered - gone) * seconds
        self.backlog_rows = backlog if backlog > 0 else 0.0
        if self.backlogged_since_s is not None and is_rounding(backlog, self._offered_rows):
            self.backlogged_since_s = None


#: Rows that reach the sink within this time share a 95th percentile in its mean over time, seconds.
_P95_INTERVAL_S = 10.0

#: Objectives that the lag is compared with, as multiples of the given one.
OBJECTIVES = (0.5, 1.0, 2.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lateness:
    """Lateness of a run for each of `OBJECTIVES`."""

    #: Time in which the lag was above the objective, seconds.
    above_s: tuple[float, ...]
    #: Integral over time of the lag above the objective, divided by the objective, seconds.
    area_s: tuple[float, ...]


class Passage:
    """Accumulates latencies and lag from completions.

    The lag at an instant t is the age of the oldest row that was offered by t and is not processed; it is 0 if there is
    none. Only later completions show which row that was. So each completion is evaluated when it arrives: its oldest
    row, offered at a and processed at c, made the lag at least t - a during (a, c); the same holds for each of the rows
    if they arrive one by one.

    Attributes
    ----------
    latencies
        Latencies of all rows so far.
    p95_over_time
        95th percentile of each 10 s.
    newest_s
        When the newest processed row had been offered; None before the first.

    Parameters
    ----------
    slo_s
        The objective, seconds.
    """

    def __init__(self, slo_s: float) -> None:
        self.latencies = LatencyHistogram()
        self.p95_over_time = QuantileOverTime(0.95, _P95_INTERVAL_S)
        self.newest_s: float | None = None
        self._objectives_s = tuple(multiple * slo_s for multiple in OBJECTIVES)
        self._lag = LagCurve(self._objectives_s)

    def on_completion(self, completion: Completion) -> None:
        """Add rows that reached a sink or were lost, in the order of these events; a lost row has no latency."""
        rows = completion.rows
        if rows <= 0:
            return
        until_s, newest_s = completion.at_s, completion.offered_until_s
        from_s = completion.arrived_from_s
        if from_s is None:
            from_s = until_s
        oldest_s = completion.offered_from_s
        first_s = from_s - oldest_s if from_s > oldest_s else 0.0
        last_s = until_s - newest_s if until_s > newest_s else 0.0
        if not completion.lost:
            self.latencies.add(rows, first_s, last_s)
            self.p95_over_time.add(rows, until_s, first_s, last_s)
        if self.newest_s is None or newest_s > self.newest_s:
            self.newest_s = newest_s
        if first_s > self._objectives_s[0] or last_s > self._objectives_s[0]:
            self._lag.add(from_s, until_s, oldest_s, newest_s)

    def lateness(self, left_since_s: float | None, ended_at_s: float) -> Lateness:
        """Return the lateness of the rows.

        Parameters
        ----------
        left_since_s
            When the oldest row that was never processed was offered; None if all were processed.
        """
        lag = self._lag if left_since_s is None else self._lag.with_rows_left(left_since_s, ended_at_s)
        areas_s2 = zip(lag.areas_above_s2(), self._objectives_s, strict=True)
        return Lateness(above_s=lag.seconds_above(), area_s=tuple(area / objective for area, objective in areas_s2))


class Scorer:
    """Scores an operator during its run; only the list of its changes grows with time.

    A sample holds until the next one, the last until the end. Areas, timeshares, reconfigurations, cost and convergence
    are over the measurement [0, T); the time after T, while the backlog drains, counts for the excess time, for
    node_seconds, and for rows that were processed late. A sample should begin at T: input in a sample that extends
    beyond T also counts as input after T. Definitions are in section V-A.d of the paper, conventions and additions of
    ours in ``docs/reference/metrics.md``.
    """

    def __init__(
        self,
        measured_s: float,
        slo_s: float,
        *,
        restart_is_supply: bool = True,
        undone_within_s: float = UNDONE_WITHIN_S,
    ) -> None:
        """Begin at time 0.

        Raises
        ------
        ValueError
            If T or the objective is not a finite number above 0.
        """
        for what, value in (("measurement", measured_s), ("objective", slo_s)):
            if not (math.isfinite(value) and value > 0):
                raise ValueError(f"the {what} must be above 0 s, is {value}")
        self._measured_s, self._undone_within_s = measured_s, undone_within_s
        self._provision = Provision(measured_s, restart_is_supply=restart_is_supply)
        self._passage = Passage(slo_s)

    def on_sample(self, sample: Sample) -> None:
        """Add a sample, in the order of time.

        Of two at one instant the later one holds; the reconfigurations of both count.
        """
        self._provision.on_sample(sample)

    def on_completion(self, completion: Completion) -> None:
        """Add rows that reached a sink of the workflow, in the order of their arrival."""
        self._passage.on_completion(completion)

    def scores(self, ended_at_s: float, *, rows_left: bool = False) -> Scores:
        """Return the scores of a run that ended; more samples may still follow."""
        ended = copy(self._provision)
        ended.hold_until(ended_at_s)
        latencies = self._passage.latencies
        p50_s, p95_s, p99_s = latencies.quantiles_s(0.50, 0.95, 0.99)
        lateness = self._passage.lateness(self._left_since_s(ended, rows_left), ended_at_s)
        period_s = self._measured_s
        return Scores(
            accuracy_O=ended.over_replica_s / period_s,
            accuracy_U=ended.under_replica_s / period_s,
            timeshare_O=100 * ended.over_s / period_s,
            timeshare_U=100 * ended.under_s / period_s,
            excess_time=self._excess_s(ended, ended_at_s) / period_s,
            reconfigurations=ended.reconfigurations,
            cost=ended.measured_replica_s / 60,
            drained=ended.drained,
            undone_changes=len(undone_changes(ended.resizes, self._undone_within_s)),
            latency_mean_s=latencies.mean_s(),
            latency_p50_s=p50_s,
            latency_p95_s=p95_s,
            latency_p99_s=p99_s,
            latency_max_s=latencies.longest_s(),
            latency_p95_over_time_s=self._passage.p95_over_time.mean_s(),
            **dict(zip(LAG_ABOVE, lateness.above_s, strict=True)),
            **dict(zip(LAG_AREA, lateness.area_s, strict=True)),
            time_to_converge_s=ended.converging_until_end_s() / ended.changes,
            node_seconds=ended.total_replica_s,
        )

    def latency_quantiles_s(self) -> tuple[float | None, ...]:
        """Return the latency of each hundredth of the rows, from the 0th to the 100th percentile, seconds."""
        return self._passage.latencies.quantiles_s(*(percent / 100 for percent in range(101)))

    def _excess_s(self, ended: Provision, ended_at_s: float) -> float:
        if ended.input_ended_s is None:
            return 0.0
        through_s = ended.through_s if ended.drained else ended_at_s
        return max(0.0, through_s - ended.input_ended_s)

    def _left_since_s(self, ended: Provision, rows_left: bool) -> float | None:
        if ended.drained and not rows_left:
            return None
        newest_s = self._passage.newest_s
        known = [since_s for since_s in (newest_s, ended.backlogged_since_s) if since_s is not None]
        return max(known) if known else ended.began_s


def combine(scores_by_operator: Mapping[str, Scores]) -> Scores:
    """Return the scores of a workflow from those of its operators over the same measurement.

    Sums of areas, reconfigurations, undone changes, cost and node_seconds; means of timeshares and convergence; longest
    excess time. Latencies and lag are from the one operator whose scorer received the completions at the sinks; if no
    row was processed, the lag is the longest.
    """
    every = tuple(scores_by_operator.values())
    reporting = [name for name, scores in scores_by_operator.items() if scores.latency_mean_s is not None]
    rows = scores_by_operator[reporting[0]] if reporting else max(every, key=lambda scores: scores.lag_above_slo_s)
    return replace(
        rows,
        accuracy_O=sum(scores.accuracy_O for scores in every),
        accuracy_U=sum(scores.accuracy_U for scores in every),
        timeshare_O=fmean(scores.timeshare_O for scores in every),
        timeshare_U=fmean(scores.timeshare_U for scores in every),
        excess_time=max(scores.excess_time for scores in every),
        reconfigurations=sum(scores.reconfigurations for scores in every),
        undone_changes=sum(scores.undone_changes for scores in every),
        cost=sum(scores.cost for scores in every),
        drained=all(scores.drained for scores in every),
        time_to_converge_s=fmean(scores.time_to_converge_s for scores in every),
        node_seconds=sum(scores.node_seconds for scores in every),
    )
