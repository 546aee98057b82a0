"""Square matrices, with names in the first row and column, in one of them, or without names."""

import math
from collections.abc import Sequence
from itertools import chain

import numpy as np

from gesscale.common.errors import Problem
from gesscale.common.text import shortened
from latency_map.errors import LatencyMapError
from latency_map.formats.columns import is_delay_label, parse_label
from latency_map.formats.rows import is_number
from latency_map.formats.samples import Block, Readings
from latency_map.formats.sheet import HEAD_ROWS, Sheet, SheetRow, is_number_or_missing, rows_at_head
from latency_map.formats.source import ImportOptions, MapSource, check_file_names
from latency_map.kinds import DelayUnit
from latency_map.matrix import LatencyMap
from latency_map.names import find_name_fault


def read_matrix(source: MapSource, options: ImportOptions) -> Readings:
    """Read a square matrix of delays, blank where missing.

    The corner may state unit and kind, such as ``rtt_ms``. R writes no corner; pandas, without its index, writes the
    names in the first row only. Nodes without a name are numbered unless the caller gives their names.

    Raises
    ------
    LatencyMapError
        The matrix is invalid, or there are too many or too few names.
    """
    sheet = Sheet(source)
    first, rows = sheet.first(), sheet.rows()
    if not has_names(rows_at_head(source)):
        return _without_names(sheet, chain([first], rows), source, options)
    second = next(rows, None)
    if second is None:
        raise sheet.cell_error(first, 0, "map-not-square", columns=len(first.cells) - 1, rows=0)
    lead = 0 if _is_unnamed(second, first) else 1
    start = 1 if lead and len(second.cells) <= len(first.cells) else 0
    names = tuple(first.cells[start:])
    if len(names) > source.limits.nodes:
        raise sheet.cell_problem(first, source.limits.nodes + start, source.limits.too_many_nodes(len(names)))
    if name_fault := find_name_fault(names):
        raise sheet.cell_problem(first, name_fault[0] + start, name_fault[1])
    table = _Table(sheet, len(names), lead, len(names))
    positions = {name: position for position, name in enumerate(names)}
    order: dict[int, int] = {}
    for row in chain([second], rows):
        number = table.add(row)
        position = _position(sheet, row, positions, order, table.lines) if lead else number
        order[position] = number
    if len(table.lines) < len(names):
        raise table.shape_error()
    notes = []
    values, lines = table.values, table.lines
    if list(order) != sorted(order):
        at = [order[position] for position in range(len(names))]
        values, lines = values[at], [lines[each] for each in at]
        notes.append(Problem("import-rows-shuffled"))
    corner = first.cells[0] if start else ""
    unit, kind = parse_label(corner) if is_delay_label(corner) else (None, None)
    if unit and table.unit and unit is not table.unit:
        raise sheet.cell_error(first, 0, "map-units-contradict", units=sorted({unit, table.unit}))
    return Readings(
        samples=Block(names, values, lambda a, b: f"line {lines[a]}, column {b + 1 + lead}"),
        unit=table.unit or unit,
        kind=kind,
        stated_at=f"line {first.line}, column 1, heading {shortened(corner)}",
        notes=notes + sheet.notes(),
    )


def has_names(rows: Sequence[SheetRow]) -> bool:
    """Return whether the first row of a matrix has names, which may be numbers that the first column has too."""
    first = rows[0].cells if rows else []
    if not all(map(is_number_or_missing, first)):
        return True
    return not is_number(first[0]) and same_names(rows) and all(map(str.isdigit, first[1:]))


def same_names(rows: Sequence[SheetRow]) -> bool:
    """Return whether the first column has the names of the first row, as far as both were read."""
    first = rows[0].cells if rows else []
    down = [row.cells[0] for row in rows[1:]]
    without_corner = bool(down) and len(rows[1].cells) == len(first) + 1
    across = first if without_corner else first[1:]
    read = len(down) == len(across) or len(rows) == HEAD_ROWS
    return read and bool(down) and across[: len(down)] == down


def _without_names(sheet: Sheet, rows: "chain[SheetRow]", source: MapSource, options: ImportOptions) -> Readings:
    first = next(rows)
    width, limit = len(first.cells), source.limits.nodes
    if width > limit + 1:
        raise sheet.cell_problem(first, limit, source.limits.too_many_nodes(width))
    table = _Table(sheet, width, 0, width + 1)
    for row in chain([first], rows):
        table.add(row)
    values, lines, heading = table.values, table.lines, None
    if len(lines) == width + 1 and _is_numbering(first.cells):  # numbers of the nodes, as pandas writes them
        heading, values, lines = tuple(first.cells), values[1:], lines[1:]
    elif len(lines) == width - 1 and np.isnan(values[: len(lines), -1]).all():  # each line ends with a delimiter
        width, values = width - 1, values[: width - 1, : width - 1]
    if len(lines) == width > limit:
        raise sheet.cell_problem(first, limit, source.limits.too_many_nodes(width))
    if len(lines) != width:
        raise table.shape_error()
    names = heading if heading and options.names is None else _names(source.name, options, width)
    block = Block(names, np.ascontiguousarray(values[:width]), lambda a, b: f"line {lines[a]}, column {b + 1}")
    return Readings(samples=block, unit=table.unit, stated_at="units of the cells", notes=sheet.notes())


class _Table:
    """The delays of the rows of a matrix in the order of the file."""

    def __init__(self, sheet: Sheet, width: int, lead: int, most: int) -> None:
        self._sheet, self._width, self._lead, self._most = sheet, width, lead, most
        self.values = np.empty((most, width))  # every row is written, or the file is rejected
        self.lines: list[int] = []
        self._units: set[DelayUnit | None] = set()
        self._last: SheetRow | None = None

    @property
    def unit(self) -> DelayUnit | None:
        """The unit that all delays have in their cells; None if they have none."""
        return next(iter(self._units), None)

    def add(self, row: SheetRow) -> int:
        """Add a row, and return its number from 0; raise LatencyMapError if it is invalid or one too many."""
        number = len(self.lines)
        if number == self._most:
            raise self._sheet.cell_error(row, 0, "map-not-square", columns=self._width, rows=f"{number + 1} or more")
        self._sheet.check_width(row, self._width + self._lead)
        self.values[number], units = self._sheet.parse_delays(row, self._lead)
        self._units |= units
        if len(self._units) > 1:
            raise self._sheet.cell_error(row, self._lead, "map-units-mixed")
        self.lines.append(row.line)
        self._last = row
        return number

    def shape_error(self) -> LatencyMapError:
        """Return the error of a table that has more or fewer rows than columns."""
        row = self._last or SheetRow(1, [])
        return self._sheet.cell_error(row, 0, "map-not-square", columns=self._width, rows=len(self.lines))


def map_to_matrix(latencies: LatencyMap) -> str:
    """Return a map as CSV for `read_matrix`: round trips in milliseconds, blank if missing."""
    rows = [["rtt_ms", *latencies.names]]
    for name, delays in zip(latencies.names, latencies.rtt_ms.tolist(), strict=True):
        rows.append([name, *("" if math.isnan(delay) else repr(delay).removesuffix(".0") for delay in delays)])
    return "".join(",".join(_quoted(cell) for cell in row) + "\n" for row in rows)


def _is_unnamed(row: SheetRow, header: SheetRow) -> bool:
    """Return whether a row below the names has delays only."""
    cells = row.cells
    return (
        len(cells) == len(header.cells) and cells[0] not in header.cells[1:] and all(map(is_number_or_missing, cells))
    )


def _is_numbering(cells: Sequence[str]) -> bool:
    return any(list(cells) == [str(start + at) for at in range(len(cells))] for start in (0, 1))


def _position(
    sheet: Sheet, row: SheetRow, positions: dict[str, int], order: dict[int, int], lines: Sequence[int]
) -> int:
    name = row.cells[0]
    position = positions.get(name)
    if position is None:
        raise sheet.cell_error(row, 0, "map-row-unknown", name=name, columns=len(positions))
    if position in order:
        raise sheet.cell_error(row, 0, "map-row-duplicate", name=name, first_line=lines[order[position]])
    return position


def _names(source: str, options: ImportOptions, count: int) -> tuple[str, ...]:
    if options.names is None:
        width = max(3, len(str(count)))
        return tuple(f"n{number:0{width}}" for number in range(1, count + 1))
    if len(options.names) != count:
        raise LatencyMapError("map-names-mismatch", source=source, nodes=count, got=len(options.names))
    check_file_names(source, options.names)
    return options.names


def _quoted(cell: str) -> str:
    """Quote a cell that contains a possible delimiter or begins like a comment."""
    escaped = cell.replace('"', '""')
    return f'"{escaped}"' if cell.startswith("#") or any(mark in cell for mark in ',;\t|"') else cell
