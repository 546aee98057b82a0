"""Ranks the policies over all loads by their cost relative to a baseline, for several prices of lateness."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from gesscale.errors import InputError
from gesscale.validation import nearest
from testbed.arena.case import CaseResult
from testbed.arena.evaluation.comparison import ResultGroup, group_results
from testbed.arena.evaluation.statistics import Interval, geometric_mean_of_ratios, mean_interval
from testbed.arena.experiments.experiment import Experiment
from testbed.arena.names import CHANGE_PRICE, IDEAL, LATE_MINUTE_PRICE, ORACLE, PRICES, UNRANKED, LatenessMeasure
from testbed.arena.policies.catalogue import knows_price
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
class Account:
    """Costs of a policy, with or without a price for its changes."""

    #: For each price of a late minute: the cost as a ratio to the baseline's.
    total_costs: tuple[Interval | None, ...]
    #: For each price: the loads on which its mean cost is the lowest, over the seeds that all policies have. A policy
    #: that lost a run of a load does not win it.
    won: tuple[tuple[str, ...], ...]
    #: Excess of the cost at the middle price over that of `oracle`, per cent; None if one of the two lacks a load of
    #: the other.
    above_oracle_pct: Interval | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Result of a policy in one variant of an experiment, over all its loads."""

    variant: str
    policy: str
    #: Whether it can win; policies that have perfect foresight cannot.
    competes: bool
    #: Whether it knows the prices of late minutes and changes; None if that is unknown, as of a policy in a file.
    knows_price: bool | None
    #: Number of runs, and of lost runs among them (runs, lost).
    runs: int
    lost: int
    #: Replica-minutes until the last row was processed, as a ratio to the baseline's: geometric mean over the loads.
    #: None if it lacks a load of the baseline, or a load has no seed that both completed.
    replicas: Interval | None
    #: Late minutes of a run: mean over the loads.
    late_min: Interval | None
    #: Number of changes, and of those undone (`Experiment.undone_within_s`): means over the loads (changes, undone).
    changes: Interval | None
    undone: Interval | None
    #: Age of a row at the sink, its mean and 99th percentile, seconds; share of time with fewer replicas than the load
    #: needs, per cent: means over the loads. No policy minimises them (age_mean_s, age_p99_s, below_load_pct).
    age_mean_s: Interval | None
    age_p99_s: Interval | None
    below_load_pct: Interval | None
    #: Cost with changes, at the middle price, beyond `testbed.scoring.lower_bound`, replica-minutes: mean over the
    #: loads; None for results without it.
    regret: Interval | None
    #: Replica-minutes plus priced late minutes, with `CHANGE_PRICE` for each change and without (with_changes,
    #: without_changes).
    with_changes: Account
    without_changes: Account


def standings(
    experiment: Experiment,
    results: Sequence[CaseResult],
    *,
    prices: Sequence[float] = PRICES,
    baseline: str = IDEAL,
    lateness: str = LAG_ABOVE[1],
) -> tuple[Standing, ...]:
    """Rank the policies of each variant by the cost with changes at the middle price.

    The cost of a run is its replica-minutes plus a price for each late minute and, in the first account, for each
    change; those of `ideal` take no time and are free. All loads have the same weight, independent of length and
    height: the result is the geometric mean of the ratios to the baseline in the same worlds. Intervals are over the
    seeds; a resample has the same seeds for each load.

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
        accounts = [_Accounts(inside, baseline, prices, change_price) for change_price in (CHANGE_PRICE, 0.0)]
        of_variant = [
            _standing([each for each in inside if each.policy == policy], *accounts)
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

    def at(self, price: float, change_price: float = 0.0) -> Mapping[int, float]:
        """Return the cost of each run that was not lost, replica-minutes by seed; changes of `ideal` are free."""
        late_min, changes = self.late_min(), self.group.by_seed("reconfigurations")
        of_change = 0.0 if self.policy == IDEAL else change_price
        return {
            seed: node_s / _MINUTE_S + price * late + of_change * (changes[seed] or 0.0)
            for seed, node_s in self.group.by_seed("node_seconds").items()
            if node_s is not None and (late := late_min[seed]) is not None
        }

    def regret(self) -> Mapping[int, float | None]:
        """Return by how much the cost of each run exceeds what any policy must pay, replica-minutes by seed."""
        bounds = self.group.by_seed("lower_bound_cost")
        costs = self.at(LATE_MINUTE_PRICE, CHANGE_PRICE)
        return {seed: None if (bound := bounds.get(seed)) is None else cost - bound for seed, cost in costs.items()}


class _Accounts:
    """The account of each policy of a variant, at one price of a change."""

    def __init__(
        self, policies: Sequence[RunCosts], baseline: str, prices: Sequence[float], change_price: float
    ) -> None:
        self._policies, self._baseline, self._prices, self._change_price = policies, baseline, prices, change_price
        self._winners = [self._cheapest(price) for price in prices]

    def ratio(self, own: Sequence[RunCosts], price: float, other: str = "") -> Interval | None:
        """Return the cost of a policy relative to that of another one, by default of the baseline."""
        bases = {each.load: each for each in self._policies if each.policy == (other or self._baseline)}
        pairs = [(self._costs(each, price), self._costs(bases[each.load], price)) for each in own if each.load in bases]
        return geometric_mean_of_ratios(pairs) if len(pairs) == len(bases) else None

    def account(self, own: Sequence[RunCosts]) -> Account:
        """Return the account of a policy."""
        policy, prices = own[0].policy, self._prices
        return Account(
            total_costs=tuple(self.ratio(own, price) for price in prices),
            won=tuple(tuple(load for load, winner in found.items() if winner == policy) for found in self._winners),
            above_oracle_pct=_above_pct(self.ratio(own, prices[len(prices) // 2], ORACLE)) if prices else None,
        )

    def _costs(self, runs: RunCosts, price: float) -> Mapping[int, float]:
        return runs.at(price, self._change_price)

    def _cheapest(self, price: float) -> Mapping[str, str]:
        """Return the policy of lowest mean cost for each load, among those that lost no run of it."""
        winners: dict[str, str] = {}
        for load in dict.fromkeys(each.load for each in self._policies):
            at_price = {
                each.policy: self._costs(each, price)
                for each in self._policies
                if each.load == load and each.policy not in UNRANKED and not each.group.lost
            }
            seeds = set.intersection(*map(set, at_price.values())) if at_price else set()
            totals = {policy: sum(by_seed[seed] for seed in seeds) for policy, by_seed in at_price.items()}
            if seeds:
                winners[load] = min(totals, key=lambda policy: totals[policy])
        return winners


def _standing(own: Sequence[RunCosts], with_changes: _Accounts, without_changes: _Accounts) -> Standing:
    groups = [each.group for each in own]

    def mean(metric: str) -> Interval | None:
        return _mean_over_loads([group.by_seed(metric) for group in groups])

    return Standing(
        variant=groups[0].variant,
        policy=groups[0].policy,
        competes=groups[0].policy not in UNRANKED,
        knows_price=knows_price(groups[0].policy),
        runs=sum(len(group.results) for group in groups),
        lost=sum(group.lost for group in groups),
        replicas=without_changes.ratio(own, 0.0),
        late_min=_mean_over_loads([each.late_min() for each in own]),
        changes=mean("reconfigurations"),
        undone=mean("undone_changes"),
        age_mean_s=mean("latency_mean_s"),
        age_p99_s=mean("latency_p99_s"),
        below_load_pct=mean("timeshare_U"),
        regret=_mean_over_loads([each.regret() for each in own]),
        with_changes=with_changes.account(own),
        without_changes=without_changes.account(own),
    )


def _above_pct(ratio: Interval | None) -> Interval | None:
    """Return the excess of a ratio over 1, per cent."""
    if ratio is None:
        return None
    low, high = (None if end is None else 100 * (end - 1) for end in (ratio.low, ratio.high))
    return replace(ratio, mean=100 * (ratio.mean - 1), low=low, high=high)


def _mean_over_loads(by_load: Sequence[Mapping[int, float | None]]) -> Interval | None:
    """Return the mean over the loads, from the seeds that every load has."""
    seeds = set.intersection(*({seed for seed, value in load.items() if value is not None} for load in by_load))
    means = [sum(load[seed] or 0.0 for load in by_load) / len(by_load) for seed in sorted(seeds)]
    return mean_interval(means)


def _rank(standing: Standing, price: int) -> float:
    costs = standing.with_changes.total_costs
    cost = costs[price] if costs else standing.replicas
    return float("inf") if cost is None else cost.mean
