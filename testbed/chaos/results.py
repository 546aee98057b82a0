"""What came of each change, the verdict on all of them, and the folder that keeps it.

RESULTS/chaos.json      what is played
RESULTS/changes.jsonl   a line for each change, as soon as it is over
RESULTS/parts/N/        a run of the query: logs, the loop's settings, knowledge and steps
RESULTS/chaos.md        the report
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from statistics import median
from typing import Any, Self

from pydantic import TypeAdapter, ValidationError

from gesscale.errors import InputError
from testbed.chaos.plan import ChaosFault, PlannedChange
from testbed.live.nodes import ProgressLog
from testbed.live.report import ReportTable
from testbed.results_folder import claim_results_folder

CHANGES, REPORT, SETTING = "changes.jsonl", "chaos.md", "chaos.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tallies:
    """What has been counted since a query began, or during one change.

    Attributes
    ----------
    failed_batches: batches that ended the query
    lost_tasks: tasks that Spark had to run again, by the driver's log
    fetch_failures: those of them whose data could not be fetched
    unsafe_removals: replicas removed in a step without believable metrics, or with a stale map
    controller_ended: how often the controller ended without having been killed
    """

    failed_batches: int = 0
    lost_tasks: int = 0
    fetch_failures: int = 0
    unsafe_removals: int = 0
    controller_ended: int = 0

    @classmethod
    def total(cls, those: Iterable["Tallies"]) -> Self:
        """Return the sums."""
        counts = [asdict(each) for each in those]
        return cls(**{each.name: sum(count[each.name] for count in counts) for each in fields(cls)})

    def since(self, before: "Tallies") -> "Tallies":
        """Return what was counted after another count."""
        then = asdict(before)
        return Tallies(**{name: count - then[name] for name, count in asdict(self).items()})


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeRecord:
    """A change as it went.

    Attributes
    ----------
    number, fault: as planned

    part: the run of the query in which it was; a stopped command goes on in a new one

    target: what the fault struck, a node or a process; empty where there was nothing to strike

    before, placement: where the replicas were, and where they were ordered

    at_s: when it was ordered, seconds since the epoch

    fault_s: from the order to the end of the fault, seconds

    rows, rows_lost, rows_duplicated: of this part so far: rows committed, missing in the sink, more than once in it

    tallies: counted during this change

    """

    number: int
    part: int
    fault: ChaosFault
    target: str
    before: tuple[str, ...]
    placement: tuple[str, ...]
    at_s: float
    fault_s: float
    #: Seconds; None where that took too long
    converged_s: float | None
    rows: int
    rows_lost: int
    rows_duplicated: int
    tallies: Tallies = Tallies()

    @property
    def removals(self) -> int:
        """Nodes that had to give their replica up."""
        return len(set(self.before) - set(self.placement))

    def format_duration(self) -> str:
        """Return a line for people."""
        converged = "NOT CONVERGED" if self.converged_s is None else f"converged in {self.converged_s:.1f} s"
        return (
            f"change {self.number}: {','.join(self.before)} -> {','.join(self.placement)}; {self.fault.value} "
            f"{self.target}; {converged}; {self.rows} rows, {self.rows_lost} lost, {self.rows_duplicated} doubled"
        )


_RECORD = TypeAdapter(ChangeRecord)


def record_line(record: ChangeRecord) -> str:
    """Return a record as a line of JSON."""
    return _RECORD.dump_json(record).decode() + "\n"


def read_records(file: Path) -> tuple[ChangeRecord, ...]:
    """Read the records of a run; a last line that was cut short is left out.

    Raises
    ------
    InputError
        If another line is no record.
    """
    lines = file.read_text("utf-8").splitlines(keepends=True) if file.exists() else []
    try:
        return tuple(_RECORD.validate_json(line) for line in lines if line.endswith("\n"))
    except ValidationError as error:
        raise InputError(f"{file}: expected a record of a change in each line, got something else: {error}") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class ChaosVerdict:
    """What a run amounts to.

    Attributes
    ----------
    changes, removals: how many there were
    rows, rows_lost, rows_duplicated: over all parts
    not_converged: the numbers of the changes that took too long
    tallies: over all changes
    left: what was still there when all was taken down: processes, namespaces, a device
    """

    changes: int
    removals: int
    rows: int
    rows_lost: int
    rows_duplicated: int
    not_converged: tuple[int, ...]
    tallies: Tallies
    left: tuple[str, ...] = ()

    @property
    def kept(self) -> bool:
        """True if rows are exact, every change converged, no removal was unsafe, and nothing was left behind."""
        bad = self.rows_lost or self.rows_duplicated or self.not_converged or self.left
        return not (bad or self.tallies.unsafe_removals or self.tallies.controller_ended)

    def summary(self) -> list[tuple[str, str]]:
        """Return it as pairs of a word and a figure."""
        return [
            ("changes", str(self.changes)),
            ("removals of a replica", str(self.removals)),
            ("rows committed", str(self.rows)),
            ("rows lost", str(self.rows_lost)),
            ("rows doubled", str(self.rows_duplicated)),
            ("changes that did not converge", ", ".join(map(str, self.not_converged)) or "none"),
            ("replicas removed on doubt", str(self.tallies.unsafe_removals)),
            ("controller ended by itself", str(self.tallies.controller_ended)),
            ("failed batches", str(self.tallies.failed_batches)),
            ("lost tasks", str(self.tallies.lost_tasks)),
            ("fetch failures", str(self.tallies.fetch_failures)),
            ("left behind", ", ".join(self.left) or "nothing"),
        ]


def judge(records: Sequence[ChangeRecord], left: Sequence[str] = ()) -> ChaosVerdict:
    """Judge all changes of a run so far; `left` is what was still there at the end."""
    by_part: dict[int, list[ChangeRecord]] = {}
    for record in records:
        by_part.setdefault(record.part, []).append(record)
    parts = by_part.values()
    return ChaosVerdict(
        changes=len(records),
        removals=sum(record.removals for record in records),
        rows=sum(part[-1].rows for part in parts),  # rows count from the beginning of a part
        rows_lost=sum(max(each.rows_lost for each in part) for part in parts),
        rows_duplicated=sum(max(each.rows_duplicated for each in part) for part in parts),
        not_converged=tuple(record.number for record in records if record.converged_s is None),
        tallies=Tallies.total(record.tallies for record in records),
        left=tuple(left),
    )


def tables_of(title: str, records: Sequence[ChangeRecord], verdict: ChaosVerdict) -> list[ReportTable]:
    """Return the verdict, and what came of each fault that there was, as tables."""
    headings = ("fault", "changes", "converged, median s", "longest s", "removals", "failed batches", "lost tasks")
    by_fault = {fault: [record for record in records if record.fault is fault] for fault in ChaosFault}
    rows = [_fault_row(fault, those) for fault, those in by_fault.items() if those]
    return [ReportTable(title, ("what", "figure"), verdict.summary()), ReportTable("By fault", headings, rows)]


def _fault_row(fault: ChaosFault, records: Sequence[ChangeRecord]) -> tuple[str, ...]:
    times_s = [each.converged_s for each in records if each.converged_s is not None]
    late = len(records) - len(times_s)
    return (
        fault.value,
        str(len(records)),
        f"{median(times_s):.1f}" if times_s else "–",
        f"{max(times_s):.1f}" if times_s and not late else f"{late} not in time",
        str(sum(each.removals for each in records)),
        str(sum(each.tallies.failed_batches for each in records)),
        str(sum(each.tallies.lost_tasks for each in records)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """Where a run is kept."""

    #: Of this run alone.
    folder: Path

    def claim(self, wanted: Mapping[str, Any]) -> None:
        """Take the folder for a run.

        Raises
        ------
        InputError
            If it cannot be written, or holds something else than an earlier command of the same run left.
        """
        claim_results_folder(self.folder, mark=SETTING)
        file = self.folder / SETTING
        text = json.dumps(wanted, indent=2) + "\n"
        if file.exists() and (found := file.read_text()) != text:
            raise InputError(
                f"results {self.folder}: expected a run of {text}, this is one of {found}; name another folder"
            )
        file.write_text(text)

    def records(self) -> tuple[ChangeRecord, ...]:
        """Return what is done."""
        return read_records(self.folder / CHANGES)

    def missing(self, plan: Sequence[PlannedChange]) -> list[PlannedChange]:
        """Return what of a plan is not done."""
        done = {record.number for record in self.records()}
        return [change for change in plan if change.number not in done]

    def next_part(self) -> int:
        """Return the number of the next run of the query."""
        return max((record.part for record in self.records()), default=-1) + 1

    def part(self, number: int) -> Path:
        """Return the folder of a run of the query."""
        return self.folder / "parts" / str(number)

    def keep(self, record: ChangeRecord, progress: ProgressLog) -> None:
        """Keep and say what came of a change."""
        with (self.folder / CHANGES).open("a") as file:
            file.write(record_line(record))
        progress.log(record.format_duration())

    def report(self, title: str, left: Sequence[str]) -> ChaosVerdict:
        """Judge all changes, and write the report."""
        records = self.records()
        verdict = judge(records, left)
        tables = tables_of(f"Chaos: {len(records)} changes of {title}", records, verdict)
        (self.folder / REPORT).write_text("\n".join(each.markdown() for each in tables))
        return verdict
