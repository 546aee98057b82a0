"""Offered rows and backlog of a query's sources, computed from their offsets. Pure.

A table of known sources, recognised by the shape of their offsets and their description, converts offsets to rows. It
was recorded on PySpark 4.3.0 (docs/reference/spark_sources.md).
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gesscale.common.errors import Problem

#: Converts the JSON text of an offset to a number of rows; None if it has none.
OffsetRows = Callable[[str], float | None]

_NO_OFFSET = ("", "null", "None")  # Spark's null reaches Python as the text "None"
_RATE = re.compile(r"RateStreamV2\[rowsPerSecond=(\d+), rampUpTimeSeconds=(\d+)")

_PARTITIONS = re.compile(r"\bnumPartitions=(\d+)")


def parse_offset(offset: object) -> object | None:
    """Parse an offset of a progress report, which is JSON or its text; None if there is none.

    Examples
    --------
    >>> parse_offset('{"rows": 7}'), parse_offset("None"), parse_offset("no JSON")
    ({'rows': 7}, None, 'no JSON')
    """
    if not isinstance(offset, str) or offset in _NO_OFFSET:
        return None if isinstance(offset, str) else offset
    try:
        value: object = json.loads(offset)
    except ValueError:
        return offset
    return value


def sum_of_numbers(offset: object) -> float | None:
    """Return the sum of all numbers in an offset (parsed JSON); None if it has none.

    Examples
    --------
    >>> sum_of_numbers({"topic": {"0": 123, "1": 77}})
    200.0
    """
    numbers = list(_numbers(offset))
    return float(sum(numbers)) if numbers else None


def rate_rows(seconds: int, rows_per_s: int, ramp_up_s: int) -> float:
    """Return the rows that Spark's rate source has generated after a number of seconds, which is its offset.

    Parameters
    ----------
    rows_per_s, ramp_up_s
        Its options. While it ramps up, its rate grows by a whole step each second.

    Examples
    --------
    >>> rate_rows(3, 50, 0)
    150.0
    >>> [rate_rows(seconds, 50, 4) for seconds in (1, 2, 3, 4, 5)]  # 10, 20, 30, 40, then 50 a second
    [10.0, 30.0, 60.0, 100.0, 150.0]
    """
    step = rows_per_s // (ramp_up_s + 1)
    slow_s = min(seconds, ramp_up_s)
    return float(step * slow_s * (slow_s + 1) // 2 + (seconds - slow_s) * rows_per_s)


def _numbers(value: object) -> list[float]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return [number for item in value for number in _numbers(item)]
    return [value] if isinstance(value, int | float) and not isinstance(value, bool) else []


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


@dataclass(frozen=True, slots=True)
class SourceKind:
    """A known kind of source."""

    #: Its usual name.
    name: str
    #: Whether a source with this offset (parsed JSON) and description is of this kind.
    matches: Callable[[object, str], bool]
    #: Rows up to such an offset; same arguments. None if unknown.
    rows: Callable[[object, str], float | None] = lambda offset, _description: sum_of_numbers(offset)
    #: Number of its partitions; same arguments. None if it follows the executors, or is unknown.
    partitions: Callable[[object, str], int | None] = lambda _offset, _description: None
    #: Whether offsets certainly count rows; if not, one batch must confirm it by reading as many rows as its
    #: offsets count.
    is_certain: bool = True


def _is_by_partition(offset: object, _description: str) -> bool:
    """Return whether an offset counts rows by topic and partition, as Kafka's does."""
    return (
        isinstance(offset, dict)
        and bool(offset)
        and all(
            isinstance(topic, dict)
            and all(partition.isdigit() and _is_count(rows) for partition, rows in topic.items())
            for topic in offset.values()
        )
    )


def _partitions_of_topics(offset: object, _description: str) -> int | None:
    return sum(len(topic) for topic in offset.values()) if isinstance(offset, dict) else None


def _described_partitions(_offset: object, description: str) -> int | None:
    """Return the number of partitions in the description of a rate source; by default one for each core."""
    found = _PARTITIONS.search(description)
    return int(found[1]) if found else None


def _is_rate(offset: object, description: str) -> bool:
    return _is_count(offset) and _RATE.match(description) is not None


def _rows_of_rate(offset: object, description: str) -> float | None:
    options = _RATE.match(description)
    if options is None or not isinstance(offset, int):
        return None
    return rate_rows(offset, int(options[1]), int(options[2]))


def _rows_of_micro_batches(offset: object, _description: str) -> float | None:
    return sum_of_numbers(offset["offset"]) if isinstance(offset, dict) else None


def _has_only(key: str) -> Callable[[object, str], bool]:
    return lambda offset, _: isinstance(offset, dict) and offset.keys() == {key}


def _is_described(beginning: str) -> Callable[[object, str], bool]:
    return lambda _, description: description.startswith(beginning)


KAFKA = "Kafka"
_PYTHON = "org.apache.spark.sql.execution.datasources.v2.python.Python"
#: All kinds; the first match counts.
KINDS = (
    SourceKind("rate", _is_rate, _rows_of_rate, _described_partitions),
    SourceKind(
        "rate-micro-batch", _is_described("RatePerMicroBatchStream["), _rows_of_micro_batches, _described_partitions
    ),
    SourceKind("socket", _is_described("TextSocketV2[")),
    SourceKind("files", _has_only("logOffset"), lambda _offset, _description: None),
    SourceKind(KAFKA, _is_by_partition, partitions=_partitions_of_topics),
    SourceKind(
        "Python, rows",
        lambda offset, _: isinstance(offset, dict) and list(offset) == ["rows"] and _is_count(offset["rows"]),
    ),
    SourceKind("Python", _is_described(_PYTHON), is_certain=False),
)


def kind_of(offset: object, description: str) -> SourceKind | None:
    """Return the kind of a source; None if it is unknown.

    Examples
    --------
    >>> kind_of({"rides": {"0": 123}}, "KafkaV2[Subscribe[rides]]").name
    'Kafka'
    >>> kind_of({"logOffset": 3}, "FileStreamSource[file:/rides]").name
    'files'
    """
    return next((kind for kind in KINDS if kind.matches(offset, description)), None)


_CODES_OF_UNKNOWN_ROWS = {"files": "source-files-uncounted", "rate-micro-batch": "source-without-backlog"}


@dataclass(frozen=True, slots=True)
class Position:
    """Rows of the sources when a batch was planned."""

    #: Offered since the query started.
    offered: float
    #: Offered, but not included in this batch or an earlier one.
    backlog: float


@dataclass(slots=True)
class Source:
    """One source of one run of a query.

    Its position is unknown for a batch that read more rows than its offsets count. If that happens before a batch has
    confirmed an uncertain kind, the position stays unknown.
    """

    #: Its name in messages.
    label: str
    #: Converts its offsets to rows; None to use the table `KINDS`.
    offset_rows: OffsetRows | None
    #: Reason why its rows are unknown; None if they are known.
    problem: Problem | None = None
    _is_confirmed: bool = False
    _contradiction: Problem | None = None
    _began_at: float | None = None

    def position(self, report: Mapping[str, Any], rows: int) -> Position | None:
        """Return its position after a batch; None if unknown."""
        start, end, latest = (parse_offset(report.get(name)) for name in ("startOffset", "endOffset", "latestOffset"))
        description = str(report.get("description") or "")
        kind = kind_of(end, description) if self.offset_rows is None else None
        start_rows, end_rows, latest_rows = (
            self._rows_of(offset, description, kind) for offset in (start, end, latest)
        )
        if end_rows is not None and not self._agrees(start_rows, end_rows, rows, kind):
            self.problem = self._contradiction
            return None
        if end_rows is not None and self._began_at is None:
            self._began_at = end_rows - rows if start_rows is None else start_rows
        self.problem = self._unknown_rows(kind, end) if end_rows is None or latest_rows is None else None
        if end_rows is None or latest_rows is None or self._began_at is None:
            return None
        if kind is not None and not (kind.is_certain or self._is_confirmed):
            return None
        return Position(offered=max(0.0, latest_rows - self._began_at), backlog=max(0.0, latest_rows - end_rows))

    def _rows_of(self, offset: object, description: str, kind: SourceKind | None) -> float | None:
        if offset is None:
            return None
        if self.offset_rows is not None:
            return self.offset_rows(json.dumps(offset))
        return kind.rows(offset, description) if kind is not None else None

    def _agrees(self, start: float | None, end: float, rows: int, kind: SourceKind | None) -> bool:
        """Return whether the rows read equal those that the offsets count; remember a contradiction."""
        if start is None:
            return True
        is_certain = kind is None or kind.is_certain
        if self._contradiction and not (is_certain or self._is_confirmed):
            return False
        counted = end - start
        if counted < rows or (counted > rows and not is_certain):
            self._contradiction = self._contradiction or Problem(
                "source-rows-differ", {"source": self.label, "rows": rows, "counted": counted}
            )
            return False
        self._is_confirmed = self._is_confirmed or rows > 0
        return True

    def _unknown_rows(self, kind: SourceKind | None, end: object) -> Problem:
        offset = json.dumps(end)[:80]
        if self.offset_rows is not None:
            return Problem("offset-rows-missing", {"source": self.label, "offset": offset})
        if kind is None:
            return Problem("source-kind-unknown", {"source": self.label, "offset": offset})
        code = _CODES_OF_UNKNOWN_ROWS.get(kind.name, "source-offset-missing")
        return Problem(code, {"source": self.label})


def partitions_of(reports: Sequence[Mapping[str, Any]]) -> int | None:
    """Return the number of partitions of all sources in a progress report; None if one is unknown.

    Examples
    --------
    >>> partitions_of([{"latestOffset": {"rides": {"0": 7, "1": 5}}}, {"latestOffset": {"zones": {"0": 3}}}])
    3
    """
    counts = [_count_partitions(report) for report in reports]
    known = [count for count in counts if count]
    return sum(known) if known and len(known) == len(counts) else None


def _count_partitions(report: Mapping[str, Any]) -> int | None:
    offset, description = _latest_offset(report), str(report.get("description") or "")
    kind = kind_of(offset, description)
    return None if kind is None else kind.partitions(offset, description)


def end_offset_rows(reports: Sequence[Mapping[str, Any]]) -> float | None:
    """Return the sum of the end offsets of the topics of the only source; None if there is another one.

    A topic that a query reads by two sources would count twice.

    Examples
    --------
    >>> end_offset_rows([{"latestOffset": {"rides": {"0": 123, "1": 77}}}])
    200.0
    """
    if len(reports) != 1:
        return None
    offset = parse_offset(reports[0].get("latestOffset"))
    kind = kind_of(offset, str(reports[0].get("description") or ""))
    return sum_of_numbers(offset) if kind is not None and kind.name == KAFKA else None


def _latest_offset(report: Mapping[str, Any]) -> object:
    latest = parse_offset(report.get("latestOffset"))
    return parse_offset(report.get("endOffset")) if latest is None else latest


@dataclass(slots=True)
class Sources:
    """All sources of one run of a query."""

    #: Converts an offset to rows; None to use the table `KINDS`.
    offset_rows: OffsetRows | None = None
    _known: list[Source] = field(default_factory=list)

    @property
    def problems(self) -> list[Problem]:
        """Problem of each source whose rows are unknown."""
        return [source.problem for source in self._known if source.problem is not None]

    def position(self, reports: Sequence[Mapping[str, Any]], rows: int) -> Position | None:
        """Return the total position of all sources; None if one is unknown."""
        if len(self._known) != len(reports):
            self._known = [
                Source(_label(number, report, len(reports)), self.offset_rows)
                for number, report in enumerate(reports, 1)
            ]
        positions = [
            source.position(report, int(report.get("numInputRows", rows)))
            for source, report in zip(self._known, reports, strict=True)
        ]
        known = [each for each in positions if each is not None]
        if not known or len(known) < len(positions):
            return None
        return Position(offered=sum(each.offered for each in known), backlog=sum(each.backlog for each in known))


def _label(number: int, report: Mapping[str, Any], count: int) -> str:
    name = str(report.get("description") or "").partition("@")[0].rpartition(".python.")[2][:120]
    which = "the source" if count == 1 else f"source {number} of {count}"
    return f"{which} {name}".strip()
