"""Ranks the policies over all loads by their cost relative to a baseline, for several prices of lateness."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from gesscale.errors import InputError
from gesscale.validation import nearest
from testbed.arena.case import CaseResult
from testbed.arena.evaluation.comparison import ResultGroup, group_results
from testbed.arena.evaluation.statistics import Interval, geometric_mean_of_ratios, mean_interval
from testbed.arena.experiments.experiment import Experiment
from testbed.arena.names import IDEAL, ORACLE, PRICES, UNRANKED, LatenessMeasure
from testbed.scoring.sample import LAG_ABOVE, LAG_AREA
from testbed.scoring.scorer import OBJECTIVES

_MINUTE_S = 60.0


def lateness_metric(experiment: Experiment, objective_s: float, measure: LatenessMeasure) -> str:
    """Return the metric of lateness in the cost: the time with a lag above an objective, or the lag area.

    Parameters
    ----------
    objective_s
        Half the objective of the experiment, the objective, or twice that, seconds.

    Raises
    ------
    InputError
        At another objective.
    """
    scored_s = [multiple * experiment.slo_s for multiple in OBJECTIVES]
    if objective_s not in scored_s:
        raise InputError(
            "objective-not-scored", place="--objective", scored_s=[f"{each:g}" for each in scored_s], got_s=objective_s
        )
    names = LAG_ABOVE if measure is LatenessMeasure.MINUTES else LAG_AREA
    return names[scored_s.index(objective_s)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Result of a policy in one variant of an experiment, over all its loads."""

    variant: str
    policy: str
    #: Whether it can win; policies that have perfect foresight cannot.
    competes: bool
    #: Number of runs, and of lost runs among them (runs, lost).
    runs: int
    lost: int
    #: Replica-minutes until the last row was processed, as a ratio to the baseline's: geometric mean over the loads.
    #: None if it lacks a load of the baseline, or a load has no seed that both completed.
    replicas: Interval | None
    #: Late minutes of a run: mean over the loads.
    late_min: Interval | None
    #: Number of instants at which changes were ordered: mean over the loads.
    actions: Interval | None
    #: Number of changes undone within ten minutes: mean over the loads; None for results without it.
    undone: Interval | None
    #: For each price: replica-minutes plus late minutes at that price, as a ratio to the baseline's.
    total_costs: tuple[Interval | None, ...]
    #: For each price: the loads on which its mean cost is the lowest, over the seeds that all policies have. A policy
    #: that lost a run of a load does not win it.
    won: tuple[tuple[str, ...], ...]
    #: Excess of the cost at the middle price over that of `oracle`, per cent; None if one of the two lacks a load of
    #: the other.
    above_oracle_pct: Interval | None


def standings(
    experiment: Experiment,
    results: Sequence[CaseResult],
    *,
    prices: Sequence[float] = PRICES,
    baseline: str = IDEAL,
    lateness: str = LAG_ABOVE[1],
) -> tuple[Standing, ...]:
    """Rank the policies of each variant.

    The cost of a run is its replica-minutes plus a price for each late minute. All loads have the same weight,
    independent of length and height: the result is the geometric mean of the ratios to the baseline in the same
    worlds. Intervals are over the seeds; a resample has the same seeds for each load.

    Raises
    ------
    InputError
        If the baseline has no results, or no run has that metric.
    """
    present = {result.case.policy for result in results}
    if baseline not in present:
        raise InputError("baseline-without-results", baseline=baseline, nearest=nearest(baseline, present))
    if not any(result.lost or lateness in result.metrics for result in results):
        raise InputError("results-without-metric", metric=lateness)
    groups = group_results(experiment, results)
    found: list[Standing] = []
    for variant in dict.fromkeys(group.variant for group in groups):
        inside = [RunCosts(group, lateness) for group in groups if group.variant == variant]
        winners = [_winners(inside, price) for price in prices]
        of_variant = [
            _standing([each for each in inside if each.policy == policy], inside, baseline, prices, winners)
            for policy in dict.fromkeys(each.policy for each in inside)
        ]
        found += sorted(of_variant, key=lambda standing: _rank(standing, len(prices) // 2))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class RunCosts:
    """Costs of the runs of a policy on a load."""

    group: ResultGroup
    #: Metric of lateness, see `lateness_metric`.
    lateness: str = LAG_ABOVE[1]

    @property
    def policy(self) -> str:
        """Policy of the runs."""
        return self.group.policy

    @property
    def load(self) -> str:
        """Load of the runs."""
        return self.group.workload

    def late_min(self) -> Mapping[int, float | None]:
        """Return the late minutes of each run, by seed."""
        by_seed = self.group.by_seed(self.lateness)
        return {seed: None if late_s is None else late_s / _MINUTE_S for seed, late_s in by_seed.items()}

    def at(self, price: float) -> Mapping[int, float]:
        """Return the cost of each run that was not lost, replica-minutes by seed."""
        late_min = self.late_min()
        return {
            seed: node_s / _MINUTE_S + price * late
            for seed, node_s in self.group.by_seed("node_seconds").items()
            if node_s is not None and (late := late_min[seed]) is not None
        }


def _standing(
    own: Sequence[RunCosts],
    all_policies: Sequence[RunCosts],
    baseline: str,
    prices: Sequence[float],
    winners: Sequence[Mapping[str, str]],
) -> Standing:
    policy = own[0].policy

    def ratio(price: float, other: str = baseline) -> Interval | None:
        bases = {each.load: each for each in all_policies if each.policy == other}
        pairs = [(each.at(price), bases[each.load].at(price)) for each in own if each.load in bases]
        return geometric_mean_of_ratios(pairs) if len(pairs) == len(bases) else None

    groups = [each.group for each in own]
    return Standing(
        variant=groups[0].variant,
        policy=policy,
        competes=policy not in UNRANKED,
        runs=sum(len(group.results) for group in groups),
        lost=sum(group.lost for group in groups),
        replicas=ratio(0.0),
        late_min=_mean_over_loads([each.late_min() for each in own]),
        actions=_mean_over_loads([group.by_seed("scaling_actions") for group in groups]),
        undone=_mean_over_loads([group.by_seed("undone_changes") for group in groups]),
        total_costs=tuple(ratio(price) for price in prices),
        won=tuple(tuple(load for load, winner in at_price.items() if winner == policy) for at_price in winners),
        above_oracle_pct=_above_pct(ratio(prices[len(prices) // 2], ORACLE)) if prices else None,
    )


def _above_pct(ratio: Interval | None) -> Interval | None:
    """Return the excess of a ratio over 1, per cent."""
    if ratio is None:
        return None
    low, high = (None if end is None else 100 * (end - 1) for end in (ratio.low, ratio.high))
    return replace(ratio, mean=100 * (ratio.mean - 1), low=low, high=high)


def _winners(costs: Sequence[RunCosts], price: float) -> Mapping[str, str]:
    """Return the policy of lowest mean cost for each load, among those that lost no run of it."""
    winners: dict[str, str] = {}
    for load in dict.fromkeys(each.load for each in costs):
        at_price = {
            each.policy: each.at(price)
            for each in costs
            if each.load == load and each.policy not in UNRANKED and not each.group.lost
        }
        seeds = set.intersection(*map(set, at_price.values())) if at_price else set()
        totals = {policy: sum(by_seed[seed] for seed in seeds) for policy, by_seed in at_price.items()}
        if seeds:
            winners[load] = min(totals, key=lambda policy: totals[policy])
    return winners


def _mean_over_loads(by_load: Sequence[Mapping[int, float | None]]) -> Interval | None:
    """Return the mean over the loads, from the seeds that every load has."""
    seeds = set.intersection(*({seed for seed, value in load.items() if value is not None} for load in by_load))
    means = [sum(load[seed] or 0.0 for load in by_load) / len(by_load) for seed in sorted(seeds)]
    return mean_interval(means)


def _rank(standing: Standing, price: int) -> float:
    cost = standing.total_costs[price] if standing.total_costs else standing.replicas
    return float("inf") if cost is None else cost.mean
