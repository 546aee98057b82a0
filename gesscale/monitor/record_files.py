"""The record of a live run as files: batches.jsonl and decisions.jsonl, a JSON object a line.

A line that is torn or corrupt is left out, counted and named; the rest of the record stays usable. Times, sizes and
numbers of lines are bounded.
"""

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError
from pydantic_core import from_json

from gesscale.errors import InputError
from gesscale.fields import format_duration
from gesscale.formatting import first_fault
from gesscale.model.decision import Decision
from gesscale.model.document import as_document, codec, decision_document
from gesscale.model.observation import Batch
from gesscale.monitor.records import LONGEST_RUN_S, recorded_batch

BATCHES, DECISIONS, SETTINGS = "batches.jsonl", "decisions.jsonl", "gesscale.yaml"

_MOST_STEPS = 100_000
_MOST_LINES, _MOST_TORN = 500_000, 1000
_MOST_LINE_BYTES = 4 << 20

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedDecision:
    """A line of decisions.jsonl."""

    #: What was decided; of its reading the batches are missing.
    decision: Decision
    #: From how many batches it was read.
    batches_read: int
    #: The whole line.
    document: Mapping[str, Any]


def _decision_of(document: Any) -> RecordedDecision:
    """Read a line of decisions; ValueError where it is none."""
    decision = codec(Decision).validate_python(document)
    reading = document["analysis"].get("reading")
    return RecordedDecision(decision=decision, batches_read=reading["batches"] if reading else 0, document=document)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """A recorded run."""

    #: By operator, in the order in which they ended; not screened.
    batches: Mapping[str, tuple[Batch, ...]]
    #: In order of time.
    decisions: tuple[RecordedDecision, ...] = ()
    #: One for each line that was left out: file, line, and what is wrong.
    faults: tuple[str, ...] = ()

    def instants_s(self, period_s: float) -> tuple[float, ...]:
        """Return when the loop stepped: at each decision; without any, once per period from the first batch on.

        Raises
        ------
        InputError
            When these are more than 100,000 periods.
        """
        if self.decisions:
            return tuple(sorted({each.decision.at_s for each in self.decisions}))
        ends = [batch.ended_at_s for listed in self.batches.values() for batch in listed]
        steps = int((max(ends) - min(ends)) // period_s)
        if steps > _MOST_STEPS:
            raise InputError(
                f"expected a record of at most {_MOST_STEPS} periods of {format_duration(period_s)}, got {steps}; "
                "choose a longer one by --set monitor.period=1h"
            )
        return tuple(min(ends) + period_s * step for step in range(steps + 1))


def settings_file(folder: Path, *, advice: str = "") -> Path:
    """Return the settings of a record.

    Raises
    ------
    InputError
        The folder holds none.
    """
    file = folder / SETTINGS
    if file.is_file():
        return file
    writer = "the demo or `gesscale arena record`"
    raise InputError(f"there is no {file}: expected a record, a folder as {writer} writes it{advice}")


def write_recording(folder: Path, decisions: Iterable[Decision], batches: Mapping[str, Sequence[Batch]]) -> None:
    """Write what `read_recording` reads: the decisions in the order of time, and the batches of each operator."""
    lines = {
        DECISIONS: [decision_document(each) for each in sorted(decisions, key=attrgetter("at_s"))],
        BATCHES: [{"operator": name, **as_document(each)} for name, of in batches.items() for each in of],
    }
    for name, items in lines.items():
        (folder / name).write_text("".join(json.dumps(item) + "\n" for item in items))


def read_recording(folder: Path, operators: Collection[str]) -> Recording:
    """Read the record of a run.

    Raises
    ------
    InputError
        When the folder or its batches are missing, nothing there can be used, it is another operator's, or spans more
        than 31 days.
    """
    file = folder / BATCHES
    batches, torn = _understood(file, recorded_batch)
    if not batches:
        raise InputError(f"{torn[0]}; no line holds a batch" if torn else f"{file}: expected a batch a line, got none")
    decisions, torn_decisions = _understood(folder / DECISIONS, _decision_of, optional=True)
    _check_names({name for name, _ in batches} | {each.decision.operator for each in decisions}, operators, folder)
    _check_span([batch.ended_at_s for _, batch in batches], file)
    _check_span([each.decision.at_s for each in decisions], folder / DECISIONS)
    (any_name, *_) = operators
    grouped: dict[str, list[Batch]] = {name: [] for name in operators}
    for name, batch in batches:
        grouped[name or any_name].append(batch)
    return Recording(
        batches={name: tuple(sorted(listed, key=attrgetter("ended_at_s"))) for name, listed in grouped.items()},
        decisions=tuple(sorted(decisions, key=attrgetter("decision.at_s"))),
        faults=(*torn, *torn_decisions),
    )


def _check_names(recorded: Iterable[str | None], operators: Collection[str], folder: Path) -> None:
    known = ", ".join(operators)
    if strangers := sorted({name for name in recorded if name is not None} - {*operators}):
        raise InputError(
            f"record {folder} is of operator {strangers[0]!r}, but the settings describe {known}; name the settings "
            "of that run by --config"
        )
    if None in recorded and len(operators) > 1:
        raise InputError(
            f"{folder / BATCHES}: the settings describe several operators ({known}), so each line needs the key "
            "operator; one has none"
        )


def _check_span(times_s: Collection[float], file: Path) -> None:
    first_s, last_s = min(times_s, default=0.0), max(times_s, default=0.0)
    if last_s - first_s > LONGEST_RUN_S:
        raise InputError(
            f"{file}: expected a run of at most {format_duration(LONGEST_RUN_S)}, got {first_s} to {last_s} s "
            "since the epoch; correct these, or cut the record"
        )


def _understood(file: Path, understand: Callable[[Any], T], *, optional: bool = False) -> tuple[list[T], list[str]]:
    """Return what each line says, and what is wrong with the lines that say nothing."""
    found: list[T] = []
    faults: list[str] = []
    try:
        for number, line in enumerate(_lines(file), start=1):
            try:
                if line.strip():
                    found.append(understand(from_json(line)))
            except ValidationError as error:
                faults.append(f"{file}, line {number}: {first_fault(error)}")
            except ValueError as error:
                faults.append(f"{file}, line {number}: {error}")
            if len(faults) > _MOST_TORN:
                raise InputError(
                    f"{file}: expected a record, got more than {_MOST_TORN} lines that are none; {faults[0]}"
                )
    except OSError as error:
        if optional and isinstance(error, FileNotFoundError):
            return [], []
        raise InputError(f"{file}: {error.strerror or error}; a record is a folder as the demo writes it") from error
    return found, faults


def _lines(file: Path) -> Iterator[bytes]:
    with file.open("rb") as stream:
        for number in range(1, _MOST_LINES + 2):
            line = stream.readline(_MOST_LINE_BYTES + 1)
            if not line:
                return
            if number > _MOST_LINES or len(line) > _MOST_LINE_BYTES:
                limits = f"{_MOST_LINES} lines of at most {_MOST_LINE_BYTES} bytes"
                raise InputError(f"{file}, line {number}: expected at most {limits}, got more; cut the record")
            yield line.rstrip(b"\r\n")
