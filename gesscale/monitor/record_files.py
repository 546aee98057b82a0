"""Files of a recorded run: batches.jsonl, decisions.jsonl and clusters.jsonl, with one JSON object per line.

An invalid line is skipped and reported; the rest of the record stays usable. Times, sizes and numbers of lines are
bounded.
"""

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError
from pydantic_core import from_json

from gesscale.common.errors import Problem, cause_of
from gesscale.errors import InputError
from gesscale.fields import EpochSeconds, format_duration
from gesscale.model.decision import Decision
from gesscale.model.document import as_document, codec, decision_document
from gesscale.model.observation import Batch
from gesscale.monitor.records import MAX_RUN_S, recorded_batch
from gesscale.ports import ClusterState
from gesscale.validation import first_problem

BATCHES, DECISIONS, CLUSTERS = "batches.jsonl", "decisions.jsonl", "clusters.jsonl"
SETTINGS, LATENCY_MAP = "gesscale.yaml", "latency.csv"

_MAX_STEPS = 100_000
_MAX_LINES, _MAX_INVALID_LINES = 500_000, 1000
_MAX_LINE_BYTES = 4 << 20

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedDecision:
    """A line of decisions.jsonl."""

    #: The decision; its reading has no batches.
    decision: Decision
    #: Number of batches that it was based on.
    batches_read: int
    #: The complete line.
    document: Mapping[str, Any]


def _decision_of(document: Any) -> RecordedDecision:
    """Parse a line of decisions.jsonl; raises ValueError if it is invalid."""
    decision = codec(Decision).validate_python(document)
    reading = document["analysis"].get("reading")
    return RecordedDecision(decision=decision, batches_read=reading["batches"] if reading else 0, document=document)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedCluster:
    """A line of clusters.jsonl: a state that lasts until the next line."""

    at_s: EpochSeconds
    state: ClusterState


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """A recorded run."""

    #: By operator, in the order in which they ended; not screened.
    batches: Mapping[str, tuple[Batch, ...]]
    #: In order of time.
    decisions: tuple[RecordedDecision, ...] = ()
    #: In order of time; empty if the decisions are all that is known of the cluster.
    clusters: tuple[RecordedCluster, ...] = ()
    #: One for each skipped line.
    problems: tuple[Problem, ...] = ()

    def instants_s(self, period_s: float) -> tuple[float, ...]:
        """Return the times of the steps: those of the decisions, else one per period from the first batch.

        Raises
        ------
        InputError
            If there are more than 100,000 periods.
        """
        if self.decisions:
            return tuple(sorted({each.decision.at_s for each in self.decisions}))
        ends = [batch.ended_at_s for listed in self.batches.values() for batch in listed]
        steps = int((max(ends) - min(ends)) // period_s)
        if steps > _MAX_STEPS:
            raise InputError(
                "record-periods-exceeded", max_periods=_MAX_STEPS, period=format_duration(period_s), got=steps
            )
        return tuple(min(ends) + period_s * step for step in range(steps + 1))


def settings_file(folder: Path) -> Path:
    """Return the settings file of a record.

    Raises
    ------
    InputError
        If the folder has none.
    """
    file = folder / SETTINGS
    if file.is_file():
        return file
    raise InputError("record-settings-missing", file=str(file))


def write_recording(folder: Path, decisions: Iterable[Decision], batches: Mapping[str, Sequence[Batch]]) -> None:
    """Write a record for `read_recording`: the decisions in order of time, and the batches of each operator."""
    write_lines(folder / DECISIONS, [decision_document(each) for each in sorted(decisions, key=attrgetter("at_s"))])
    write_lines(
        folder / BATCHES, [{"operator": name, **as_document(each)} for name, of in batches.items() for each in of]
    )


def write_lines(file: Path, items: Iterable[Mapping[str, Any]]) -> None:
    """Write one JSON object per line."""
    file.write_text("".join(json.dumps(item) + "\n" for item in items), "utf-8")


def read_recording(folder: Path, operators: Collection[str]) -> Recording:
    """Read the record of a run.

    Raises
    ------
    InputError
        If the folder or its batches are missing, no line is valid, the record belongs to another operator, or it spans
        more than 31 days.
    """
    file = folder / BATCHES
    batches, invalid_batches = _parse_lines(file, recorded_batch)
    if not batches and not invalid_batches:
        raise InputError("record-empty", source=str(file))
    if not batches:
        first = str(invalid_batches[0])
        raise InputError("record-without-batches", source=str(file), invalid_lines=len(invalid_batches), first=first)
    decisions, invalid_decisions = _parse_lines(folder / DECISIONS, _decision_of, optional=True)
    clusters, invalid_clusters = _parse_lines(folder / CLUSTERS, codec(RecordedCluster).validate_python, optional=True)
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
        clusters=tuple(sorted(clusters, key=attrgetter("at_s"))),
        problems=(*invalid_batches, *invalid_decisions, *invalid_clusters),
    )


def _check_names(recorded: Iterable[str | None], operators: Collection[str], folder: Path) -> None:
    known = list(operators)
    if unknown := sorted({name for name in recorded if name is not None} - {*operators}):
        raise InputError("record-operator-unknown", source=str(folder), operator=unknown[0], known=known)
    if None in recorded and len(operators) > 1:
        raise InputError("record-operator-missing", source=str(folder / BATCHES), known=known)


def _check_span(times_s: Collection[float], file: Path) -> None:
    first_s, last_s = min(times_s, default=0.0), max(times_s, default=0.0)
    if last_s - first_s > MAX_RUN_S:
        raise InputError(
            "record-too-long",
            source=str(file),
            limit=format_duration(MAX_RUN_S),
            first_s=str(first_s),
            last_s=str(last_s),
        )


def _parse_lines(file: Path, parse: Callable[[Any], T], *, optional: bool = False) -> tuple[list[T], list[Problem]]:
    """Return the parsed lines, and a problem for each invalid one."""
    found: list[T] = []
    problems: list[Problem] = []
    try:
        for number, line in enumerate(_lines(file), start=1):
            try:
                if line.strip():
                    found.append(parse(from_json(line)))
            except ValueError as error:
                cause = str(first_problem(error)) if isinstance(error, ValidationError) else str(error)
                fields = {"source": str(file), "place": f"line {number}", "cause": cause}
                problems.append(Problem("record-line-invalid", fields))
            if len(problems) > _MAX_INVALID_LINES:
                raise InputError(
                    "record-corrupt", source=str(file), max_invalid=_MAX_INVALID_LINES, first=str(problems[0])
                )
    except OSError as error:
        if optional and isinstance(error, FileNotFoundError):
            return [], []
        raise InputError("record-unreadable", source=str(file), cause=cause_of(error)) from error
    return found, problems


def _lines(file: Path) -> Iterator[bytes]:
    with file.open("rb") as stream:
        for number in range(1, _MAX_LINES + 2):
            line = stream.readline(_MAX_LINE_BYTES + 1)
            if not line:
                return
            if number > _MAX_LINES or len(line) > _MAX_LINE_BYTES:
                raise InputError(
                    "record-too-large",
                    source=str(file),
                    place=f"line {number}",
                    max_lines=_MAX_LINES,
                    max_line_bytes=_MAX_LINE_BYTES,
                )
            yield line.rstrip(b"\r\n")
