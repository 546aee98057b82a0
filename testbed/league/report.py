"""What a live league says: tables for a terminal and for Markdown, and a document for JSON."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median

from rich.table import Table

from gesscale.common import API_VERSION
from gesscale.model.document import as_document
from testbed.arena.case import CaseResult
from testbed.arena.cli.tables import TextColumn, fitted, on_one_line, short_name
from testbed.arena.experiments.experiment import Experiment
from testbed.arena.judging.comparing import records
from testbed.arena.report.formatting import counted, figure
from testbed.league.comparison import (
    BILL_PARTS,
    COST_GOAL_PCT,
    FIGURES,
    LATE_GOAL_MIN,
    LATE_GOAL_PCT,
    BothSides,
    Entry,
    FigureError,
    PairOrder,
    compare_both,
)

_HEADINGS = dict(zip(FIGURES, ("bill", "replica-min", "late min", "replicas", "backlog, rows"), strict=True))

_Columns = Mapping[str, Sequence[str]]
"""Cells by the heading of their column."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _TextTable:
    """A table as text, for a terminal and for Markdown; `keys` stay where the figures do not fit beside each other."""

    title: str
    keys: _Columns
    figures: _Columns = field(default_factory=dict)

    def shown(self) -> list[Table]:
        keys, figures = (
            [TextColumn(heading=heading, cells=cells) for heading, cells in columns.items()]
            for columns in (self.keys, self.figures)
        )
        return fitted(self.title, keys, figures)

    def markdown(self) -> str:
        columns = {
            " ".join(head.splitlines()): cells for head, cells in {**self.keys, **self.figures}.items()
        }
        lines = [[*columns], ["---"] * len(columns), *zip(*columns.values(), strict=True)]
        return "\n".join([f"### {self.title}", "", *(f"| {' | '.join(line)} |" for line in lines), ""])


@dataclass(frozen=True, slots=True, kw_only=True)
class LeagueReport:
    """A league that was played.

    Attributes
    ----------
    experiment
        What was played.
    live, simulated
        What came of it.
    price
        Of a late minute, replica-minutes.
    """

    experiment: Experiment
    live: Sequence[CaseResult]
    simulated: Sequence[CaseResult]
    price: float

    @property
    def both(self) -> BothSides:
        """The two sides compared."""
        return compare_both(self.experiment, self.live, self.simulated, price=self.price)

    @property
    def faults(self) -> tuple[CaseResult, ...]:
        """The live runs that have no figures."""
        return tuple(result for result in self.live if result.lost)

    def document(self) -> dict[str, object]:
        """Return all of it, for JSON."""
        both, experiment = self.both, self.experiment
        return {
            "apiVersion": API_VERSION,
            "experiment": experiment.document(),
            "price_replica_min": self.price,
            "objective_s": experiment.slo_s,
            "entries": both.entries,
            "pairs": [
                {**asdict(pair), "separated": pair.is_separated, "differs": pair.differs}
                for pair in both.pairs
            ],
            "errors": both.errors,
            "reached": both.reached,
            "runs": {"live": records(self.live), "simulated": records(self.simulated)},
        }

    def tables(self) -> list[Table]:
        """Return its tables, for a terminal."""
        return [table for each in self._text_tables() for table in each.shown()]

    def markdown(self) -> str:
        """Return its page."""
        both = self.both
        separated = [pair for pair in both.pairs if pair.is_separated]
        wrong = [pair for pair in separated if pair.differs]
        said = (
            f"Of {counted(len(both.pairs), 'pair')} of policies the live runs tell {len(separated)} apart; the "
            f"simulator has {len(wrong)} of these the other way round, and {len(both.differing)} of all. "
            f"{self._closeness(both)} {self._exactness()} {self._machine()}".rstrip()
        )
        return "\n".join(
            [
                f"# {self.experiment.title}",
                "",
                self._basis(),
                "",
                said,
                "",
                *(each.markdown() for each in self._text_tables()),
            ]
        )

    def write(self, folder: Path) -> None:
        """Write league.md and league.json to a folder."""
        (folder / "league.md").write_text(self.markdown(), encoding="utf-8")
        document = json.dumps(as_document(self.document()), indent=1)
        (folder / "league.json").write_text(document + "\n", encoding="utf-8")

    def _closeness(self, both: BothSides) -> str:
        reached = both.reached
        return (
            f"Of {reached.entries} means, by policy and load, the simulated replica-minutes are within "
            f"{COST_GOAL_PCT:g} % for {reached.cost}, the late minutes within {LATE_GOAL_PCT:g} % or "
            f"{LATE_GOAL_MIN:g} minute for {reached.late}."
        )

    def _machine(self) -> str:
        """Say what else ran: how busy the machine was."""
        before, busy, waited = (
            [float(value) for each in self.live if (value := each.metrics.get(name)) is not None]
            for name in ("machine_load_before", "machine_busy_pct", "loop_waited_pct")
        )
        if not before or not busy or not waited:
            return ""
        return (
            f"When the runs began, {min(before):.0f} to {max(before):.0f} processes ran or waited for a core "
            f"(median {median(before):.0f}); the cores were busy {min(busy):.0f} to {max(busy):.0f} % of the time; "
            f"the loop waited for a core {min(waited):.0f} to {max(waited):.0f} % of the time in which it had "
            "something to do."
        )

    def _exactness(self) -> str:
        through = [result.metrics for result in self.live if not result.lost]
        lost, doubled = (
            sum(int(metrics[name] or 0) for metrics in through) for name in ("rows_lost", "rows_doubled")
        )
        return f"{lost} rows lost, {doubled} doubled in {counted(len(through), 'run')}."

    def _basis(self) -> str:
        return (
            f"Bill: replica-minutes until the last row is through, and {self.price:g} for each minute in which the "
            f"oldest row is older than {self.experiment.slo_s:g} s. Rank 1 is the least bill on a load. In brackets "
            f"95 % intervals over the repetitions; two have their range, one has none."
        )

    def _text_tables(self) -> list[_TextTable]:
        both = self.both
        tables = [
            _of_load(workload, [entry for entry in both.entries if entry.workload == workload])
            for workload in dict.fromkeys(entry.workload for entry in both.entries)
        ]
        if both.errors:
            tables.append(_of_errors(both.errors))
        if both.differing:
            tables.append(_of_pairs(both.differing))
        if self.faults:
            tables.append(_of_faults(self.faults))
        return tables


def _of_load(workload: str, entries: Sequence[Entry]) -> _TextTable:
    keys = {
        "policy": [short_name(entry.policy) for entry in entries],
        "runs": [_runs(entry) for entry in entries],
    }
    figures = {
        "rank\nlive": [figure(entry.live_rank) for entry in entries],
        "rank\nsimulated": [figure(entry.simulated_rank) for entry in entries],
    }
    for name, heading in _HEADINGS.items():
        figures[f"{heading}\nlive"] = [on_one_line(entry.live[name]) for entry in entries]
        figures[f"{heading}\nsimulated"] = [on_one_line(entry.simulated[name]) for entry in entries]
    return _TextTable(title=short_name(workload), keys=keys, figures=figures)


def _runs(entry: Entry) -> str:
    return f"{entry.runs} ({entry.lost} lost)" if entry.lost else f"{entry.runs}"


def _of_errors(errors: Sequence[FigureError]) -> _TextTable:
    columns = {
        "figure": [_HEADINGS[error.figure] for error in errors],
        "mean": [figure(error.mean) for error in errors],
        "mean, %": [figure(error.mean_pct) for error in errors],
        "most": [figure(error.most) for error in errors],
        "most, %": [figure(error.most_pct) for error in errors],
    }
    return _TextTable(
        title="How far the simulator is from the live runs, over policies and loads", keys=columns
    )


def _of_pairs(pairs: Sequence[PairOrder]) -> _TextTable:
    columns = {
        "load": [short_name(pair.workload) for pair in pairs],
        "pair": [f"{short_name(pair.one)} less {short_name(pair.other)}" for pair in pairs],
        "live": [on_one_line(pair.live) for pair in pairs],
        "simulated": [on_one_line(pair.simulated) for pair in pairs],
        "told apart live": ["yes" if pair.is_separated else "no" for pair in pairs],
    }
    for name in BILL_PARTS:
        for side in ("live", "simulated"):
            parts = [pair.live_parts if side == "live" else pair.simulated_parts for pair in pairs]
            columns[f"{_HEADINGS[name]}\n{side}"] = [figure(each.get(name)) for each in parts]
    return _TextTable(
        title="Pairs whose order differs: differences of their bills and of what makes them", keys=columns
    )


def _of_faults(faults: Sequence[CaseResult]) -> _TextTable:
    columns = {
        "load": [short_name(fault.case.workload) for fault in faults],
        "policy": [short_name(fault.case.policy) for fault in faults],
        "repetition": [f"{fault.case.seed + 1}" for fault in faults],
        "what happened": [fault.lost for fault in faults],
    }
    return _TextTable(title="Runs without figures", keys=columns)
