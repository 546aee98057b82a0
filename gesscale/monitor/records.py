"""Batches as the listener in a Spark driver serves them, and as a record holds them: validated here, then a `Batch`."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    FiniteFloat,
    JsonValue,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    create_model,
)

from gesscale.batch_record import BatchFigures, HostWork, figures_of
from gesscale.errors import MetricsUnavailableError
from gesscale.fields import MIN_DURATION_S, EpochSeconds
from gesscale.formatting import describe_fault
from gesscale.model.observation import LARGEST, Batch
from gesscale.monitor.source import nodes_of


def _none_if_nan(value: object) -> object:
    return None if isinstance(value, float) and math.isnan(value) else value


#: From the first to the last of what a record tells; in one that tells of more, some time is wrong.
LONGEST_RUN_S = 31 * 86400.0
_LARGEST = 2**63 - 1
_MOST_BATCHES = 1024
#: Values of one answer: 512 batches on 50 replicas have 140,000. Each may take a hundred times its text in
#: memory.
_MOST_VALUES = 200_000
#: How a figure of a batch is read, by its type. NaN says the same as null: the source does not tell.
_FIGURES: Mapping[object, object] = {
    int: Annotated[int, Field(ge=0, le=_LARGEST)],
    float: FiniteFloat,
    int | None: Annotated[Annotated[int, Field(le=_LARGEST)] | None, BeforeValidator(_none_if_nan)],
    float | None: Annotated[float | None, BeforeValidator(_none_if_nan)],
}


class _Part(BaseModel):
    """A part of what others serve or record: its unknown fields are left out."""

    model_config = ConfigDict(extra="ignore", frozen=True)


def batch_form(name: str, base: type[BaseModel], **exceptions: object) -> type[Any]:
    """Return a model that reads the figures of a batch, next to the fields of its base."""
    read = {**_FIGURES, float | None: exceptions.pop("optional", _FIGURES[float | None])}
    figures: dict[str, Any] = {
        each.name: (exceptions.get(each.name, read[each.type]), ... if each.default is MISSING else each.default)
        for each in fields(BatchFigures)
    }
    return create_model(name, __base__=base, **figures)


def _check_work(by_host: Mapping[str, HostWork] | None) -> Mapping[str, HostWork] | None:
    for work in (by_host or {}).values():
        told = (getattr(work, name) for name in figures_of(HostWork))
        if not all(figure is None or 0 <= figure < math.inf for figure in told):
            raise ValueError("expected finite figures >= 0")
    return by_host


def _none_if_wrong(value: object, read: ValidatorFunctionWrapHandler) -> object:
    try:
        return read(value)
    except ValidationError:
        return None


class _OnHosts(_Part):
    """Where a batch was, as served: its nodes are known by the addresses of their executors."""

    hosts: tuple[str, ...]
    by_host: Annotated[Mapping[str, HostWork] | None, AfterValidator(_check_work), WrapValidator(_none_if_wrong)] = None


class _OnNodes(_Part):
    nodes: tuple[str, ...]
    operator: str | None = None


#: A record of ``/batches`` as far as Monitor reads it.
ServedRecord = batch_form("ServedRecord", _OnHosts)


def _within(least: float, most: float) -> Any:
    def check(value: float | None) -> float | None:
        if value is not None and (least > value > 0 or value > most):  # what is not above 0 the screening judges
            raise ValueError(f"expected {least:g} to {most:g}")
        return value

    return Annotated[float | None, AfterValidator(check), BeforeValidator(_none_if_nan)]


_BatchLine = batch_form(
    "_BatchLine",
    _OnNodes,
    optional=_within(0.0, LARGEST),
    ended_at_s=EpochSeconds,
    seconds=Annotated[float, Field(le=LONGEST_RUN_S)],
    trigger_s=_within(MIN_DURATION_S, LONGEST_RUN_S),
)


def recorded_batch(document: object) -> tuple[str | None, Batch]:
    """Return the operator that a line of a record names, if any, and the batch.

    Raises
    ------
    ValueError
        It is no such line.
    """
    figures = {**vars(_BatchLine.model_validate(document))}
    operator, nodes = figures.pop("operator"), figures.pop("nodes")
    return operator, Batch(**figures, nodes=tuple(sorted(set(nodes))))


class BatchesDocument(_Part):
    """The answer of a driver's ``/batches``; its records are validated one by one."""

    api_version: Literal["gesscale.dev/v1"] = Field(alias="apiVersion")
    operator: str
    now_s: FiniteFloat
    last_progress_at_s: Annotated[float | None, BeforeValidator(_none_if_nan)] = None
    batches: Annotated[tuple[JsonValue, ...], Field(max_length=_MOST_BATCHES)]


#: Ours; the other names of a document are the sender's.
_NAMES = {
    *(each.alias or name for name, each in BatchesDocument.model_fields.items()),
    *ServedRecord.model_fields,
    *figures_of(HostWork),
}


def parse_document(body: bytes, operator: str) -> BatchesDocument:
    """Read a driver's answer.

    Raises
    ------
    MetricsUnavailableError
        Where it is not such a document, or another operator's.
    """
    # What came is not repeated: whoever names the address must not read other pages by its errors.
    asked = f"asked for the batches of operator {operator!r}"
    if sum(map(body.count, (b",", b"[", b"{"))) > _MOST_VALUES:
        raise MetricsUnavailableError(
            f"{asked}, but the answer has more than {_MOST_VALUES} values; is its listener a gesscale one?"
        )
    try:
        document = BatchesDocument.model_validate_json(body)
    except ValidationError as error:
        raise MetricsUnavailableError(
            f"{asked}, but the answer of {len(body)} bytes is no document of gesscale.dev/v1: "
            f"{_first_fault_of_answer(error)}; "
            "is this the port of the operator's gesscale listener?"
        ) from None
    if document.operator != operator:
        raise MetricsUnavailableError(
            f"{asked}, but the driver of another operator answered; "
            "compare the address with the port given to gesscale.spark.attach"
        )
    return document


class ParsedBatches(NamedTuple):
    """What records tell."""

    #: As they came.
    batches: list[Batch]
    #: One for each record that was left out.
    faults: list[str]
    #: What each replica did, by the instant at which a batch ended, by node; without batches that do not
    #: tell.
    work: Mapping[float, Mapping[str, HostWork]]


def to_batches(records: Iterable[object], hosts: Mapping[str, str], *, ahead_s: float = 0.0) -> ParsedBatches:
    """Turn records into batches, leaving out those that are not records.

    Parameters
    ----------
    ahead_s
        How far the clock of the records is ahead of the scaler's, seconds.
    """
    batches: list[Batch] = []
    faults: list[str] = []
    work: dict[float, Mapping[str, HostWork]] = {}
    for position, candidate in enumerate(records):
        try:
            record = ServedRecord.model_validate(candidate)
        except ValidationError as error:
            faults.append(f"record {position} is dropped: {_first_fault_of_answer(error)}")
            continue
        figures = {**vars(record)}  # `model_dump` was a fifth of the time to read an answer
        nodes, by_host = nodes_of(figures.pop("hosts"), hosts), figures.pop("by_host")
        figures["ended_at_s"] -= ahead_s
        batches.append(Batch(**figures, nodes=nodes))
        if by_host is not None:
            work[figures["ended_at_s"]] = _work_by_node(by_host, hosts)
    return ParsedBatches(batches, faults, work)


def _work_by_node(by_host: Mapping[str, HostWork], names: Mapping[str, str]) -> Mapping[str, HostWork]:
    found: dict[str, HostWork] = {}
    for host, each in by_host.items():
        (node,) = nodes_of([host], names)
        also = found.get(node, HostWork(rows=0.0, busy_s=0.0))
        parts = [part for part in (also.state_partitions, each.state_partitions) if part is not None]
        found[node] = HostWork(
            rows=also.rows + each.rows, busy_s=also.busy_s + each.busy_s, state_partitions=sum(parts) if parts else None
        )
    return found


def _first_fault_of_answer(error: ValidationError) -> str:
    """Return the first of the faults without a word of the answer: where it is, what is wrong."""
    fault = error.errors(include_url=False, include_context=False, include_input=False)[0]
    place = ".".join(str(part) for part in fault["loc"] if isinstance(part, int) or part in _NAMES)
    wrong = "expected JSON" if fault["type"] == "json_invalid" else describe_fault(fault)
    return f"{place}: {wrong}" if place else wrong
