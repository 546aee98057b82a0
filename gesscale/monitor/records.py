"""Validation of batch records, as a Spark driver serves them and as a recorded run stores them."""

import math
from collections.abc import Iterable, Mapping, Sequence
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
from gesscale.common.errors import InvalidValueError, Problem
from gesscale.errors import MetricsUnavailableError
from gesscale.fields import MIN_DURATION_S, EpochSeconds
from gesscale.model.observation import MAX_FIGURE, Batch
from gesscale.monitor.source import nodes_of
from gesscale.validation import expectation


def _none_if_nan(value: object) -> object:
    return None if isinstance(value, float) and math.isnan(value) else value


def _none_if_invalid(value: object, read: ValidatorFunctionWrapHandler) -> object:
    try:
        return read(value)
    except ValidationError:
        return None


#: Longest recorded run; in a longer one, a time must be wrong.
MAX_RUN_S = 31 * 86400.0
_LARGEST = 2**63 - 1
_MAX_BATCHES = 1024
#: Most values of one response: 512 batches on 50 replicas have 140,000. Parsed, a value may take a hundred times
#: the memory of its text.
_MAX_VALUES = 200_000
#: How a figure of a batch is read, by its type. NaN means null: the source does not report it.
_FIGURES: Mapping[object, object] = {
    int: Annotated[int, Field(ge=0, le=_LARGEST)],
    float: FiniteFloat,
    int | None: Annotated[Annotated[int, Field(le=_LARGEST)] | None, BeforeValidator(_none_if_nan)],
    float | None: Annotated[float | None, BeforeValidator(_none_if_nan)],
    Mapping[str, float] | None: Annotated[Mapping[str, float] | None, WrapValidator(_none_if_invalid)],
}


class _Document(BaseModel):
    """Base of served and recorded documents; ignores unknown fields."""

    model_config = ConfigDict(extra="ignore", frozen=True)


def batch_form(name: str, base: type[BaseModel], **exceptions: object) -> type[Any]:
    """Create a model with the figures of a batch and the fields of a base model."""
    read = {**_FIGURES, float | None: exceptions.pop("optional", _FIGURES[float | None])}
    figures: dict[str, Any] = {
        each.name: (exceptions.get(each.name, read[each.type]), ... if each.default is MISSING else each.default)
        for each in fields(BatchFigures)
    }
    return create_model(name, __base__=base, **figures)


def _check_work(by_host: Mapping[str, HostWork] | None) -> Mapping[str, HostWork] | None:
    for work in (by_host or {}).values():
        figures = (getattr(work, name) for name in figures_of(HostWork))
        if not all(figure is None or 0 <= figure < math.inf for figure in figures):
            raise ValueError("expected finite figures >= 0")
    return by_host


class _OnHosts(_Document):
    """Placement of a served batch: hosts are addresses of executors."""

    hosts: tuple[str, ...]
    by_host: Annotated[Mapping[str, HostWork] | None, AfterValidator(_check_work), WrapValidator(_none_if_invalid)] = (
        None
    )


class _OnNodes(_Document):
    nodes: tuple[str, ...]
    operator: str | None = None


#: The fields of a record of ``/batches`` that Monitor reads.
ServedRecord = batch_form("ServedRecord", _OnHosts)


def _within(least: float, most: float) -> Any:
    """Return the type of an optional number within bounds; screening handles values <= 0."""

    def check(value: float | None) -> float | None:
        if value is not None and (least > value > 0 or value > most):
            raise InvalidValueError("number-out-of-range", min=least, max=most, got=value)
        return value

    return Annotated[float | None, AfterValidator(check), BeforeValidator(_none_if_nan)]


_BatchLine = batch_form(
    "_BatchLine",
    _OnNodes,
    optional=_within(0.0, MAX_FIGURE),
    ended_at_s=EpochSeconds,
    seconds=Annotated[float, Field(le=MAX_RUN_S)],
    trigger_s=_within(MIN_DURATION_S, MAX_RUN_S),
)


def recorded_batch(document: object) -> tuple[str | None, Batch]:
    """Return the operator that a line of a record names, if any, and the batch.

    Raises
    ------
    ValueError
        If the line is invalid.
    """
    figures = {**vars(_BatchLine.model_validate(document))}
    operator, nodes = figures.pop("operator"), figures.pop("nodes")
    return operator, Batch(**figures, nodes=tuple(sorted(set(nodes))))


class ServedQuery(_Document):
    """A query of an application."""

    query: str
    active: bool


class BatchesDocument(_Document):
    """Response of a driver's ``/batches``; its records are validated separately."""

    api_version: Literal["gesscale.dev/v1"] = Field(alias="apiVersion")
    operator: str
    #: Name of the query that the batches are of; None before the first one, or if it is unknown.
    query: str | None = None
    #: Whether it runs.
    active: bool = True
    #: All queries of the application.
    queries: tuple[ServedQuery, ...] = ()
    #: Why the API server refuses further executors; empty if it does not.
    executor_refusal: str = ""
    now_s: FiniteFloat
    last_progress_at_s: Annotated[float | None, BeforeValidator(_none_if_nan)] = None
    running_since_s: Annotated[float | None, BeforeValidator(_none_if_nan)] = None
    batches: Annotated[tuple[JsonValue, ...], Field(max_length=_MAX_BATCHES)]

    @property
    def running_s(self) -> float | None:
        """How long a batch has been running; None if none is, or it is unknown."""
        since_s = self.running_since_s
        return self.now_s - since_s if since_s is not None and math.isfinite(since_s) else None


#: Known field names; an error message never repeats other names of a response.
_NAMES = {
    *(each.alias or name for name, each in BatchesDocument.model_fields.items()),
    *ServedRecord.model_fields,
    *figures_of(HostWork),
}


def parse_document(body: bytes, operator: str) -> BatchesDocument:
    """Parse the response of a driver.

    Raises
    ------
    MetricsUnavailableError
        If it is not such a document, or that of another operator.
    """
    # Errors never repeat the response: otherwise one could read internal pages through the error messages (SSRF).
    if sum(map(body.count, (b",", b"[", b"{"))) > _MAX_VALUES:
        raise MetricsUnavailableError("batches-response-oversized", operator=operator, max_values=_MAX_VALUES)
    try:
        document = BatchesDocument.model_validate_json(body)
    except ValidationError as error:
        key, cause = _first_fault(error)
        raise MetricsUnavailableError(
            "batches-response-invalid", operator=operator, bytes=len(body), key=key, cause=cause
        ) from None
    if document.operator != operator:
        raise MetricsUnavailableError("batches-operator-differs", operator=operator)
    return document


def query_problem(document: BatchesDocument) -> Problem | None:
    """Return why the batches of a page must not be judged: its query does not run, or is one of several."""
    running = [each.query for each in document.queries if each.active]
    if running.count(document.query) > 1 if document.query else len(running) > 1:
        return Problem("queries-several", {"queries": sorted(running)})
    if document.query is None or document.active:
        return None
    if document.batches or any(each.query == document.query for each in document.queries):
        return Problem("query-ended", {"query": document.query})
    return Problem("query-not-found", {"query": document.query, "queries": sorted(running)})


class ParsedBatches(NamedTuple):
    """Parsed records."""

    #: In the order of the records.
    batches: list[Batch]
    #: One for each invalid record.
    problems: list[Problem]
    #: Work of each replica by end of the batch and node; only batches that report it.
    work: Mapping[float, Mapping[str, HostWork]]


def to_batches(records: Iterable[object], hosts: Mapping[str, str], *, ahead_s: float = 0.0) -> ParsedBatches:
    """Convert records to batches; invalid records become problems.

    Parameters
    ----------
    ahead_s
        How far the clock of the records is ahead of the scaler's, seconds.
    """
    batches: list[Batch] = []
    problems: list[Problem] = []
    work: dict[float, Mapping[str, HostWork]] = {}
    for position, candidate in enumerate(records):
        try:
            record = ServedRecord.model_validate(candidate)
        except ValidationError as error:
            key, cause = _first_fault(error)
            problems.append(Problem("batch-record-invalid", {"record": position, "key": key, "cause": cause}))
            continue
        figures = {**vars(record)}  # `model_dump` took a fifth of the parsing time
        nodes, by_host = nodes_of(figures.pop("hosts"), hosts), figures.pop("by_host")
        figures["ended_at_s"] -= ahead_s
        workers = None
        if by_host is not None:
            done = work[figures["ended_at_s"]] = _work_by_node(by_host, hosts)
            workers = tuple(sorted(node for node, each in done.items() if each.busy_s > 0 or each.rows > 0))
        batches.append(Batch(**figures, nodes=nodes, workers=workers))
    return ParsedBatches(batches, problems, work)


def _work_by_node(by_host: Mapping[str, HostWork], names: Mapping[str, str]) -> Mapping[str, HostWork]:
    on: dict[str, list[HostWork]] = {}
    for host, each in by_host.items():
        (node,) = nodes_of([host], names)
        on.setdefault(node, []).append(each)
    return {node: _sum(listed) for node, listed in on.items()}


def _sum(listed: Sequence[HostWork]) -> HostWork:
    cpu_s = [each.cpu_s for each in listed if each.cpu_s is not None]
    parts = [each.state_partitions for each in listed if each.state_partitions is not None]
    return HostWork(
        rows=sum(each.rows for each in listed),
        busy_s=sum(each.busy_s for each in listed),
        cpu_s=sum(cpu_s) if len(cpu_s) == len(listed) else None,
        state_partitions=sum(parts) if parts else None,
    )


def _first_fault(error: ValidationError) -> tuple[str, str]:
    """Return the key and the cause of the first fault, without any text of the response."""
    fault = error.errors(include_url=False, include_context=False, include_input=False)[0]
    key = ".".join(str(part) for part in fault["loc"] if isinstance(part, int) or part in _NAMES)
    expected = f"expected {expectation(fault)}"
    return key, f"{key}: {expected}" if key else expected
