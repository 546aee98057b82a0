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


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A policy on a load, live and simulated over the same repetitions.

    Attributes
    ----------
    runs, lost
        Live runs, and how many of them have no figures.
    live, simulated
        By the names of `FIGURES`; None without a run.
    live_rank, simulated_rank
        By the mean bill on this load, 1 being the least; None without a run.
    """

    workload: str
    policy: str
    runs: int
    lost: int
    live: Mapping[str, Interval | None]
    simulated: Mapping[str, Interval | None]
    live_rank: int | None
    simulated_rank: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PairOrder:
    """Two policies on a load: which has the lower bill.

    Attributes
    ----------
    live, simulated
        The bill of the one less that of the other, over the repetitions of both.
    live_parts, simulated_parts
        The same of the parts of the bill, means by the names of `BILL_PARTS`.
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
    figure
        One of `FIGURES`.
    mean, most
        Of the distances between the simulated and the live mean, in the figure's unit.
    mean_pct, most_pct
        The same in per cent of the live mean, where that is above 0; None where it never is.
    """

    figure: str
    mean: float
    most: float
    mean_pct: float | None
    most_pct: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reached:
    """On how many policies and loads the simulator is as close as it is to be.

    Attributes
    ----------
    cost, late
        Of `entries`: mean replica-minutes within `COST_GOAL_PCT`; mean late minutes within `LATE_GOAL_PCT` or
        `LATE_GOAL_MIN`.
    entries
        Those that came through live.
    """

    cost: int
    late: int
    entries: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BothSides:
    """A league, live and simulated.

    Attributes
    ----------
    entries
        By load in the experiment's order, the least live bill first.
    pairs
        Of policies that came through live on the same repetitions.
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
        cost, late = (
            [
                (live.mean, simulated.mean)
                for each in self.entries
                if (live := each.live[name]) and (simulated := each.simulated[name])
            ]
            for name in BILL_PARTS
        )
        return Reached(
            cost=sum(_within(pair, COST_GOAL_PCT) for pair in cost),
            late=sum(_within(pair, LATE_GOAL_PCT, LATE_GOAL_MIN) for pair in late),
            entries=len(cost),
        )

    @property
    def errors(self) -> tuple[FigureError, ...]:
        """How far the simulator is off, in each figure that both sides have."""
        return tuple(error for name in FIGURES if (error := _error(name, self.entries)) is not None)


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
    beside = [result for result in simulated if result.case in through]
    there = {(group.workload, group.policy): group for group in group_results(experiment, beside)}
    entries: list[Entry] = []
    pairs: list[PairOrder] = []
    groups = group_results(experiment, live)
    for workload in dict.fromkeys(group.workload for group in groups):
        inside = {group.policy: group for group in groups if group.workload == workload}
        lives = {policy: _by_seed(group, price) for policy, group in inside.items()}
        sims = {
            policy: _by_seed(there[workload, policy], price)
            for policy in inside
            if (workload, policy) in there
        }
        entries += _entries(workload, inside, lives, sims)
        pairs += [
            order
            for one, other in combinations(sims, 2)
            if (order := _pair(workload, one, other, lives, sims)) is not None
        ]
    return BothSides(entries=tuple(entries), pairs=tuple(pairs))


_BySeed = Mapping[str, Mapping[int, float | None]]
"""By the name of a figure, then by seed."""


def _by_seed(group: ResultGroup, price: float) -> _BySeed:
    bills = Bills(group)
    return {
        BILL: dict(bills.at(price)),
        "replica_min": dict(bills.at(0.0)),
        "late_min": bills.late_min(),
        "replicas": group.by_seed("avg_replicas"),
        "backlog_rows": group.by_seed("avg_backlog_rows"),
    }


def _entries(
    workload: str,
    groups: Mapping[str, ResultGroup],
    lives: Mapping[str, _BySeed],
    sims: Mapping[str, _BySeed],
) -> list[Entry]:
    live = {policy: _intervals(figures) for policy, figures in lives.items()}
    simulated = {policy: _intervals(sims.get(policy, {})) for policy in lives}
    live_ranks, simulated_ranks = _ranks(live), _ranks(simulated)
    entries = [
        Entry(
            workload=workload,
            policy=policy,
            runs=len(group.results),
            lost=group.lost,
            live=live[policy],
            simulated=simulated[policy],
            live_rank=live_ranks.get(policy),
            simulated_rank=simulated_ranks.get(policy),
        )
        for policy, group in groups.items()
    ]
    return sorted(entries, key=lambda entry: entry.live_rank or len(entries) + 1)


def _intervals(figures: _BySeed) -> dict[str, Interval | None]:
    return {
        name: mean_interval([value for value in figures.get(name, {}).values() if value is not None])
        for name in FIGURES
    }


def _ranks(figures: Mapping[str, Mapping[str, Interval | None]]) -> dict[str, int]:
    bills = {policy: bill.mean for policy, each in figures.items() if (bill := each[BILL]) is not None}
    return {policy: rank for rank, policy in enumerate(sorted(bills, key=lambda each: bills[each]), start=1)}


def _pair(
    workload: str, one: str, other: str, lives: Mapping[str, _BySeed], sims: Mapping[str, _BySeed]
) -> PairOrder | None:
    live, simulated = (_difference(side, one, other, BILL) for side in (lives, sims))
    if live is None or simulated is None:
        return None
    live_parts, simulated_parts = (
        {
            name: found.mean
            for name in BILL_PARTS
            if (found := _difference(side, one, other, name)) is not None
        }
        for side in (lives, sims)
    )
    return PairOrder(
        workload=workload,
        one=one,
        other=other,
        live=live,
        simulated=simulated,
        live_parts=live_parts,
        simulated_parts=simulated_parts,
    )


def _difference(side: Mapping[str, _BySeed], one: str, other: str, name: str) -> Interval | None:
    return compare(side[one][name], side[other][name], as_ratio=False).difference


def _within(pair: tuple[float, float], pct: float, least: float = 0.0) -> bool:
    live, simulated = pair
    return abs(simulated - live) <= max(least, live * pct / 100)


def _error(name: str, entries: Sequence[Entry]) -> FigureError | None:
    sides = [(entry.live[name], entry.simulated[name]) for entry in entries]
    means = [(live.mean, simulated.mean) for live, simulated in sides if live and simulated]
    if not means:
        return None
    distances = [abs(simulated - live) for live, simulated in means]
    shares_pct = [100 * abs(simulated - live) / live for live, simulated in means if live > 0]
    return FigureError(
        figure=name,
        mean=fmean(distances),
        most=max(distances),
        mean_pct=fmean(shares_pct) if shares_pct else None,
        most_pct=max(shares_pct, default=None),
    )
