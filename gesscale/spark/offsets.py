"""How many rows an offset of a source stands for: a table of the sources that are known, by shape and description.

What Spark reports of each was recorded on PySpark 4.3.0 (docs/reference/spark_sources.md).
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass

OffsetRows = Callable[[str], float | None]
"""Turns the JSON text of an offset into a row count; None where it tells no count."""

_NO_OFFSET = ("", "null", "None")  # Spark's null reaches Python as the text "None"
_RATE = re.compile(r"RateStreamV2\[rowsPerSecond=(\d+), rampUpTimeSeconds=(\d+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceKind:
    """A kind of source whose offsets are understood.

    Attributes
    ----------
    name
        What people call it.
    matches
        Whether an offset (parsed JSON) of a source with this description is of this kind.
    rows
        Rows up to such an offset; the same arguments. None where they cannot be told.
    is_certain
        Whether the first offset can be believed; if not, one batch must have read as many rows as its offsets count.
    """

    name: str
    matches: Callable[[object, str], bool]
    rows: Callable[[object, str], float | None]
    is_certain: bool = True


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


def kind_of(offset: object, description: str) -> SourceKind | None:
    """Return the kind of a source; None where it is not known.

    Parameters
    ----------
    offset
        One of its offsets, parsed.
    description
        As Spark's progress report has it.

    Examples
    --------
    >>> kind_of({"rides": {"0": 123}}, "KafkaV2[Subscribe[rides]]").name
    'Kafka'
    >>> kind_of({"logOffset": 3}, "FileStreamSource[file:/rides]").name
    'files'
    """
    return next((kind for kind in KINDS if kind.matches(offset, description)), None)


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
    seconds
        Its offset.
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
    if isinstance(value, bool):
        return []
    if isinstance(value, int | float):
        return [value]
    if isinstance(value, dict):
        return [number for item in value.values() for number in _numbers(item)]
    if isinstance(value, list):
        return [number for item in value for number in _numbers(item)]
    return []


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_by_partition(offset: object) -> bool:
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


def _untold(_offset: object, _description: str) -> None:
    return None


def _is_of_files(offset: object, _description: str) -> bool:
    return isinstance(offset, dict) and offset.keys() == {"logOffset"}


def _is_described(beginning: str) -> Callable[[object, str], bool]:
    return lambda _offset, description: description.startswith(beginning)


KINDS = (
    SourceKind(name="rate", matches=_is_rate, rows=_rows_of_rate),
    SourceKind(
        name="rate-micro-batch",
        matches=_is_described("RatePerMicroBatchStream["),
        rows=lambda offset, _: sum_of_numbers(offset["offset"]) if isinstance(offset, dict) else None,
    ),
    SourceKind(
        name="socket", matches=_is_described("TextSocketV2["), rows=lambda offset, _: sum_of_numbers(offset)
    ),
    SourceKind(name="files", matches=_is_of_files, rows=_untold),
    SourceKind(
        name="Kafka",
        matches=lambda offset, _: _is_by_partition(offset),
        rows=lambda offset, _: sum_of_numbers(offset),
    ),
    SourceKind(
        name="Python, rows",
        matches=lambda offset, _: (
            isinstance(offset, dict) and offset.keys() == {"rows"} and _is_count(offset["rows"])
        ),
        rows=lambda offset, _: sum_of_numbers(offset),
    ),
    SourceKind(
        name="Python",
        matches=_is_described("org.apache.spark.sql.execution.datasources.v2.python.Python"),
        rows=lambda offset, _: sum_of_numbers(offset),
        is_certain=False,
    ),
)
"""All kinds; the first that matches an offset is that of its source."""
