"""Comparison of live and simulated results: figures, ranks, and pairs of policies whose order differs."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from pathlib import Path

from gesscale.common import API_VERSION
from gesscale.model.document import as_document
from gesscale.policies.gesscale.settings import GesscaleSettings
from testbed.arena.case import CaseResult
from testbed.arena.evaluation.comparison import PAPERS_METRICS, ResultGroup, group_results, records
from testbed.arena.evaluation.standings import RunCosts
from testbed.arena.evaluation.statistics import Interval, compare, mean_interval
from testbed.arena.experiments.experiment import Experiment
from testbed.arena.report.formatting import counted, figure, format_interval, short_name
from testbed.league.settings import chooses_by_option
from testbed.live.report import ReportTable
from testbed.scoring.sample import LAG_ABOVE

TOTAL_COST, REPLICAS, LATE = "total_cost", "replica_min", "late_min"
#: Figures of a run: the metric, and the unit by which it is divided.
_METRICS = {
    REPLICAS: ("node_seconds", 60.0),
    LATE: (LAG_ABOVE[1], 60.0),
    **{name: (name, 1.0) for name in ("undone_changes", "latency_p99_s", *PAPERS_METRICS)},
}
_HEADINGS = {
    REPLICAS: "replica-min",
    LATE: "late min",
    "reconfigurations": "changes",
    "undone_changes": "undone",
    "timeshare_U": "below the load, %",
    "latency_p99_s": "p99, s",
}

COST_GOAL_PCT = 5.0
#: Goals for the simulator's error of replica-minutes, and of late minutes (relative or absolute).
LATE_GOAL_PCT, LATE_GOAL_MIN = 20.0, 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LeagueEntry:
    """A policy on a load, live and simulated over the same repetitions.

    Attributes
    ----------
    policy: its name, and how its nodes are chosen if an option decides that
    runs, lost: number of live runs, and of those without results
    live, simulated: the means of the cost and of all figures by name; None without a figure
    live_rank, simulated_rank: by the mean cost on this load, 1 is the lowest; None without a run
    """

    workload: str
    policy: str
    runs: int
    lost: int
    live: Mapping[str, Interval | None]
    simulated: Mapping[str, Interval | None]
    live_rank: int | None = None
    simulated_rank: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PairOrder:
    """The order of two policies on a load, by cost.

    Attributes
    ----------
    live, simulated: difference of their costs, one less other, over the repetitions of both
    """

    workload: str
    one: str
    other: str
    live: Interval
    simulated: Interval

    @property
    def is_separated(self) -> bool:
        """True if the live runs separate the two: the interval of the difference excludes 0."""
        low, high = self.live.low, self.live.high
        return low is not None and high is not None and (low > 0 or high < 0)

    @property
    def differs(self) -> bool:
        """True if the simulator orders them the other way round."""
        return self.live.mean * self.simulated.mean < 0


@dataclass(frozen=True, slots=True, kw_only=True)
class GoalsReached:
    """Number of entries, of those with live results, for which the simulator reaches its goals.

    Attributes
    ----------
    cost: mean replica-minutes within `COST_GOAL_PCT`
    late: mean late minutes within `LATE_GOAL_PCT` or `LATE_GOAL_MIN`
    entries: all entries with live results
    """

    cost: int
    late: int
    entries: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Group:
    """The live runs of a policy on a load, and the simulated runs of the same completed repetitions."""

    name: str
    live: ResultGroup
    simulated: ResultGroup

    def entry(self, price: float, change_price: float) -> LeagueEntry:
        return LeagueEntry(
            workload=self.live.workload,
            policy=self.name,
            runs=len(self.live.results),
            lost=self.live.lost,
            live=_means(self.live, price, change_price),
            simulated=_means(self.simulated, price, change_price),
        )


def _means(group: ResultGroup, price: float, change_price: float) -> Mapping[str, Interval | None]:
    by_seed = {
        name: [value / unit for value in group.by_seed(metric).values() if value is not None]
        for name, (metric, unit) in _METRICS.items()
    }
    costs = list(RunCosts(group).at(price, change_price).values())
    return {name: mean_interval(values) for name, values in {TOTAL_COST: costs, **by_seed}.items()}


def _ranked(entries: Sequence[LeagueEntry]) -> list[LeagueEntry]:
    """Return the entries of a load with their ranks, the lowest live cost first."""
    live = _ranks({entry.policy: entry.live[TOTAL_COST] for entry in entries})
    simulated = _ranks({entry.policy: entry.simulated[TOTAL_COST] for entry in entries})
    ranked = [
        replace(entry, live_rank=live.get(entry.policy), simulated_rank=simulated.get(entry.policy))
        for entry in entries
    ]
    return sorted(ranked, key=lambda entry: entry.live_rank or len(ranked) + 1)


def _ranks(costs: Mapping[str, Interval | None]) -> dict[str, int]:
    means = {policy: cost.mean for policy, cost in costs.items() if cost is not None}
    return {policy: rank for rank, policy in enumerate(sorted(means, key=means.__getitem__), start=1)}


@dataclass(frozen=True, slots=True, kw_only=True)
class LeagueReport:
    """The report of a league; only cases with live results are compared.

    Attributes
    ----------
    experiment: the cases
    live, simulated: their results; live results may be missing
    price: of a late minute, replica-minutes
    """

    experiment: Experiment
    live: Sequence[CaseResult]
    simulated: Sequence[CaseResult]
    price: float

    @property
    def entries(self) -> tuple[LeagueEntry, ...]:
        """All policies by load in the experiment's order, the lowest live cost first."""
        return tuple(
            entry
            for groups in self._by_load()
            for entry in _ranked([group.entry(self.price, self.change_price) for group in groups])
        )

    @property
    def change_price(self) -> float:
        """Price of a change, replica-minutes: that of the default policy in these runs."""
        settings: GesscaleSettings = getattr(self.experiment.rules, "gesscale")  # noqa: B009 - a field that a policy adds
        return settings.change_price

    @property
    def pairs(self) -> tuple[PairOrder, ...]:
        """All pairs of policies with live results on the same repetitions."""
        return tuple(
            pair
            for groups in self._by_load()
            for one, other in combinations(groups, 2)
            if (pair := self._pair(one, other)) is not None
        )

    @property
    def goals_reached(self) -> GoalsReached:
        """Number of entries for which the simulator reaches its goals."""
        cost, late = (
            [
                (live.mean, simulated.mean)
                for entry in self.entries
                if (live := entry.live[name]) and (simulated := entry.simulated[name])
            ]
            for name in (REPLICAS, LATE)
        )
        return GoalsReached(
            cost=sum(abs(simulated - live) <= live * COST_GOAL_PCT / 100 for live, simulated in cost),
            late=sum(
                abs(simulated - live) <= max(LATE_GOAL_MIN, live * LATE_GOAL_PCT / 100) for live, simulated in late
            ),
            entries=len(cost),
        )

    @property
    def faults(self) -> tuple[CaseResult, ...]:
        """The live runs without results."""
        return tuple(result for result in self.live if result.lost)

    def _by_load(self) -> list[list[_Group]]:
        simulated = {result.case: result for result in self.simulated}
        loads: dict[str, list[_Group]] = {}
        for group in group_results(self.experiment, self.live):
            completed = [each.case for each in group.results if not each.lost]
            same_cases = replace(group, results=tuple(simulated[case] for case in completed if case in simulated))
            name = group.policy
            if group.variant and chooses_by_option(name):
                name = f"{name} ({self.experiment.variant(group.variant).rules.node_choice})"
            loads.setdefault(group.workload, []).append(_Group(name=name, live=group, simulated=same_cases))
        return list(loads.values())

    def _pair(self, one: _Group, other: _Group) -> PairOrder | None:
        live, simulated = (
            compare(self._costs(first), self._costs(second), as_ratio=False).difference
            for first, second in ((one.live, other.live), (one.simulated, other.simulated))
        )
        if live is None or simulated is None:
            return None
        return PairOrder(workload=one.live.workload, one=one.name, other=other.name, live=live, simulated=simulated)

    def _costs(self, group: ResultGroup) -> Mapping[int, float]:
        return RunCosts(group).at(self.price, self.change_price)

    def document(self) -> dict[str, object]:
        """Return the report as a JSON document."""
        return {
            "apiVersion": API_VERSION,
            "experiment": self.experiment.document(),
            "price_replica_min": self.price,
            "change_price_replica_min": self.change_price,
            "objective_s": self.experiment.slo_s,
            "entries": self.entries,
            "pairs": [{**asdict(pair), "separated": pair.is_separated, "differs": pair.differs} for pair in self.pairs],
            "goals_reached": self.goals_reached,
            "runs": {"live": records(self.live), "simulated": records(self.simulated)},
        }

    def markdown(self) -> str:
        """Return the report as Markdown."""
        summary = " ".join([self._order(), self._closeness(), self._exactness(), self._machine()]).rstrip()
        tables = [each.markdown() for each in self.tables()]
        return "\n".join([f"# {self.experiment.title}", "", self._basis(), "", summary, "", *tables])

    def write(self, folder: Path) -> None:
        """Write league.md and league.json to a folder."""
        (folder / "league.md").write_text(self.markdown(), encoding="utf-8")
        document = json.dumps(as_document(self.document()), indent=1)
        (folder / "league.json").write_text(document + "\n", encoding="utf-8")

    def _order(self) -> str:
        separated = [pair for pair in self.pairs if pair.is_separated]
        return (
            f"The live runs separate {len(separated)} of {counted(len(self.pairs), 'pair')} of policies. The simulator "
            f"reverses the order of {sum(pair.differs for pair in separated)} of them, and of "
            f"{sum(pair.differs for pair in self.pairs)} of all pairs."
        )

    def _closeness(self) -> str:
        reached = self.goals_reached
        return (
            f"Of {reached.entries} means by policy and load, {reached.cost} simulated replica-minutes are within "
            f"{COST_GOAL_PCT:g} %, and {reached.late} late minutes within {LATE_GOAL_PCT:g} % or "
            f"{LATE_GOAL_MIN:g} minute."
        )

    def _exactness(self) -> str:
        runs = [result.metrics for result in self.live if not result.lost]
        lost, duplicated = (sum(int(metrics[name] or 0) for metrics in runs) for name in ("rows_lost", "rows_doubled"))
        return f"{lost} rows lost, {duplicated} duplicated in {counted(len(runs), 'run')}."

    def _machine(self) -> str:
        loads = [float(load) for each in self.live if (load := each.metrics.get("machine_load_before")) is not None]
        if not loads:
            return ""
        return f"The load average at the start of the runs was {min(loads):.0f} to {max(loads):.0f}."

    def _basis(self) -> str:
        return (
            f"Cost: replica-minutes until the last row is processed, plus {self.price:g} for each minute in which the "
            f"oldest row is older than {self.experiment.slo_s:g} s, and {self.change_price:g} for each change. Rank 1 "
            f"is the lowest cost on a load. Brackets: 95 % intervals over the repetitions; of two repetitions their "
            f"range. Undone: changes undone within {self.experiment.undone_within_s:g} s. Below the load: share of "
            f"time with fewer replicas than it needs. Two figures in a cell: live, simulated."
        )

    def tables(self) -> list[ReportTable]:
        """Return the tables: two for each load, the pairs whose order differs, and runs without results."""
        entries = self.entries
        papers = {name: name for name in PAPERS_METRICS}
        tables = [
            _of_load(f"{short_name(workload)}{more}", headings, [each for each in entries if each.workload == workload])
            for more, headings in (("", _HEADINGS), (": the metrics of the paper", papers))
            for workload in dict.fromkeys(entry.workload for entry in entries)
        ]
        if differing := [pair for pair in self.pairs if pair.differs]:
            tables.append(_of_pairs(differing))
        if self.faults:
            tables.append(_of_faults(self.faults))
        return tables


def _of_load(title: str, figures: Mapping[str, str], entries: Sequence[LeagueEntry]) -> ReportTable:
    """Tabulate the costs with their intervals, and the means of the figures: live, simulated."""
    rows = [
        [
            short_name(entry.policy),
            f"{entry.runs} ({entry.lost} lost)" if entry.lost else f"{entry.runs}",
            f"{figure(entry.live_rank)}, {figure(entry.simulated_rank)}",
            *(format_interval(side[TOTAL_COST]) for side in (entry.live, entry.simulated)),
            *(", ".join(_mean(side[name]) for side in (entry.live, entry.simulated)) for name in figures),
        ]
        for entry in entries
    ]
    return ReportTable(title, ["policy", "runs", "rank", "cost live", "cost simulated", *figures.values()], rows)


def _mean(interval: Interval | None) -> str:
    return figure(None if interval is None else interval.mean)


def _of_pairs(pairs: Sequence[PairOrder]) -> ReportTable:
    rows = [
        [
            short_name(pair.workload),
            f"{short_name(pair.one)} less {short_name(pair.other)}",
            format_interval(pair.live),
            format_interval(pair.simulated),
            "yes" if pair.is_separated else "no",
        ]
        for pair in pairs
    ]
    headings = ["load", "pair", "live", "simulated", "separated live"]
    return ReportTable("Pairs whose order differs: differences of their costs", headings, rows)


def _of_faults(faults: Sequence[CaseResult]) -> ReportTable:
    rows = [
        [short_name(each.case.workload), short_name(each.case.policy), f"{each.case.seed + 1}", each.lost]
        for each in faults
    ]
    return ReportTable("Runs without results", ["load", "policy", "repetition", "cause"], rows)
