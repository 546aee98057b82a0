"""The table of pings: a heading with the two ends and a delay among other columns, many rows per pair.

WonderNetwork publishes such tables (source, destination, timestamp, min, avg, max, mdev), with the ends as
numbers whose names stand in a second file.
"""

import math
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime

from latency_map.delays import DelayKind, DelayUnit
from latency_map.errors import shortened
from latency_map.formats.labels import is_delay_label, pair_columns, stated_by
from latency_map.formats.pairs import Pairs
from latency_map.formats.raw import Aside, RawDelays, check_file_names, error_at
from latency_map.formats.sheet import Row, Sheet
from latency_map.formats.source import Source

_SUMMARY_OF_PING = {"min", "avg", "max", "mdev"}
_PREFERRED = ("avg", "median", "mean", "average")
_TIMES = ("timestamp", "measured_at", "date", "datetime")
_NAMES_OF_SERVERS = ("name", "title", "location", "city")


def read_pings(source: Source, aside: Aside) -> RawDelays:
    """Read a table of pings.

    Parameters
    ----------
    source
        Its text, read as a stream; a blank delay is a ping that was lost.
    aside
        Names of nodes by the id that the table has for them.

    Returns
    -------
    RawDelays
        The median of the delays of every pair, and the newest time as that of the measurement (UTC where it
        does not say).

    Raises
    ------
    LatencyMapError
        It is no such table; the message names file, line and column.
    """
    sheet = Sheet(source)
    header = sheet.first()
    ends = pair_columns(header.cells)
    column = delay_column(header.cells)
    if ends is None or column is None:
        problem = (
            "expected a heading with the two ends and a delay, such as source,destination,avg,"
            f" got {shortened(','.join(header.cells))}"
        )
        raise sheet.error(header, 0, problem)
    time_column = _time_column(header.cells)
    pairs = Pairs(source.name)
    newest = ""
    for row in sheet.rows():
        if len(row.cells) != len(header.cells):
            problem = f"expected {len(header.cells)} cells as in the heading, got {len(row.cells)}"
            raise sheet.error(row, min(len(row.cells), len(header.cells)), problem)
        a = pairs.node(row.cells[ends[0]], row.line, ends[0] + 1)
        b = pairs.node(row.cells[ends[1]], row.line, ends[1] + 1)
        pairs.add(a, b, _delay(sheet, row, column), row.line)
        if time_column is not None:
            newest = max(newest, row.cells[time_column])
    return _summed_up(pairs, sheet, header, column, aside, newest)


def delay_column(labels: Sequence[str]) -> int | None:
    """Return which column of a table of pings is the delay: the average or the median before any other."""
    lowered = [label.lower() for label in labels]
    for label in _PREFERRED:
        if label in lowered:
            return lowered.index(label)
    ranked = [index for index, label in enumerate(lowered) if is_delay_label(label)]
    for word in _PREFERRED:
        ranked.sort(key=lambda index: word not in lowered[index])
    return ranked[0] if ranked else None


def read_servers(source: Source) -> dict[str, str]:
    """Read the names of nodes from a table with an ``id`` and a ``name`` among its columns.

    Parameters
    ----------
    source
        Its text.

    Returns
    -------
    dict
        Name by id. Where several have the same name, the id follows it: ``Frankfurt 17``.

    Raises
    ------
    LatencyMapError
        It is no such table, or an id occurs twice; the message names file, line and column.
    """
    sheet = Sheet(source)
    header = sheet.first()
    lowered = [cell.lower() for cell in header.cells]
    label = next((label for label in _NAMES_OF_SERVERS if label in lowered), None)
    if "id" not in lowered or label is None:
        problem = f"expected a heading with id and name, got {shortened(','.join(header.cells))}"
        raise sheet.error(header, 0, problem)
    id_column, name_column = lowered.index("id"), lowered.index(label)
    names: dict[str, str] = {}
    for row in sheet.rows():
        if len(row.cells) <= max(id_column, name_column):
            problem = f"expected {len(header.cells)} cells as in the heading, got {len(row.cells)}"
            raise sheet.error(row, len(row.cells), problem)
        number, name = row.cells[id_column], row.cells[name_column]
        if number in names:
            raise sheet.error(row, id_column, f"expected every id once, got {shortened(number)} again")
        names[number] = name or number
    times = Counter(names.values())
    return {number: name if times[name] == 1 else f"{name} {number}" for number, name in names.items()}


def _delay(sheet: Sheet, row: Row, column: int) -> float:
    cell = row.cells[column]
    if cell.isascii() and cell[:1].isdigit() and "_" not in cell:
        try:
            return float(cell)
        except ValueError:
            pass  # said with its place below
    return sheet.delay(row, column)


def _time_column(labels: Sequence[str]) -> int | None:
    lowered = [label.lower() for label in labels]
    return next((lowered.index(label) for label in _TIMES if label in lowered), None)


def _summed_up(pairs: Pairs, sheet: Sheet, header: Row, column: int, aside: Aside, newest: str) -> RawDelays:
    if not len(pairs):
        raise sheet.error(header, 0, "expected rows below the heading, got none")
    impossible = pairs.impossible()
    if impossible:
        line, delay = impossible
        problem = f"expected a delay of at least 0, got {delay:g}"
        raise error_at(sheet.name, f"line {line}, column {column + 1}", problem)
    values, lost, most = pairs.medians()
    names, notes = _named(pairs, aside)
    check_file_names(sheet.name, names)
    unit, kind = stated_by(header.cells[column])
    stated_at = f"line {header.line}, column {column + 1}: the heading says {shortened(header.cells[column])}"
    if {label.lower() for label in header.cells} >= _SUMMARY_OF_PING:
        unit, kind = DelayUnit.MS, DelayKind.RTT
        stated_at = f"line {header.line}: min, avg, max and mdev are what ping writes, in milliseconds"
    counted = (
        f"{len(pairs)} rows, at most {most} of one pair: the median of {header.cells[column]!r} is taken"
    )
    return RawDelays(
        names=names,
        values=values,
        place=lambda a, b: f"line {pairs.line_of_largest(a, b)}, column {column + 1}",
        unit=unit,
        kind=kind,
        stated_at=stated_at,
        measured_at_s=_seconds(newest),
        notes=(counted, *((f"rows without a delay: {lost}",) if lost else ()), *notes, *sheet.notes()),
    )


def _named(pairs: Pairs, aside: Aside) -> tuple[tuple[str, ...], tuple[str, ...]]:
    found = tuple(pairs.names)
    if aside.servers is None:
        return found, ()
    names = tuple(aside.servers.get(name, name) for name in found)
    unknown = [name for name in found if name not in aside.servers]
    note = f"ids that are not among the servers and stand for themselves: {len(unknown)}"
    return names, ((note,) if unknown else ())


def _seconds(text: str) -> float | None:
    try:
        when = datetime.fromisoformat(text)
        seconds = (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None
