"""What came of each change, and the verdict on all of them."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

from gesscale.errors import InputError
from testbed.chaos.plan import Fault


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeRecord:
    """A change as it went.

    Attributes
    ----------
    number, fault
        As planned.
    part
        The run of the query in which it was; a stopped command goes on in a new one.
    target
        What the fault struck: a node, or a process; empty where there was nothing to strike.
    before, placement
        Where the replicas were, and where they were ordered.
    at_s
        When it was ordered, seconds since the epoch.
    fault_s
        From the order to the end of the fault, seconds.
    converged_s
        From the end of the fault, or from the order where that is later, until the replicas were exactly on the ordered
        nodes and a batch was committed after that, seconds; None where that took too long.
    rows, rows_lost, rows_doubled
        Of this part so far: rows that the query has committed, those of them that the sink lacks, and those that are
        in it more than once.
    failed_batches, lost_tasks, fetch_failures
        During this change: batches that ended the query, tasks that Spark had to run again, and those of them whose
        data could not be fetched, by the driver's log.
    removed_on_doubt
        Replicas whose removal the loop ordered in a step without believable metrics, or with a stale map.
    controller_ended
        How often the controller ended without having been killed.
    """

    number: int
    part: int
    fault: Fault
    target: str
    before: tuple[str, ...]
    placement: tuple[str, ...]
    at_s: float
    fault_s: float
    converged_s: float | None
    rows: int
    rows_lost: int
    rows_doubled: int
    failed_batches: int = 0
    lost_tasks: int = 0
    fetch_failures: int = 0
    removed_on_doubt: int = 0
    controller_ended: int = 0

    @property
    def removals(self) -> int:
        """Nodes that had to give their replica up."""
        return len(set(self.before) - set(self.placement))

    def line(self) -> str:
        """Return the record as a line of JSON."""
        return json.dumps(asdict(self)) + "\n"


def read_records(file: Path) -> tuple[ChangeRecord, ...]:
    """Read the records of a run; a last line that was cut short is left out.

    Raises
    ------
    InputError
        Where another line is no record.
    """
    lines = file.read_text("utf-8").splitlines(keepends=True) if file.exists() else []
    try:
        return tuple(_record(json.loads(line)) for line in lines if line.endswith("\n"))
    except (ValueError, TypeError, KeyError) as error:
        message = f"{file}: expected a record of a change in each line, got something else: {error}"
        raise InputError(message) from error


def _record(document: Mapping[str, Any]) -> ChangeRecord:
    named = {"fault": Fault(document["fault"])}
    nodes = {name: tuple(document[name]) for name in ("before", "placement")}
    return ChangeRecord(**{**document, **named, **nodes})


@dataclass(frozen=True, slots=True, kw_only=True)
class ChaosVerdict:
    """What a run amounts to.

    Attributes
    ----------
    changes, removals
        How many there were.
    rows, rows_lost, rows_doubled
        Over all parts.
    not_converged
        The numbers of the changes that took too long.
    failed_batches, lost_tasks, fetch_failures, removed_on_doubt, controller_ended
        See `ChangeRecord`.
    left
        What was still there when all was taken down: processes, namespaces, a device.
    """

    changes: int
    removals: int
    rows: int
    rows_lost: int
    rows_doubled: int
    not_converged: tuple[int, ...]
    failed_batches: int
    lost_tasks: int
    fetch_failures: int
    removed_on_doubt: int
    controller_ended: int
    left: tuple[str, ...] = ()

    @property
    def kept(self) -> bool:
        """Whether no row was lost or doubled, all converged, nothing was removed on doubt, and nothing was left."""
        bad = self.rows_lost or self.rows_doubled or self.not_converged or self.removed_on_doubt
        return not (bad or self.left or self.controller_ended)


def judge(records: Sequence[ChangeRecord], left: Sequence[str] = ()) -> ChaosVerdict:
    """Judge a run.

    Parameters
    ----------
    records
        Of all its changes so far.
    left
        What was still there at the end.
    """
    parts = {
        record.part: record for record in records
    }  # rows count from the beginning of a part: the last one counts
    worst = {
        part: (max(each.rows_lost for each in of), max(each.rows_doubled for each in of))
        for part in parts
        if (of := [record for record in records if record.part == part])
    }
    return ChaosVerdict(
        changes=len(records),
        removals=sum(record.removals for record in records),
        rows=sum(record.rows for record in parts.values()),
        rows_lost=sum(lost for lost, _ in worst.values()),
        rows_doubled=sum(doubled for _, doubled in worst.values()),
        not_converged=tuple(record.number for record in records if record.converged_s is None),
        failed_batches=sum(record.failed_batches for record in records),
        lost_tasks=sum(record.lost_tasks for record in records),
        fetch_failures=sum(record.fetch_failures for record in records),
        removed_on_doubt=sum(record.removed_on_doubt for record in records),
        controller_ended=sum(record.controller_ended for record in records),
        left=tuple(left),
    )


FAULT_COLUMNS = (
    "fault",
    "changes",
    "converged, median s",
    "longest s",
    "removals",
    "failed batches",
    "lost tasks",
)


def by_fault(records: Iterable[ChangeRecord]) -> list[tuple[str, ...]]:
    """Return a row of `FAULT_COLUMNS` for each fault that there was."""
    rows: list[tuple[str, ...]] = []
    of_fault: dict[Fault, list[ChangeRecord]] = {}
    for record in records:
        of_fault.setdefault(record.fault, []).append(record)
    for fault in Fault:
        if not (those := of_fault.get(fault)):
            continue
        times_s = [each.converged_s for each in those if each.converged_s is not None]
        late = len(those) - len(times_s)
        rows.append(
            (
                fault.value,
                str(len(those)),
                f"{median(times_s):.1f}" if times_s else "–",
                f"{max(times_s):.1f}" if times_s and not late else f"{late} not in time",
                str(sum(each.removals for each in those)),
                str(sum(each.failed_batches for each in those)),
                str(sum(each.lost_tasks for each in those)),
            )
        )
    return rows


def summary(verdict: ChaosVerdict) -> list[tuple[str, str]]:
    """Return the verdict as pairs of a word and a figure."""
    late = ", ".join(map(str, verdict.not_converged)) or "none"
    return [
        ("changes", str(verdict.changes)),
        ("removals of a replica", str(verdict.removals)),
        ("rows committed", str(verdict.rows)),
        ("rows lost", str(verdict.rows_lost)),
        ("rows doubled", str(verdict.rows_doubled)),
        ("changes that did not converge", late),
        ("replicas removed on doubt", str(verdict.removed_on_doubt)),
        ("controller ended by itself", str(verdict.controller_ended)),
        ("failed batches", str(verdict.failed_batches)),
        ("lost tasks", str(verdict.lost_tasks)),
        ("fetch failures", str(verdict.fetch_failures)),
        ("left behind", ", ".join(verdict.left) or "nothing"),
    ]


def markdown(title: str, records: Sequence[ChangeRecord], verdict: ChaosVerdict) -> str:
    """Return the report."""
    lines = [f"# {title}", "", "| what | figure |", "|---|---|"]
    lines += [f"| {name} | {figure} |" for name, figure in summary(verdict)]
    lines += ["", "| " + " | ".join(FAULT_COLUMNS) + " |", "|---|" + "---:|" * (len(FAULT_COLUMNS) - 1)]
    lines += ["| " + " | ".join(row) + " |" for row in by_fault(records)]
    return "\n".join(lines) + "\n"
