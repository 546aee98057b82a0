"""How many rows an offset of a source stands for."""

import json
from collections.abc import Callable

OffsetRows = Callable[[str], float | None]
"""Turns the JSON text of an offset into a row count; None where it tells no count."""

_NO_OFFSET = ("", "null", "None")  # Spark's null reaches Python as the text "None"


def sum_of_leaves(offset: str) -> float | None:
    """Add up all numbers of an offset: right for Kafka and for sources that count rows.

    Parameters
    ----------
    offset
        JSON text, such as ``{"topic": {"0": 123, "1": 77}}`` or ``{"rows": 200}``.

    Returns
    -------
    float or None
        The rows; None where there is no offset or it holds no number.

    Examples
    --------
    >>> sum_of_leaves('{"topic": {"0": 123, "1": 77}}')
    200.0
    >>> sum_of_leaves("None") is None
    True
    """
    if offset in _NO_OFFSET:
        return None
    numbers = list(_leaves(json.loads(offset)))
    return float(sum(numbers)) if numbers else None


def _leaves(value: object) -> list[float]:
    if isinstance(value, bool):
        return []
    if isinstance(value, int | float):
        return [value]
    if isinstance(value, dict):
        return [number for item in value.values() for number in _leaves(item)]
    if isinstance(value, list):
        return [number for item in value for number in _leaves(item)]
    return []


def total_rows(offsets: list[str], offset_rows: OffsetRows) -> float | None:
    """Add up the rows of one offset of every source of a query.

    Parameters
    ----------
    offsets
        JSON text by source.
    offset_rows
        Counts one of them.

    Returns
    -------
    float or None
        The sum; None where there is no source, or one of them tells no count.
    """
    counts = [offset_rows(offset) if offset not in _NO_OFFSET else None for offset in offsets]
    known = [count for count in counts if count is not None]
    return sum(known) if known and len(known) == len(counts) else None
