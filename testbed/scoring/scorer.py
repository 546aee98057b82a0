"""The scores of a run, online: samples and completions go in, `Scores` come out."""

import math
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from statistics import fmean

from gesscale.errors import InputError
from testbed.scoring.latency import LagCurve, LatencyHistogram
from testbed.scoring.sample import LAG_ABOVE, LAG_AREA, Completion, Sample, Scores


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


#: The objectives that the lag is compared with, as multiples of the one that is given.
OBJECTIVES = (0.5, 1.0, 2.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lateness:
    """How late a run was, for each of `OBJECTIVES`."""

    #: Time in which the lag was above the objective, seconds.
    above_s: tuple[float, ...]
    #: Integral over time of how far the lag was above the objective, divided by the objective, seconds.
    area_s: tuple[float, ...]


class Passage:
    """What is learned from rows that came through, online.

    The lag at an instant t is the age of the oldest row that has been offered by t and has not come through; it is 0
    where there is none. Only the completions that follow show which row that was. So each of them is looked at when it
    arrives: its oldest row, offered at a and through at c, made the lag t - a at least all through (a, c); where the
    rows arrive one by one, the same holds for each.

    Attributes
    ----------
    latencies
        Of all rows so far.
    newest_s
        When the newest row that came through had been offered; None before there was one.

    Parameters
    ----------
    slo_s
        The objective, seconds.
    """

    __slots__ = ("_lag", "_objectives_s", "latencies", "newest_s")

    def __init__(self, slo_s: float) -> None:
        self.latencies = LatencyHistogram()
        self.newest_s: float | None = None
        self._objectives_s = tuple(multiple * slo_s for multiple in OBJECTIVES)
        self._lag = LagCurve(self._objectives_s)

    def completed(self, completion: Completion) -> None:
        """Take rows that reached a sink, in the order of their arrival."""
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
        self.latencies.add(rows, first_s, last_s)
        if self.newest_s is None or newest_s > self.newest_s:
            self.newest_s = newest_s
        if first_s > self._objectives_s[0] or last_s > self._objectives_s[0]:
            self._lag.add(from_s, until_s, oldest_s, newest_s)

    def lateness(self, left_since_s: float | None, ended_at_s: float) -> Lateness:
        """Return how late the rows were.

        Parameters
        ----------
        left_since_s
            When the oldest row that never came through was offered; None where all did.
        """
        lag = self._lag if left_since_s is None else self._lag.with_rows_left(left_since_s, ended_at_s)
        areas_s2 = zip(lag.areas_above_s2(), self._objectives_s, strict=True)
        return Lateness(above_s=lag.seconds_above(), area_s=tuple(area / objective for area, objective in areas_s2))


class Scorer:
    """Scores an operator while its run goes on, in memory that does not grow with it.

    A sample holds until the next one; the last until the end. Areas, timeshares, reconfigurations, cost and
    convergence are taken over the measurement [0, T); what happens after T, while the backlog drains, counts for the
    excess time, for node_seconds, and for rows that came through late. One sample should begin at T: input in a sample
    that lasts beyond T counts as input after T too. Definitions: paper, section V-A.d; conventions and what is ours:
    ``docs/reference/metrics.md``.
    """

    __slots__ = ("_measured_s", "_passage", "_provision")

    def __init__(self, measured_s: float, slo_s: float, *, restart_is_supply: bool = True) -> None:
        """Begin at time 0.

        Raises
        ------
        InputError
            Where T or the objective is not a finite number above 0.
        """
        for what, value in (("measurement", measured_s), ("objective", slo_s)):
            if not (math.isfinite(value) and value > 0):
                raise InputError(f"scores: expected a {what} of more than 0 s, got {value}")
        self._measured_s = measured_s
        self._provision = Provision(measured_s, restart_is_supply=restart_is_supply)
        self._passage = Passage(slo_s)

    def sampled(self, sample: Sample) -> None:
        """Take a sample, in the order of time.

        Of two at one instant the later one holds; the reconfigurations of both count.
        """
        self._provision.sampled(sample)

    def completed(self, completion: Completion) -> None:
        """Take rows that reached a sink of the workflow, in the order of their arrival."""
        self._passage.completed(completion)

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
            cost=ended.paid_replica_s / 60,
            drained=ended.drained,
            latency_mean_s=latencies.mean_s(),
            latency_p50_s=p50_s,
            latency_p95_s=p95_s,
            latency_p99_s=p99_s,
            **dict(zip(LAG_ABOVE, lateness.above_s, strict=True)),
            **dict(zip(LAG_AREA, lateness.area_s, strict=True)),
            time_to_converge_s=ended.converging_until_end_s() / ended.changes,
            node_seconds=ended.held_replica_s,
        )

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

    Sums for areas, reconfigurations, cost and node_seconds; means for timeshares and convergence; the longest excess
    time. Latencies and lag are those of the one operator whose scorer was given the completions at the sinks; where
    nothing came through, the lag is the longest.
    """
    every = tuple(scores_by_operator.values())
    reporting = [name for name, scores in scores_by_operator.items() if scores.latency_mean_s is not None]
    rows = scores_by_operator[reporting[0]] if reporting else max(every, key=lambda scores: scores.lag_above_slo_s)
    return Scores(
        accuracy_O=sum(scores.accuracy_O for scores in every),
        accuracy_U=sum(scores.accuracy_U for scores in every),
        timeshare_O=fmean(scores.timeshare_O for scores in every),
        timeshare_U=fmean(scores.timeshare_U for scores in every),
        excess_time=max(scores.excess_time for scores in every),
        reconfigurations=sum(scores.reconfigurations for scores in every),
        cost=sum(scores.cost for scores in every),
        drained=all(scores.drained for scores in every),
        latency_mean_s=rows.latency_mean_s,
        latency_p50_s=rows.latency_p50_s,
        latency_p95_s=rows.latency_p95_s,
        latency_p99_s=rows.latency_p99_s,
        **{name: getattr(rows, name) for name in (*LAG_ABOVE, *LAG_AREA)},
        time_to_converge_s=fmean(scores.time_to_converge_s for scores in every),
        node_seconds=sum(scores.node_seconds for scores in every),
    )
