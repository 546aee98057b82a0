"""Known kinds of sources, and what their offsets count. Pure.

A source is recognised by Spark's description of it, and by the shape of its offset. Recorded on PySpark 4.3.0
(docs/reference/spark_sources.md).
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

#: Counters of an offset by partition, such as ``{"rides/0": 123.0}``; a single number has the key ``""``.
Counts = Mapping[str, float]

_NO_OFFSET = ("", "null", "None")  # Spark's null reaches Python as the text "None"
_RATE = re.compile(r"RateStreamV2\[rowsPerSecond=(\d+), rampUpTimeSeconds=(\d+)")
#: Micro-batches of the newer and the older interface of Kafka's connector, and its continuous mode.
_KAFKA = re.compile(r"Kafka(V2|Source|SourceV1)\[")
_PARTITIONS = re.compile(r"\bnumPartitions=(\d+)")
_PYTHON = "org.apache.spark.sql.execution.datasources.v2.python.Python"
#: Seconds since the epoch, of the years 2008 to 2049.
_EPOCH_S = (1.2e9, 2.5e9)


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


def counts_of(offset: object, path: str = "") -> Counts:
    """Return all numbers in an offset (parsed JSON), by their path.

    Examples
    --------
    >>> counts_of({"rides": {"0": 123, "1": 77}})
    {'rides/0': 123.0, 'rides/1': 77.0}
    """
    if isinstance(offset, dict | list):
        items = offset.items() if isinstance(offset, dict) else enumerate(offset)
        parts = [counts_of(value, f"{path}/{key}" if path else str(key)) for key, value in items]
        return {name: number for part in parts for name, number in part.items()}
    return {path: float(offset)} if isinstance(offset, int | float) and not isinstance(offset, bool) else {}


def sum_of_numbers(offset: object) -> float | None:
    """Return the sum of all numbers in an offset (parsed JSON); None if it has none.

    Examples
    --------
    >>> sum_of_numbers({"topic": {"0": 123, "1": 77}})
    200.0
    """
    return sum(counts_of(offset).values()) if counts_of(offset) else None


def is_time(counts: Counts) -> bool:
    """Return whether one of the counters is a time since the epoch, in s, ms, us or ns.

    Examples
    --------
    >>> is_time({"": 1767225600000.0}), is_time({"": 12345.0})
    (True, False)
    """
    low, high = _EPOCH_S
    return any(low * unit <= number < high * unit for number in counts.values() for unit in (1, 1e3, 1e6, 1e9))


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


@dataclass(frozen=True, slots=True)
class SourceKind:
    """A known kind of source."""

    #: Its usual name.
    name: str
    #: Whether a source with this offset (parsed JSON) and description is of this kind.
    matches: Callable[[object, str], bool]
    #: Counters of such an offset; same arguments. Empty if unknown.
    counts: Callable[[object, str], Counts] = lambda offset, _description: counts_of(offset)
    #: Number of its partitions; same arguments. None if it follows the executors, or is unknown.
    partitions: Callable[[object, str], int | None] = lambda _offset, _description: None
    #: Whether offsets certainly count rows; if not, one batch must confirm it by reading as many rows as its
    #: offsets count.
    is_certain: bool = True
    #: Code of the reason if it has no counters.
    code: str = "source-offset-missing"
    #: Whether the rows of its batches can have a cap.
    can_have_cap: bool = True


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_by_partition(offset: object, _description: str) -> bool:
    """Return whether an offset has counters by topic and partition, as Kafka's does."""
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


def _rows_of_rate(offset: object, description: str) -> Counts:
    options = _RATE.match(description)
    if options is None or not isinstance(offset, int):
        return {}
    return {"": rate_rows(offset, int(options[1]), int(options[2]))}


def _is_described(beginning: str) -> Callable[[object, str], bool]:
    return lambda _, description: description.startswith(beginning)


KAFKA = "Kafka"
#: All kinds; the first match counts.
KINDS = (
    SourceKind(
        "rate",
        lambda offset, description: _is_count(offset) and _RATE.match(description) is not None,
        _rows_of_rate,
        _described_partitions,
        can_have_cap=False,
    ),
    SourceKind(
        "rate-micro-batch",
        _is_described("RatePerMicroBatchStream["),
        partitions=_described_partitions,
        code="source-without-backlog",
        can_have_cap=False,
    ),
    SourceKind("socket", _is_described("TextSocketV2["), can_have_cap=False),
    SourceKind(
        "files",
        lambda offset, _: isinstance(offset, dict) and offset.keys() == {"logOffset"},
        lambda _offset, _description: {},
        code="source-files-uncounted",
    ),
    SourceKind(
        KAFKA,
        lambda offset, description: _KAFKA.match(description) is not None and isinstance(offset, dict),
        partitions=_partitions_of_topics,
    ),
    SourceKind(
        "Python, rows",
        lambda offset, _: isinstance(offset, dict) and list(offset) == ["rows"] and _is_count(offset["rows"]),
    ),
    SourceKind("Python", _is_described(_PYTHON), is_certain=False),
    SourceKind("by partition", _is_by_partition, is_certain=False),
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
