"""The scores of a run, online: samples and completions go in, `Scores` come out."""

import math
from collections.abc import Mapping
from copy import copy
from statistics import fmean

from gesscale.errors import InputError
from testbed.scoring.passage import Passage
from testbed.scoring.provision import Provision
from testbed.scoring.sample import LAG_ABOVE, LAG_AREA, Completion, Sample, Scores


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

        Parameters
        ----------
        measured_s
            T, the length of the measurement: when the input ends.
        slo_s
            A row should be through after this long.
        restart_is_supply
            Whether replicas that cannot work yet, or not while a restart goes on, count as supply for accuracy,
            timeshare and convergence. They are paid for either way.

        Raises
        ------
        InputError
            Where T or the objective is not a finite number above 0.
        """
        for what, value in (("measurement", measured_s), ("objective", slo_s)):
            if not (math.isfinite(value) and value > 0):
                message = f"scores: expected a {what} of more than 0 s, got {value}"
                raise InputError(message)
        self._measured_s = measured_s
        self._provision = Provision(measured_s, restart_is_supply=restart_is_supply)
        self._passage = Passage(slo_s)

    def sampled(self, sample: Sample) -> None:
        """Take a sample, in the order of time.

        Of two at one instant the later one holds; the reconfigurations of both count.

        Raises
        ------
        InputError
            Where it is older than the one before.
        """
        self._provision.sampled(sample)

    def completed(self, completion: Completion) -> None:
        """Take rows that reached a sink of the workflow, in the order of their arrival."""
        self._passage.completed(completion)

    def scores(self, ended_at_s: float, *, rows_left: bool = False) -> Scores:
        """Return the scores of a run that ended; more samples may still follow.

        Parameters
        ----------
        ended_at_s
            When all rows were processed, or the run was given up: T or later.
        rows_left
            Whether another operator of the workflow was left with rows. They count as late until the end, as do the
            rows that this one was left with.

        Raises
        ------
        InputError
            Without a sample before T, or where the run ended before T or before the newest sample.
        """
        if not ended_at_s >= self._measured_s:
            message = (
                f"scores: expected a run that lasts for its measurement of {self._measured_s:g} s, "
                f"got one that ended at {ended_at_s:g} s"
            )
            raise InputError(message)
        ended = copy(self._provision)
        ended.hold_until(ended_at_s)
        if not ended.changes:
            message = f"scores: expected samples before {self._measured_s:g} s, got none"
            raise InputError(message)
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

    Raises
    ------
    InputError
        Without operators, or where several have latencies.
    """
    if not scores_by_operator:
        message = "scores: expected at least one operator to combine, got none"
        raise InputError(message)
    every = tuple(scores_by_operator.values())
    reporting = [name for name, scores in scores_by_operator.items() if scores.latency_mean_s is not None]
    if len(reporting) > 1:
        message = f"scores: expected completions at one scorer only, got them at {', '.join(reporting)}"
        raise InputError(message)
    rows = (
        scores_by_operator[reporting[0]]
        if reporting
        else max(every, key=lambda scores: scores.lag_above_slo_s)
    )
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
