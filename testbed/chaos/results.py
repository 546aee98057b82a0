"""Results of a chaos run: records of changes, the verdict, and their folder.

RESULTS/chaos.json      the settings
RESULTS/changes.jsonl   a line for each completed change
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
    """Counts since the start of a query, or during one change.

    Attributes
    ----------
    failed_batches: batches that ended the query
    lost_tasks: tasks that Spark had to run again, by the driver's log
    fetch_failures: lost tasks whose data could not be fetched
    unsafe_removals: replicas removed in a step without valid metrics, or with a stale map
    controller_exits: times that the controller exited without having been killed
    """

    failed_batches: int = 0
    lost_tasks: int = 0
    fetch_failures: int = 0
    unsafe_removals: int = 0
    controller_exits: int = 0

    @classmethod
    def total(cls, tallies: Iterable["Tallies"]) -> Self:
        """Return the sums."""
        counts = [asdict(each) for each in tallies]
        return cls(**{each.name: sum(count[each.name] for count in counts) for each in fields(cls)})

    def since(self, before: "Tallies") -> "Tallies":
        """Return the difference to earlier counts."""
        earlier = asdict(before)
        return Tallies(**{name: count - earlier[name] for name, count in asdict(self).items()})


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeRecord:
    """The record of a change.

    Attributes
    ----------
    number, fault: as planned

    part: number of the run of the query; a resumed command starts a new one

    target: target of the fault, a node or a process; empty if there was none

    before, placement: nodes of the replicas before, and as ordered

    at_s: time of the order, seconds since the epoch

    fault_s: from the order to the end of the fault, seconds

    rows, rows_lost, rows_duplicated: of this part so far: rows committed, missing in the sink, duplicated in it

    tallies: counts during this change

    """

    number: int
    part: int
    fault: ChaosFault
    target: str
    before: tuple[str, ...]
    placement: tuple[str, ...]
    at_s: float
    fault_s: float
    #: Seconds; None after a timeout
    converged_s: float | None
    rows: int
    rows_lost: int
    rows_duplicated: int
    tallies: Tallies = Tallies()

    @property
    def removals(self) -> int:
        """Number of replicas that the change removed."""
        return len(set(self.before) - set(self.placement))

    def line(self) -> str:
        """Return the record as a line of text."""
        converged = "NOT CONVERGED" if self.converged_s is None else f"converged in {self.converged_s:.1f} s"
        return (
            f"change {self.number}: {','.join(self.before)} -> {','.join(self.placement)}; {self.fault.value} "
            f"{self.target}; {converged}; {self.rows} rows, {self.rows_lost} lost, {self.rows_duplicated} duplicated"
        )


_RECORD = TypeAdapter(ChangeRecord)


def record_line(record: ChangeRecord) -> str:
    """Return a record as a line of JSON."""
    return _RECORD.dump_json(record).decode() + "\n"


def read_records(file: Path) -> tuple[ChangeRecord, ...]:
    """Read the records of a run; an incomplete last line is ignored.

    Raises
    ------
    InputError
        If another line is not a record.
    """
    lines = file.read_text("utf-8").splitlines(keepends=True) if file.exists() else []
    try:
        return tuple(_RECORD.validate_json(line) for line in lines if line.endswith("\n"))
    except ValidationError as error:
        raise InputError("chaos-record-invalid", source=str(file), cause=str(error)) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class ChaosVerdict:
    """The verdict on a run.

    Attributes
    ----------
    changes, removals: number of changes, and of replicas that they removed
    rows, rows_lost, rows_duplicated: over all parts
    not_converged: the numbers of the changes that timed out
    tallies: over all changes
    left: leftovers at the end: processes, namespaces, a device
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
        return not (bad or self.tallies.unsafe_removals or self.tallies.controller_exits)

    def summary(self) -> list[tuple[str, str]]:
        """Return pairs of a name and a value."""
        return [
            ("changes", str(self.changes)),
            ("replicas removed", str(self.removals)),
            ("rows committed", str(self.rows)),
            ("rows lost", str(self.rows_lost)),
            ("rows duplicated", str(self.rows_duplicated)),
            ("changes that did not converge", ", ".join(map(str, self.not_converged)) or "none"),
            ("replicas removed without valid metrics or map", str(self.tallies.unsafe_removals)),
            ("unexpected exits of the controller", str(self.tallies.controller_exits)),
            ("failed batches", str(self.tallies.failed_batches)),
            ("lost tasks", str(self.tallies.lost_tasks)),
            ("fetch failures", str(self.tallies.fetch_failures)),
            ("left behind", ", ".join(self.left) or "nothing"),
        ]


def judge(records: Sequence[ChangeRecord], left: Sequence[str] = ()) -> ChaosVerdict:
    """Return the verdict on all changes so far; `left` lists the leftovers at the end."""
    by_part: dict[int, list[ChangeRecord]] = {}
    for record in records:
        by_part.setdefault(record.part, []).append(record)
    parts = by_part.values()
    return ChaosVerdict(
        changes=len(records),
        removals=sum(record.removals for record in records),
        rows=sum(part[-1].rows for part in parts),  # rows count from the start of a part
        rows_lost=sum(max(each.rows_lost for each in part) for part in parts),
        rows_duplicated=sum(max(each.rows_duplicated for each in part) for part in parts),
        not_converged=tuple(record.number for record in records if record.converged_s is None),
        tallies=Tallies.total(record.tallies for record in records),
        left=tuple(left),
    )


def tables_of(title: str, records: Sequence[ChangeRecord], verdict: ChaosVerdict) -> list[ReportTable]:
    """Return the verdict, and the results of each injected fault, as tables."""
    headings = ("fault", "changes", "converged, median s", "longest s", "removals", "failed batches", "lost tasks")
    by_fault = {fault: [record for record in records if record.fault is fault] for fault in ChaosFault}
    rows = [_fault_row(fault, changes) for fault, changes in by_fault.items() if changes]
    return [ReportTable(title, ("figure", "value"), verdict.summary()), ReportTable("By fault", headings, rows)]


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
    """The results folder of a run."""

    folder: Path

    def claim(self, settings: Mapping[str, Any]) -> None:
        """Create the folder of a run, or resume a run with the same settings.

        Raises
        ------
        InputError
            If it cannot be written, or contains another run or other files.
        """
        claim_results_folder(self.folder, mark=SETTING)
        file = self.folder / SETTING
        text = json.dumps(settings, indent=2) + "\n"
        if file.exists() and (found := file.read_text()) != text:
            raise InputError("chaos-settings-differ", source=str(file), wanted=text, found=found)
        file.write_text(text)

    def records(self) -> tuple[ChangeRecord, ...]:
        """Return the records of completed changes."""
        return read_records(self.folder / CHANGES)

    def missing(self, plan: Sequence[PlannedChange]) -> list[PlannedChange]:
        """Return the changes of a plan that are not completed."""
        done = {record.number for record in self.records()}
        return [change for change in plan if change.number not in done]

    def next_part(self) -> int:
        """Return the number of the next run of the query."""
        return max((record.part for record in self.records()), default=-1) + 1

    def part(self, number: int) -> Path:
        """Return the folder of a run of the query."""
        return self.folder / "parts" / str(number)

    def add(self, record: ChangeRecord, progress: ProgressLog) -> None:
        """Store and print the record of a change."""
        with (self.folder / CHANGES).open("a") as file:
            file.write(record_line(record))
        progress.log(record.line())

    def report(self, title: str, left: Sequence[str]) -> ChaosVerdict:
        """Return the verdict on all changes, and write the report."""
        records = self.records()
        verdict = judge(records, left)
        tables = tables_of(f"Chaos: {len(records)} changes of {title}", records, verdict)
        (self.folder / REPORT).write_text("\n".join(each.markdown() for each in tables))
        return verdict
