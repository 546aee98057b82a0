"""All policies over all loads: the cost of each against a baseline, and where each wins, by the price of lateness."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gesscale.errors import InputError
from gesscale.words import suggestion
from testbed.arena.case import CaseResult
from testbed.arena.experiments.experiment import Experiment
from testbed.arena.judging.statistics import Interval, geometric_mean_of_ratios, mean_interval
from testbed.arena.judging.summary import ResultGroup, group_results
from testbed.arena.policies.oracle import IDEAL, KNOW_THE_LOAD

PRICES = (1.0, 10.0, 100.0)
"""The default price of a late minute, replica-minutes."""

_MINUTE_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A policy in one variant of an experiment, over all its loads.

    Attributes
    ----------
    competes
        Whether it can win: not where it knows the load.
    runs, lost
        Runs that were played, and how many of them were lost.
    replicas
        Replica-minutes until the last row was through, as a ratio to the baseline's: geometric mean over the loads.
        None where it has not played every load of the baseline, or a load has no seed that both came through.
    late_min
        Minutes of a run in which the oldest row was older than the objective: mean over the loads.
    actions
        Instants at which changes were ordered: mean over the loads.
    bills
        For each price: replica-minutes and late minutes at that price, as a ratio to the baseline's.
    won
        For each price: the loads on which its mean bill was the least, over the seeds that all have played. Who lost
        a run of a load does not win it.
    """

    variant: str
    policy: str
    competes: bool
    runs: int
    lost: int
    replicas: Interval | None
    late_min: Interval | None
    actions: Interval | None
    bills: tuple[Interval | None, ...]
    won: tuple[tuple[str, ...], ...]


def standings(
    experiment: Experiment,
    results: Sequence[CaseResult],
    *,
    prices: Sequence[float] = PRICES,
    baseline: str = IDEAL,
) -> tuple[Standing, ...]:
    """Rank the policies of each variant.

    A run's bill is its replica-minutes plus a price for each late minute. All loads have the same weight, whatever
    their length and height: the result is the geometric mean of the ratios to the baseline in the same worlds.
    Intervals are over the seeds; a resample holds the same seeds of each load.

    Parameters
    ----------
    experiment, results
        As `testbed.arena.runs.results.read_results` gives them.
    prices
        Of a late minute, replica-minutes, 0 or more.
    baseline
        The policy that the others are measured by.

    Returns
    -------
    tuple of Standing
        By variant in the experiment's order, then by the bill at the middle price, the least first.

    Raises
    ------
    InputError
        When the baseline has not been played.
    """
    played = {result.case.policy for result in results}
    if baseline not in played:
        message = (
            f"expected runs of {baseline!r}, which the others are measured by; {suggestion(baseline, played)}"
        )
        raise InputError(message)
    groups = group_results(experiment, results)
    found: list[Standing] = []
    for variant in dict.fromkeys(group.variant for group in groups):
        inside = [group for group in groups if group.variant == variant]
        winners = [_winners(inside, price) for price in prices]
        bases = {group.workload: group for group in inside if group.policy == baseline}
        of_variant = [
            _standing([group for group in inside if group.policy == policy], bases, prices, winners)
            for policy in dict.fromkeys(group.policy for group in inside)
        ]
        found += sorted(of_variant, key=lambda standing: _rank(standing, len(prices) // 2))
    return tuple(found)


def _standing(
    own: Sequence[ResultGroup],
    bases: Mapping[str, ResultGroup],
    prices: Sequence[float],
    winners: Sequence[Mapping[str, str]],
) -> Standing:
    policy = own[0].policy
    loads = [(group, bases[group.workload]) for group in own if group.workload in bases]

    def ratio(price: float) -> Interval | None:
        if len(loads) < len(bases):
            return None
        return geometric_mean_of_ratios(
            [(_bills(group, price), _bills(base, price)) for group, base in loads]
        )

    return Standing(
        variant=own[0].variant,
        policy=policy,
        competes=policy not in KNOW_THE_LOAD,
        runs=sum(len(group.results) for group in own),
        lost=sum(group.lost for group in own),
        replicas=ratio(0.0),
        late_min=_mean_over_loads([_late_min(group) for group in own]),
        actions=_mean_over_loads([group.by_seed("scaling_actions") for group in own]),
        bills=tuple(ratio(price) for price in prices),
        won=tuple(
            tuple(load for load, winner in at_price.items() if winner == policy) for at_price in winners
        ),
    )


def _winners(groups: Sequence[ResultGroup], price: float) -> Mapping[str, str]:
    """Return for each load the policy of least mean bill, of those that lost no run of it."""
    winners: dict[str, str] = {}
    for load in dict.fromkeys(group.workload for group in groups):
        bills = {
            group.policy: _bills(group, price)
            for group in groups
            if group.workload == load and group.policy not in KNOW_THE_LOAD and not group.lost
        }
        seeds = set.intersection(*map(set, bills.values())) if bills else set()
        totals = {policy: sum(by_seed[seed] for seed in seeds) for policy, by_seed in bills.items()}
        if seeds:
            winners[load] = min(totals, key=lambda policy: totals[policy])
    return winners


def _bills(group: ResultGroup, price: float) -> Mapping[int, float]:
    """Return the bill of each run that was not lost, replica-minutes by seed."""
    paid_s, late_min = group.by_seed("node_seconds"), _late_min(group)
    return {
        seed: seconds / _MINUTE_S + price * late
        for seed, seconds in paid_s.items()
        if seconds is not None and (late := late_min[seed]) is not None
    }


def _late_min(group: ResultGroup) -> Mapping[int, float | None]:
    return {
        seed: None if seconds is None else seconds / _MINUTE_S
        for seed, seconds in group.by_seed("lag_above_slo_s").items()
    }


def _mean_over_loads(by_load: Sequence[Mapping[int, float | None]]) -> Interval | None:
    """Return the mean of the loads' figures, over the seeds that every load has."""
    seeds = set.intersection(
        *({seed for seed, value in load.items() if value is not None} for load in by_load)
    )
    means = [sum(load[seed] or 0.0 for load in by_load) / len(by_load) for seed in sorted(seeds)]
    return mean_interval(means)


def _rank(standing: Standing, price: int) -> float:
    bill = standing.bills[price] if standing.bills else standing.replicas
    return float("inf") if bill is None else bill.mean
