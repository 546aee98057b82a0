"""Batch records as the listener in a Spark driver serves them: validated here, `Batch` from here on."""

import math
from collections.abc import Iterable, Mapping
from typing import Annotated, Literal, NamedTuple

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    FiniteFloat,
    JsonValue,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)

from gesscale.errors import MetricsUnavailableError
from gesscale.monitor.by_node import NodeWork
from gesscale.monitor.source import nodes_of
from gesscale.observation import Batch
from gesscale.words import place_of
from latency_map.errors import glimpse


def _none_if_nan(value: object) -> object:
    return None if isinstance(value, float) and math.isnan(value) else value


_Reported = Annotated[float | None, BeforeValidator(_none_if_nan)]
"""A figure that a source may not tell; NaN says the same as null."""


_LARGEST = 2**63 - 1
_MOST_BATCHES = 1024
_MOST_VALUES = 200_000
"""Values of one answer: 512 batches on 50 replicas have 140,000. Each may take a hundred times its text in memory."""
_ReportedRows = Annotated[Annotated[int, Field(le=_LARGEST)] | None, BeforeValidator(_none_if_nan)]


class BatchFigures(BaseModel):
    """One finished micro-batch without its nodes; units and meaning as in `gesscale.observation.Batch`."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    batch_id: int = Field(ge=0, le=_LARGEST)
    ended_at_s: FiniteFloat
    rows: int = Field(ge=0, le=_LARGEST)
    seconds: FiniteFloat
    trigger_s: _Reported = None
    cap_rows: _ReportedRows = None
    offered_rows_total: _Reported = None
    backlog_rows: _Reported = None
    output_rows: _ReportedRows = None


class ReportedHostWork(BaseModel):
    """What the replica on a host did in a batch; units and meaning as in `gesscale.monitor.by_node.NodeWork`."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    rows: Annotated[FiniteFloat, Field(ge=0)]
    busy_s: Annotated[FiniteFloat, Field(ge=0)]


def _none_if_wrong(value: object, read: ValidatorFunctionWrapHandler) -> object:
    try:
        return read(value)
    except ValidationError:
        return None


class ReportedBatch(BatchFigures):
    """One finished micro-batch as served: its nodes are told by the addresses of their executors."""

    hosts: tuple[str, ...]
    by_host: Annotated[Mapping[str, ReportedHostWork] | None, WrapValidator(_none_if_wrong)] = None


class BatchesDocument(BaseModel):
    """The answer of a driver's ``/batches``; its records are validated one by one."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    api_version: Literal["gesscale.dev/v1"] = Field(alias="apiVersion")
    operator: str
    now_s: FiniteFloat
    last_progress_at_s: _Reported = None
    batches: Annotated[tuple[JsonValue, ...], Field(max_length=_MOST_BATCHES)]


_NAMES = {
    field.alias or name
    for model in (BatchesDocument, ReportedBatch, ReportedHostWork)
    for name, field in model.model_fields.items()
}
"""Ours; the other names of a document are the sender's."""


def parse_document(body: bytes, operator: str) -> BatchesDocument:
    """Read a driver's answer.

    Parameters
    ----------
    body
        What came.
    operator
        Whose driver was asked.

    Returns
    -------
    BatchesDocument
        Its head is valid; the records are not looked at yet.

    Raises
    ------
    MetricsUnavailableError
        Where it is not such a document, or another operator's.
    """
    # What came is not repeated: whoever names the address must not read other pages by its errors.
    asked = f"asked for the batches of operator {operator!r}"
    if sum(map(body.count, (b",", b"[", b"{"))) > _MOST_VALUES:
        message = (
            f"{asked}, but the answer has more than {_MOST_VALUES} values; is its listener a gesscale one?"
        )
        raise MetricsUnavailableError(message)
    try:
        document = BatchesDocument.model_validate_json(body)
    except ValidationError as error:
        message = (
            f"{asked}, but the answer of {len(body)} bytes is no document of gesscale.dev/v1: "
            f"{_first_fault_of_answer(error)}; "
            "is this the port of the operator's gesscale listener?"
        )
        raise MetricsUnavailableError(message) from None
    if document.operator != operator:
        message = (
            f"{asked}, but the driver of another operator answered; "
            "compare the address with the port given to gesscale.spark.attach"
        )
        raise MetricsUnavailableError(message)
    return document


class ParsedBatches(NamedTuple):
    """What records tell.

    Attributes
    ----------
    batches
        As they came.
    faults
        One for each record that was left out.
    work
        What each replica did, by the instant at which a batch ended, by node; without batches that do not tell.
    """

    batches: list[Batch]
    faults: list[str]
    work: Mapping[float, Mapping[str, NodeWork]]


def to_batches(records: Iterable[object], hosts: Mapping[str, str], *, ahead_s: float = 0.0) -> ParsedBatches:
    """Turn records into batches, leaving out those that are not records.

    Parameters
    ----------
    records
        Parsed JSON objects or mappings with the fields of `ReportedBatch`.
    hosts
        Node names by host address.
    ahead_s
        How far the clock of the records is ahead of the scaler's, seconds.

    Returns
    -------
    ParsedBatches
        The batches, what replicas did in them, and a complaint for each record left out.
    """
    batches: list[Batch] = []
    faults: list[str] = []
    work: dict[float, Mapping[str, NodeWork]] = {}
    for position, candidate in enumerate(records):
        try:
            record = ReportedBatch.model_validate(candidate)
        except ValidationError as error:
            faults.append(f"record {position} is dropped: {_first_fault_of_answer(error)}")
            continue
        fields = record.model_dump(exclude={"hosts", "by_host", "ended_at_s"})
        ended_at_s = record.ended_at_s - ahead_s
        batches.append(Batch(**fields, ended_at_s=ended_at_s, nodes=nodes_of(record.hosts, hosts)))
        if record.by_host is not None:
            work[ended_at_s] = _work_by_node(record.by_host, hosts)
    return ParsedBatches(batches, faults, work)


def _work_by_node(
    by_host: Mapping[str, ReportedHostWork], names: Mapping[str, str]
) -> Mapping[str, NodeWork]:
    found: dict[str, NodeWork] = {}
    for host, each in by_host.items():
        (node,) = nodes_of([host], names)
        also = found.get(node, NodeWork(rows=0.0, busy_s=0.0))
        found[node] = NodeWork(rows=also.rows + each.rows, busy_s=also.busy_s + each.busy_s)
    return found


def first_fault(error: ValidationError) -> str:
    """Return the first of the faults in words: where it is, what is wrong, what came instead."""
    fault = error.errors(include_url=False, include_context=False)[0]
    place = place_of(fault["loc"])
    given = f", got {glimpse(fault['input'])}" if place else ""
    return f"{place + ': ' if place else ''}{fault['msg']}{given}"


def _first_fault_of_answer(error: ValidationError) -> str:
    """Return the first of the faults without a word of the answer: where it is, what is wrong."""
    fault = error.errors(include_url=False, include_context=False, include_input=False)[0]
    place = ".".join(str(part) for part in fault["loc"] if isinstance(part, int) or part in _NAMES)
    wrong = "expected JSON" if fault["type"] == "json_invalid" else fault["msg"]
    return f"{place}: {wrong}" if place else wrong
