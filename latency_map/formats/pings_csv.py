"""The table of pings: a heading with the two ends and a delay among other columns, many rows per pair.

WonderNetwork publishes such tables (source, destination, timestamp, min, avg, max, mdev), with the ends as
numbers whose names stand in a second file.
"""

import math
from collections.abc import Sequence
from datetime import UTC, datetime

from gesscale.common.text import shortened
from latency_map.formats.labels import is_delay_label, pair_columns, stated_by
from latency_map.formats.pairs import Pings
from latency_map.formats.raw import RawDelays, SideFiles, check_file_names
from latency_map.formats.sheet import Sheet, SheetRow
from latency_map.formats.source import MapSource
from latency_map.kinds import DelayKind, DelayUnit

_SUMMARY_OF_PING = {"min", "avg", "max", "mdev"}
_PREFERRED = ("avg", "median", "mean", "average")
_TIMES = ("timestamp", "measured_at", "date", "datetime")


def read_pings(source: MapSource, side_files: SideFiles) -> RawDelays:
    """Read a table of pings.

    Parameters
    ----------
    source
        Its text, read as a stream; a blank delay is a ping that was lost.
    side_files
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
    pings = Pings(source.name, source.limits)
    newest = ""
    for row in sheet.rows():
        if len(row.cells) != len(header.cells):
            problem = f"expected {len(header.cells)} cells as in the heading, got {len(row.cells)}"
            raise sheet.error(row, min(len(row.cells), len(header.cells)), problem)
        a = pings.node(row.cells[ends[0]], row.line, ends[0] + 1)
        b = pings.node(row.cells[ends[1]], row.line, ends[1] + 1)
        delay = _delay(sheet, row, column)
        if delay < 0:
            raise sheet.error(row, column, f"expected a delay of at least 0, got {delay:g}")
        pings.add(a, b, delay, row.line)
        if time_column is not None:
            newest = max(newest, row.cells[time_column])
    return _summed_up(pings, sheet, header, column, side_files, newest)


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


def _delay(sheet: Sheet, row: SheetRow, column: int) -> float:
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


def _summed_up(
    pings: Pings, sheet: Sheet, header: SheetRow, column: int, side_files: SideFiles, newest: str
) -> RawDelays:
    if not len(pings):
        raise sheet.error(header, 0, "expected rows below the heading, got none")
    count = len(pings)
    values, most = pings.medians()
    names, notes = _named(pings.names, side_files)
    check_file_names(sheet.name, names)
    unit, kind = stated_by(header.cells[column])
    stated_at = f"line {header.line}, column {column + 1}: the heading says {shortened(header.cells[column])}"
    if {label.lower() for label in header.cells} >= _SUMMARY_OF_PING:
        unit, kind = DelayUnit.MS, DelayKind.RTT
        stated_at = f"line {header.line}: min, avg, max and mdev are what ping writes, in milliseconds"
    counted = f"{count} rows, at most {most} of one pair: the median of {header.cells[column]!r} is taken"
    return RawDelays(
        names=names,
        values=values,
        place=lambda a, b: pings.place(a, b, column + 1),
        unit=unit,
        kind=kind,
        stated_at=stated_at,
        measured_at_s=_seconds(newest),
        notes=(
            counted,
            *((f"rows without a delay: {pings.lost}",) if pings.lost else ()),
            *notes,
            *sheet.notes(),
        ),
    )


def _named(found: tuple[str, ...], side_files: SideFiles) -> tuple[tuple[str, ...], tuple[str, ...]]:
    if side_files.servers is None:
        return found, ()
    names = tuple(side_files.servers.get(name, name) for name in found)
    unknown = [name for name in found if name not in side_files.servers]
    note = f"ids that are not among the servers and stand for themselves: {len(unknown)}"
    return names, ((note,) if unknown else ())


def _seconds(text: str) -> float | None:
    try:
        when = datetime.fromisoformat(text)
        seconds = (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None
