"""What a new controller needs to go on where an old one died: exact, bounded, in the status of the resource."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from itertools import islice, zip_longest
from typing import Any, TypeVar

from pydantic import Field, ValidationError

from gesscale.common.text import truncated_repr
from gesscale.fields import MAX_EPOCH_S
from gesscale.kubernetes.resource.parts import Reported
from gesscale.ports import Knowledge
from gesscale.validation import first_problem
from gesscale.wire import MAX_REPLICAS
from perfmodel import ModelError, Reading

R = TypeVar("R", bound=Reported)

READINGS_AT_MOST = 20
#: A policy's memo beyond it is left out, so that no resource grows without bound; such a policy begins again.
MEMO_CHARACTERS_AT_MOST = 65_536


class ReadingStatus(Reported):
    """One reading of the performance model, as exact as it was taken."""

    replicas: int = Field(ge=1, le=64 * MAX_REPLICAS, description="Replicas.")
    nd_max_ms: float = Field(ge=0, description="NDmax of the placement, round trip, ms.")
    rows_per_s: float = Field(alias="rowsPerSecond", gt=0, description="Observed throughput.")
    saturated: bool = Field(description="Whether the operator worked at its limit, so that this was its MST.")
    batch_rows: float | None = Field(None, gt=0, description="Rows of the batch.")
    tasks: int | None = Field(None, ge=1, description="Tasks of the batch.")
    weight: float | None = Field(None, gt=0, description="Sum of the capacity weights of the replicas.")
    at_s: float = Field(
        alias="atSeconds", ge=0, le=MAX_EPOCH_S, description="When, seconds since the epoch, to the last bit."
    )

    def reading(self) -> Reading:
        """Return the very reading that this was made of."""
        return Reading(**self.model_dump())


class MemoryStatus(Reported):
    """The essence of what a controller knows of the operator."""

    readings: tuple[ReadingStatus, ...] = Field(
        (), max_length=READINGS_AT_MOST, description="Evidence for the performance model, newest first."
    )
    memo: str | None = Field(
        None,
        max_length=MEMO_CHARACTERS_AT_MOST,
        description="What the policy gets back in its next step, in words that only it reads.",
    )

    @classmethod
    def of(cls, known: Knowledge, operator: str) -> "MemoryStatus":
        """Return the essence of what is known of an operator."""
        readings = essence(known.readings.get(operator, ()))
        memo = known.memos.get(operator, "")
        return cls(
            memo=memo if 0 < len(memo) <= MEMO_CHARACTERS_AT_MOST else None,
            readings=tuple(ReadingStatus(**asdict(reading)) for reading in readings),
        )


def read_memory(said: object) -> tuple[MemoryStatus, tuple[str, ...]]:
    """Read what a status remembers, whoever wrote it there.

    Parameters
    ----------
    said
        ``status.memory`` as JSON; None where there is none.
    """
    if not isinstance(said, Mapping):
        return MemoryStatus(), () if said is None else (f"expected a group, got {truncated_repr(said)}",)
    faults: list[str] = []
    entries = said.get("readings") or ()
    if not isinstance(entries, list | tuple):
        faults.append(f"readings: expected a list, got {truncated_repr(entries)}")
        entries = ()
    readings = [_part(ReadingStatus, item, faults) for item in islice(entries, READINGS_AT_MOST)]
    sound = tuple(item for item in readings if item is not None)
    memo = _part(MemoryStatus, {"memo": said.get("memo")}, faults) or MemoryStatus()
    return MemoryStatus(readings=sound, memo=memo.memo), tuple(faults)


def _part(kind: type[R], said: Any, faults: list[str]) -> R | None:
    try:
        part = kind.model_validate(said)
        if isinstance(part, ReadingStatus):
            part.reading()  # says what a reading must be
    except (ValidationError, ModelError) as error:
        faults.append(str(first_problem(error)) if isinstance(error, ValidationError) else str(error))
        return None
    return part


def knowledge_of(memories: Mapping[str, MemoryStatus], latest_s: float = MAX_EPOCH_S) -> Knowledge:
    """Return what the statuses of a workflow's resources remember; a new store begins with it."""
    return Knowledge(
        readings={
            name: tuple(replace(each.reading(), at_s=min(each.at_s, latest_s)) for each in memory.readings)
            for name, memory in memories.items()
            if memory.readings
        },
        memos={name: memory.memo for name, memory in memories.items() if memory.memo is not None},
    )


def essence(readings: Iterable[Reading], limit: int = READINGS_AT_MOST) -> tuple[Reading, ...]:
    """Choose the readings that tell most of the model: of many placements, saturated first, the newest of each."""
    kinds: dict[tuple[bool, int, float], list[Reading]] = {}
    for reading in readings:
        kinds.setdefault((not reading.saturated, reading.replicas, reading.nd_max_ms), []).append(reading)
    chosen: list[Reading] = []
    for saturated in (True, False):
        columns = [kept for (unsaturated, *_), kept in kinds.items() if unsaturated is not saturated]
        turns = zip_longest(*columns)  # first the newest of each placement, then the second newest
        chosen += [reading for turn in turns for reading in turn if reading is not None]
    return tuple(sorted(chosen[:limit], key=lambda reading: -reading.at_s))
