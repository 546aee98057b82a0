"""Memory: what a new controller needs to continue after another one, stored in the resource's status, bounded."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from itertools import islice, zip_longest
from typing import Any, TypeVar

from pydantic import Field, ValidationError

from gesscale.common.errors import Problem
from gesscale.fields import MAX_EPOCH_S
from gesscale.kubernetes.resource.parts import Reported
from gesscale.ports import Knowledge
from gesscale.validation import first_problem
from gesscale.wire import MAX_REPLICAS
from perfmodel import ModelError, Reading

R = TypeVar("R", bound=Reported)

MAX_READINGS = 20
#: A longer memo of a policy is not stored, so that resources stay small; the policy then starts without one.
MAX_MEMO_CHARS = 65_536


class ReadingStatus(Reported):
    """One reading of the performance model, in full precision."""

    replicas: int = Field(ge=1, le=64 * MAX_REPLICAS, description="Replicas.")
    nd_max_ms: float = Field(ge=0, description="NDmax of the placement, round trip, ms.")
    rows_per_s: float = Field(alias="rowsPerSecond", gt=0, description="Observed throughput.")
    batch_rows: float | None = Field(None, gt=0, description="Rows of the batch.")
    weight: float | None = Field(None, gt=0, description="Sum of the capacity weights of the replicas.")
    at_s: float = Field(
        alias="atSeconds", ge=0, le=MAX_EPOCH_S, description="When, seconds since the epoch, in full precision."
    )

    def reading(self) -> Reading:
        """Return the original reading."""
        return Reading(**self.model_dump())


class MemoryStatus(Reported):
    """The knowledge of an operator that a new controller needs."""

    readings: tuple[ReadingStatus, ...] = Field(
        (), max_length=MAX_READINGS, description="Evidence for the performance model, newest first."
    )
    memo: str | None = Field(
        None, max_length=MAX_MEMO_CHARS, description="Memo of the policy for its next step, in the policy's format."
    )

    @classmethod
    def of(cls, known: Knowledge, operator: str) -> "MemoryStatus":
        """Return the memory of an operator."""
        readings = most_informative(known.readings.get(operator, ()))
        memo = known.memos.get(operator, "")
        return cls(
            memo=memo if 0 < len(memo) <= MAX_MEMO_CHARS else None,
            readings=tuple(ReadingStatus(**asdict(reading)) for reading in readings),
        )


def read_memory(value: object) -> tuple[MemoryStatus, tuple[Problem, ...]]:
    """Read the memory in a status, and the problems of its invalid entries, which are ignored.

    Parameters
    ----------
    value
        ``status.memory`` as JSON; None without one.
    """
    if not isinstance(value, Mapping):
        return MemoryStatus(), () if value is None else (_invalid("", "a mapping", value),)
    problems: list[Problem] = []
    entries = value.get("readings") or ()
    if not isinstance(entries, list | tuple):
        problems.append(_invalid("readings", "a list", entries))
        entries = ()
    readings = [_entry(ReadingStatus, item, problems) for item in islice(entries, MAX_READINGS)]
    memo = _entry(MemoryStatus, {"memo": value.get("memo")}, problems) or MemoryStatus()
    valid = tuple(item for item in readings if item is not None)
    return MemoryStatus(readings=valid, memo=memo.memo), tuple(problems)


def _entry(kind: type[R], value: Any, problems: list[Problem]) -> R | None:
    try:
        entry = kind.model_validate(value)
        if isinstance(entry, ReadingStatus):
            entry.reading()  # validates the reading
    except ValidationError as error:
        problems.append(first_problem(error))
    except ModelError as error:
        problems.append(error.problem)
    else:
        return entry
    return None


def _invalid(place: str, expected: str, got: object) -> Problem:
    return Problem("field-invalid", {"place": place, "expected": expected, "got": got})


def knowledge_of(memories: Mapping[str, MemoryStatus], latest_s: float = MAX_EPOCH_S) -> Knowledge:
    """Return the knowledge in the memories of a workflow's resources, with which a new store begins."""
    return Knowledge(
        readings={
            name: tuple(replace(each.reading(), at_s=min(each.at_s, latest_s)) for each in memory.readings)
            for name, memory in memories.items()
            if memory.readings
        },
        memos={name: memory.memo for name, memory in memories.items() if memory.memo is not None},
    )


def most_informative(readings: Iterable[Reading], limit: int = MAX_READINGS) -> tuple[Reading, ...]:
    """Choose the most informative readings: of many placements, the newest of each."""
    kinds: dict[tuple[int, float], list[Reading]] = {}
    for reading in readings:
        kinds.setdefault((reading.replicas, reading.nd_max_ms), []).append(reading)
    turns = zip_longest(*kinds.values())  # first the newest of each placement, then the second newest
    chosen = [reading for turn in turns for reading in turn if reading is not None]
    return tuple(sorted(chosen[:limit], key=lambda reading: -reading.at_s))
