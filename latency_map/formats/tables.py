"""Tables: square matrices, with names or without, and lists of pairs.

A list has a heading with two ends and a delay, or three columns without a heading. A pair may have many rows, such as
in the tables of pings that WonderNetwork publishes.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

import numpy as np

from gesscale.common.text import shortened
from latency_map.delays import Delays
from latency_map.errors import LatencyMapError
from latency_map.formats.columns import find_columns, is_delay_label, is_other_figure, parse_label
from latency_map.formats.rows import RowReader, is_number
from latency_map.formats.samples import Block, DelaySample, Readings
from latency_map.formats.sheet import HEAD_ROWS, Sheet, SheetRow, is_number_or_missing, place_of
from latency_map.formats.source import ImportOptions, MapSource, check_file_names
from latency_map.kinds import DelayUnit
from latency_map.names import find_name_fault

_Units: TypeAlias = set[DelayUnit | None]


def read_matrix(source: MapSource, options: ImportOptions) -> Readings:
    """Read a square matrix of delays, blank where missing.

    The corner may state unit and kind, such as ``rtt_ms``; R writes none. Nodes without a name are numbered unless the
    caller gives their names.

    Raises
    ------
    LatencyMapError
        The matrix is invalid, or there are too many or too few names.
    """
    sheet, limits = Sheet(source), source.limits
    first, named = sheet.head[0], has_names(sheet.head)
    second = sheet.head[1] if named and len(sheet.head) > 1 else None
    lead = int(second is not None)
    with_corner = second is not None and len(second.cells) != len(first.cells) + 1
    names = tuple(first.cells[with_corner:])
    if len(names) > limits.nodes:
        raise sheet.cell_error(first, limits.nodes + with_corner, limits.too_many_nodes(len(names)))
    names = names if named else _names(source.name, options, len(names))
    if fault := find_name_fault(names):
        raise sheet.cell_error(first, fault[0] + with_corner, fault[1])
    lines, values, units = _read_rows(sheet, names, int(named), lead)
    corner = first.cells[0] if with_corner else ""
    if is_other_figure(corner):
        raise sheet.cell_error(first, 0, "map-column-doubtful", found=[corner])
    unit, kind = parse_label(corner) if is_delay_label(corner) else (None, None)
    if len(stated := ({unit} | units) - {None}) > 1:
        raise sheet.cell_error(first, 0, "map-units-contradict", units=sorted(map(str, stated)))
    return Readings(
        samples=Block(names, values, lambda a, b: f"line {lines[a]}, column {b + 1 + lead}"),
        unit=next(iter(stated), None),
        kind=kind,
        stated_at=f"line {first.line}, column 1, heading {shortened(corner)}",
        notes=sheet.notes(),
    )


def _read_rows(sheet: Sheet, names: tuple[str, ...], start: int, lead: int) -> tuple[dict[int, int], Delays, _Units]:
    """Return the line of the row of each node, the delays, and the unit that all cells state."""
    count, numbers = len(names), {name: number for number, name in enumerate(names)}
    lines: dict[int, int] = {}
    values: Delays = np.empty((count, count))
    units: _Units = set()
    for row in sheet.rows(start):
        if len(lines) == count:
            raise sheet.cell_error(row, 0, "map-not-square", columns=count, rows=f"{count + 1} or more")
        number = numbers.get(row.cells[0]) if lead else len(lines)
        if number is None:
            raise sheet.cell_error(row, 0, "map-row-unknown", name=row.cells[0], columns=count)
        if number in lines:
            raise sheet.cell_error(row, 0, "map-row-duplicate", name=row.cells[0], first_line=lines[number])
        sheet.check_width(row, count + lead)
        delays, stated = sheet.parse_delays(row, lead)
        units |= stated
        if len(units) > 1:
            raise sheet.cell_error(row, lead, "map-units-mixed")
        values[number], lines[number] = delays, row.line
    if not lines:
        raise LatencyMapError("map-empty", source=sheet.name, expected="rows below the names")
    if len(lines) < count:
        raise sheet.cell_error(row, 0, "map-not-square", columns=count, rows=len(lines))
    return lines, values, units


def has_names(rows: Sequence[SheetRow]) -> bool:
    """Return whether the first row of a matrix has names, which may be numbers that the first column has too."""
    first = rows[0].cells if rows else []
    if not all(map(is_number_or_missing, first)):
        return True
    without_corner = len(rows) > 1 and len(rows[1].cells) > len(first)
    return same_names(rows) and (without_corner or (not is_number(first[0]) and all(map(str.isdigit, first[1:]))))


def same_names(rows: Sequence[SheetRow]) -> bool:
    """Return whether the first column has the names of the first row, as far as both were read."""
    first = rows[0].cells if rows else []
    down = [row.cells[0] for row in rows[1:]]
    without_corner = bool(down) and len(rows[1].cells) == len(first) + 1
    across = first if without_corner else first[1:]
    read = len(down) == len(across) or len(rows) == HEAD_ROWS
    return read and bool(down) and across[: len(down)] == down


def read_pairs(source: MapSource, options: ImportOptions) -> Readings:
    """Read a list of pairs.

    Raises
    ------
    LatencyMapError
        The list is invalid.
    """
    sheet = Sheet(source)
    first = sheet.head[0]
    chosen = options.from_column, options.to_column, options.delay_column, options.unit_column
    is_headed = any(chosen) or not is_without_heading(first.cells)
    labels = first.cells if is_headed else ["from", "to", "delay"]
    reader = RowReader(source.name, labels, find_columns(source.name, labels, options))
    delay = reader.columns.delay
    stated_at = f"{place_of(first, delay)}, heading {shortened(labels[delay])}"
    readings = Readings(samples=(), unit=reader.unit, kind=reader.kind, stated_at=stated_at)
    readings.samples = _samples(sheet, reader, readings, sheet.rows(int(is_headed)))
    return readings


def is_without_heading(cells: list[str]) -> bool:
    """Return whether a row is the first one of a list of pairs without heading."""
    return len(cells) == 3 and is_number_or_missing(cells[2]) and not cells[2].isalpha()


def _samples(sheet: Sheet, reader: RowReader, readings: Readings, rows: Iterable[SheetRow]) -> Iterator[DelaySample]:
    """Yield the samples of rows; add the notes to the readings at the end."""
    width, columns = len(reader.labels), reader.columns
    source, target = columns.source, columns.target
    for row in rows:
        cells = row.cells
        if len(cells) != width:
            sheet.check_width(row, width)
        if cells[target] == reader.labels[target] and cells[columns.delay][:1].isalpha():
            raise sheet.cell_error(row, source, "map-tables-several")
        for at in (columns.delay, *columns.losses):
            cells[at] = sheet.with_point(row, at)
        yield reader.sample(cells[source], cells[target], cells, place_of(row, columns.delay))
    readings.notes += reader.notes() + sheet.notes()


def _names(source: str, options: ImportOptions, count: int) -> tuple[str, ...]:
    if options.names is None:
        return tuple(f"n{number:0{max(3, len(str(count)))}}" for number in range(1, count + 1))
    if len(options.names) != count:
        raise LatencyMapError("map-names-mismatch", source=source, nodes=count, got=len(options.names))
    check_file_names(source, options.names)
    return options.names
