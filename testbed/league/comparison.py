"""Live results next to those of the simulator: figures, ranks, and pairs of policies whose order differs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean

from testbed.arena.case import CaseResult
from testbed.arena.experiments.experiment import Experiment
from testbed.arena.judging.comparing import ResultGroup, group_results
from testbed.arena.judging.standings import Bills
from testbed.arena.judging.statistics import Interval, compare, mean_interval

BILL = "bill"
FIGURES = (BILL, "replica_min", "late_min", "replicas", "backlog_rows")
"""What a run is shown by: its bill and the two parts of it, minutes; mean replicas and mean backlog."""
BILL_PARTS = FIGURES[1:3]
"""What makes a bill, and so explains why two policies are ordered as they are."""

COST_GOAL_PCT = 5.0
LATE_GOAL_PCT, LATE_GOAL_MIN = 20.0, 1.0
"""How close the simulator is to be: replica-minutes, and late minutes by either of both."""

Figures = Mapping[str, Interval | None]
"""By the names of `FIGURES`; None without a run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A policy on a load, live and simulated over the same repetitions.

    Attributes
    ----------
    runs, lost: live runs, and how many of them have no figures
    live, simulated: the means
    live_rank, simulated_rank: by the mean bill on this load, 1 being the least; None without a run
    """

    workload: str
    policy: str
    runs: int
    lost: int
    live: Figures
    simulated: Figures
    live_rank: int | None
    simulated_rank: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PairOrder:
    """Two policies on a load: which has the lower bill.

    Attributes
    ----------
    live, simulated: the bill of the one less that of the other, over the repetitions of both
    live_parts, simulated_parts: the same of the parts of the bill, means by the names of `BILL_PARTS`
    """

    workload: str
    one: str
    other: str
    live: Interval
    simulated: Interval
    live_parts: Mapping[str, float]
    simulated_parts: Mapping[str, float]

    @property
    def is_separated(self) -> bool:
        """Whether the live runs tell the two apart: the interval of the difference leaves out 0."""
        low, high = self.live.low, self.live.high
        return low is not None and high is not None and (low > 0 or high < 0)

    @property
    def differs(self) -> bool:
        """Whether the simulator has them the other way round."""
        return self.live.mean * self.simulated.mean < 0


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureError:
    """How far the simulator is off in one figure, over policies and loads.

    Attributes
    ----------
    mean, most: of the distances between the simulated and the live mean, in the figure's unit
    mean_pct, most_pct: the same in per cent of the live mean, where that is above 0; None where it never is
    """

    figure: str
    mean: float
    most: float
    mean_pct: float | None
    most_pct: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reached:
    """On how many of the policies and loads that came through live the simulator is as close as it is to be.

    Attributes
    ----------
    cost: mean replica-minutes within `COST_GOAL_PCT`
    late: mean late minutes within `LATE_GOAL_PCT` or `LATE_GOAL_MIN`
    """

    cost: int
    late: int
    entries: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BothSides:
    """A league, live and simulated.

    Attributes
    ----------
    entries: by load in the experiment's order, the least live bill first
    pairs: of policies that came through live on the same repetitions
    """

    entries: tuple[Entry, ...]
    pairs: tuple[PairOrder, ...]

    @property
    def differing(self) -> tuple[PairOrder, ...]:
        """The pairs that the simulator has the other way round."""
        return tuple(pair for pair in self.pairs if pair.differs)

    @property
    def reached(self) -> Reached:
        """How often the simulator is as close as it is to be."""
        cost, late = (self._means(name) for name in BILL_PARTS)
        return Reached(
            cost=sum(abs(there - here) <= here * COST_GOAL_PCT / 100 for here, there in cost),
            late=sum(
                abs(there - here) <= max(LATE_GOAL_MIN, here * LATE_GOAL_PCT / 100) for here, there in late
            ),
            entries=len(cost),
        )

    @property
    def errors(self) -> tuple[FigureError, ...]:
        """How far the simulator is off, in each figure that both sides have."""
        return tuple(_error(name, means) for name in FIGURES if (means := self._means(name)))

    def _means(self, name: str) -> list[tuple[float, float]]:
        """Return the live and the simulated means of a figure, of each entry that has both."""
        sides = [(entry.live[name], entry.simulated[name]) for entry in self.entries]
        return [(live.mean, simulated.mean) for live, simulated in sides if live and simulated]


def _error(name: str, means: Sequence[tuple[float, float]]) -> FigureError:
    distances = [abs(there - here) for here, there in means]
    shares_pct = [100 * abs(there - here) / here for here, there in means if here > 0]
    return FigureError(
        figure=name,
        mean=fmean(distances),
        most=max(distances),
        mean_pct=fmean(shares_pct) if shares_pct else None,
        most_pct=max(shares_pct, default=None),
    )


_BySeed = Mapping[str, Mapping[int, float | None]]
"""By the name of a figure, then by seed."""
_Side = Mapping[tuple[str, str], _BySeed]
"""By load and policy."""


def compare_both(
    experiment: Experiment, live: Sequence[CaseResult], simulated: Sequence[CaseResult], *, price: float
) -> BothSides:
    """Compare live results with simulated ones of the same cases; only cases that came through live count.

    Parameters
    ----------
    experiment
        Of both.
    live, simulated
        What came of its cases; live ones may be missing.
    price
        Of a late minute, replica-minutes.
    """
    through = {result.case for result in live if not result.lost}
    groups = group_results(experiment, live)
    beside = group_results(experiment, [result for result in simulated if result.case in through])
    here, there = (
        {(group.workload, group.policy): _by_seed(group, price) for group in side}
        for side in (groups, beside)
    )
    entries: list[Entry] = []
    pairs: list[PairOrder] = []
    for workload in dict.fromkeys(group.workload for group in groups):
        inside = [group for group in groups if group.workload == workload]
        entries += _entries(inside, here, there)
        policies = [group.policy for group in inside if (workload, group.policy) in there]
        pairs += [
            pair
            for one, other in combinations(policies, 2)
            if (pair := _pair(workload, one, other, here, there)) is not None
        ]
    return BothSides(entries=tuple(entries), pairs=tuple(pairs))


def _by_seed(group: ResultGroup, price: float) -> _BySeed:
    bills = Bills(group)
    return {
        BILL: dict(bills.at(price)),
        "replica_min": dict(bills.at(0.0)),
        "late_min": bills.late_min(),
        "replicas": group.by_seed("avg_replicas"),
        "backlog_rows": group.by_seed("avg_backlog_rows"),
    }


def _entries(groups: Sequence[ResultGroup], here: _Side, there: _Side) -> list[Entry]:
    """Return the entries of a load, the least live bill first."""
    live, simulated = (
        {group.policy: _means(side.get((group.workload, group.policy), {})) for group in groups}
        for side in (here, there)
    )
    live_ranks, simulated_ranks = _ranks(live), _ranks(simulated)
    entries = [
        Entry(
            workload=group.workload,
            policy=group.policy,
            runs=len(group.results),
            lost=group.lost,
            live=live[group.policy],
            simulated=simulated[group.policy],
            live_rank=live_ranks.get(group.policy),
            simulated_rank=simulated_ranks.get(group.policy),
        )
        for group in groups
    ]
    return sorted(entries, key=lambda entry: entry.live_rank or len(entries) + 1)


def _means(figures: _BySeed) -> Figures:
    known = {name: [each for each in figures.get(name, {}).values() if each is not None] for name in FIGURES}
    return {name: mean_interval(values) for name, values in known.items()}


def _ranks(figures: Mapping[str, Figures]) -> dict[str, int]:
    bills = {policy: bill.mean for policy, each in figures.items() if (bill := each[BILL]) is not None}
    return {policy: rank for rank, policy in enumerate(sorted(bills, key=lambda each: bills[each]), start=1)}


def _pair(workload: str, one: str, other: str, here: _Side, there: _Side) -> PairOrder | None:
    live, simulated = (
        {
            name: found
            for name in (BILL, *BILL_PARTS)
            if (found := _difference(side[workload, one][name], side[workload, other][name])) is not None
        }
        for side in (here, there)
    )
    if BILL not in live or BILL not in simulated:
        return None
    return PairOrder(
        workload=workload,
        one=one,
        other=other,
        live=live.pop(BILL),
        simulated=simulated.pop(BILL),
        live_parts={name: found.mean for name, found in live.items()},
        simulated_parts={name: found.mean for name, found in simulated.items()},
    )


def _difference(one: Mapping[int, float | None], other: Mapping[int, float | None]) -> Interval | None:
    return compare(one, other, as_ratio=False).difference
