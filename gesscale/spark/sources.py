"""Rows that a query's sources have offered and still hold back, by their offsets. Pure.

A table of the sources that are known, by shape and description, says how many rows an offset stands for.

What Spark reports of each was recorded on PySpark 4.3.0 (docs/reference/spark_sources.md).
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

#: Turns the JSON text of an offset into a row count; None where it tells no count.
OffsetRows = Callable[[str], float | None]

_NO_OFFSET = ("", "null", "None")  # Spark's null reaches Python as the text "None"
_RATE = re.compile(r"RateStreamV2\[rowsPerSecond=(\d+), rampUpTimeSeconds=(\d+)")


def parsed(offset: object) -> object | None:
    """Return an offset as a progress report has it, JSON or its text, as JSON; None where there is none.

    Examples
    --------
    >>> parsed('{"rows": 7}'), parsed("None"), parsed("no JSON")
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
    """Add up all numbers of an offset (parsed JSON); None where it holds none.

    Examples
    --------
    >>> sum_of_numbers({"topic": {"0": 123, "1": 77}})
    200.0
    """
    numbers = list(_numbers(offset))
    return float(sum(numbers)) if numbers else None


def rate_rows(seconds: int, rows_per_s: int, ramp_up_s: int) -> float:
    """Return the rows that Spark's rate source has made after so many seconds, which are its offset.

    Parameters
    ----------
    rows_per_s, ramp_up_s
        Its options. While it ramps up it makes a whole step more rows in each second.

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
    """A kind of source whose offsets are understood."""

    #: What people call it.
    name: str
    #: Whether an offset (parsed JSON) of a source with this description is of this kind.
    matches: Callable[[object, str], bool]
    #: Rows up to such an offset; the same arguments. None where they cannot be told.
    rows: Callable[[object, str], float | None] = lambda offset, _description: sum_of_numbers(offset)
    #: Whether the first offset can be believed; if not, one batch must have read as many rows as its offsets
    #: count.
    is_certain: bool = True


def _is_by_partition(offset: object, _description: str) -> bool:
    """Return whether it counts rows by topic and partition, as Kafka's does."""
    return (
        isinstance(offset, dict)
        and bool(offset)
        and all(
            isinstance(topic, dict)
            and all(partition.isdigit() and _is_count(rows) for partition, rows in topic.items())
            for topic in offset.values()
        )
    )


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


_PYTHON = "org.apache.spark.sql.execution.datasources.v2.python.Python"
#: All kinds; the first that matches an offset is that of its source.
KINDS = (
    SourceKind("rate", _is_rate, _rows_of_rate),
    SourceKind("rate-micro-batch", _is_described("RatePerMicroBatchStream["), _rows_of_micro_batches),
    SourceKind("socket", _is_described("TextSocketV2[")),
    SourceKind("files", _has_only("logOffset"), lambda _offset, _description: None),
    SourceKind("Kafka", _is_by_partition),
    SourceKind(
        "Python, rows",
        lambda offset, _: isinstance(offset, dict) and list(offset) == ["rows"] and _is_count(offset["rows"]),
    ),
    SourceKind("Python", _is_described(_PYTHON), is_certain=False),
)


def kind_of(offset: object, description: str) -> SourceKind | None:
    """Return the kind of a source; None where it is not known.

    Examples
    --------
    >>> kind_of({"rides": {"0": 123}}, "KafkaV2[Subscribe[rides]]").name
    'Kafka'
    >>> kind_of({"logOffset": 3}, "FileStreamSource[file:/rides]").name
    'files'
    """
    return next((kind for kind in KINDS if kind.matches(offset, description)), None)


_ADVICE = "rows offered and backlog are unknown (null), and nothing is scaled by them"
_OR_GIVE = "Give attach offset_rows=, which turns an offset into rows"
_WHY_UNTOLD = {
    "files": "files do not say how many rows they hold",
    "rate-micro-batch": "it makes its rows batch by batch, so that none wait",
}


@dataclass(frozen=True, slots=True)
class Position:
    """Rows of the sources as a batch was planned."""

    #: Offered since the query began.
    offered: float
    #: Offered, and not taken by this batch either.
    backlog: float


@dataclass(slots=True)
class Source:
    """One source of one run of a query.

    A batch that read more rows than its offsets count leaves it unknown for that batch. Where that is so before any
    batch has agreed, and the kind of source is uncertain, it stays unknown.
    """

    #: How it is called in messages.
    label: str
    #: Counts the rows of its offsets; None: as the table `KINDS` says.
    offset_rows: OffsetRows | None
    #: Why its rows are unknown; empty where they are not.
    problem: str = ""
    _is_confirmed: bool = False
    _contradiction: str = ""
    _began_at: float | None = None

    def position(self, report: Mapping[str, Any], rows: int) -> Position | None:
        """Return where it stands."""
        start, end, latest = (parsed(report.get(name)) for name in ("startOffset", "endOffset", "latestOffset"))
        description = str(report.get("description") or "")
        kind = kind_of(end, description) if self.offset_rows is None else None
        told = [self._count(offset, description, kind) for offset in (start, end, latest)]
        start_rows, end_rows, latest_rows = told
        if end_rows is not None and not self._agrees(start_rows, end_rows, rows, kind):
            self.problem = self._contradiction
            return None
        if end_rows is not None and self._began_at is None:
            self._began_at = end_rows - rows if start_rows is None else start_rows
        self.problem = self._why_unknown(kind, end) if end_rows is None or latest_rows is None else ""
        if end_rows is None or latest_rows is None or self._began_at is None:
            return None
        if kind is not None and not (kind.is_certain or self._is_confirmed):
            return None
        return Position(offered=max(0.0, latest_rows - self._began_at), backlog=max(0.0, latest_rows - end_rows))

    def _count(self, offset: object, description: str, kind: SourceKind | None) -> float | None:
        if offset is None:
            return None
        if self.offset_rows is not None:
            return self.offset_rows(json.dumps(offset))
        return kind.rows(offset, description) if kind is not None else None

    def _agrees(self, start: float | None, end: float, rows: int, kind: SourceKind | None) -> bool:
        """Compare the rows that were read with those that the offsets count; a contradiction is remembered."""
        if start is None:
            return True
        is_certain = kind is None or kind.is_certain
        if self._contradiction and not (is_certain or self._is_confirmed):
            return False
        counted = end - start
        if counted < rows or (counted > rows and not is_certain):
            self._contradiction = self._contradiction or (
                f"{self.label}: a batch read {rows} rows between offsets that count {counted:.0f}: the offsets count "
                f"something else, the query reads its rows more than once, or tasks ran again; {_ADVICE}. {_OR_GIVE}"
            )
            return False
        self._is_confirmed = self._is_confirmed or rows > 0
        return True

    def _why_unknown(self, kind: SourceKind | None, end: object) -> str:
        if self.offset_rows is not None:
            why = f"offset_rows tells no rows of its latest offset, or of {json.dumps(end)[:80]}"
        elif kind is None:
            why = f"its offset {json.dumps(end)[:80]} is of no known kind"
        else:
            why = _WHY_UNTOLD.get(kind.name, "it reports no latest offset")
        return f"{self.label}: {why}; {_ADVICE}. {_OR_GIVE}"


@dataclass(slots=True)
class Sources:
    """All sources of one run of a query."""

    #: Counts the rows of an offset; None: as the table `KINDS` says.
    offset_rows: OffsetRows | None = None
    _known: list[Source] = field(default_factory=list)

    @property
    def problems(self) -> list[str]:
        """Why rows are unknown, source by source; empty where they are not."""
        return [source.problem for source in self._known if source.problem]

    def position(self, reports: Sequence[Mapping[str, Any]], rows: int) -> Position | None:
        """Return where all of them stand together; None where one does not tell."""
        if len(self._known) != len(reports):
            self._known = [
                Source(_label(number, report, len(reports)), self.offset_rows)
                for number, report in enumerate(reports, 1)
            ]
        stands = [
            source.position(report, int(report.get("numInputRows", rows)))
            for source, report in zip(self._known, reports, strict=True)
        ]
        told = [each for each in stands if each is not None]
        if not told or len(told) < len(stands):
            return None
        return Position(offered=sum(each.offered for each in told), backlog=sum(each.backlog for each in told))


def _label(number: int, report: Mapping[str, Any], count: int) -> str:
    name = str(report.get("description") or "").partition("@")[0].rpartition(".python.")[2][:120]
    which = "the source" if count == 1 else f"source {number} of {count}"
    return f"{which} {name}".strip()
