"""The square matrix, with names in its first row and column or without any."""

import math

import numpy as np

from gesscale.common.text import shortened
from latency_map.errors import LatencyMapError
from latency_map.formats.labels import stated_by
from latency_map.formats.sheet import Sheet, SheetRow
from latency_map.formats.source import MapSource, RawDelays, SideFiles, check_file_names
from latency_map.matrix import LatencyMap
from latency_map.names import find_name_fault


def read_named_matrix(source: MapSource, _side_files: SideFiles) -> RawDelays:
    """Read a square matrix with the same names in the first row and the first column.

    A blank cell is a missing delay. The corner is free, or states unit and kind: ``rtt_ms``.

    Raises
    ------
    LatencyMapError
        It is no such matrix; the message names file, line and column.
    """
    sheet = Sheet(source)
    header = sheet.first()
    names = tuple(header.cells[1:])
    if len(names) > source.limits.nodes:
        raise sheet.error(header, source.limits.nodes + 1, source.limits.too_many_nodes(str(len(names))))
    name_fault = find_name_fault(names)
    if name_fault:
        position, problem = name_fault
        raise sheet.error(header, position + 1, problem)
    positions = {name: position for position, name in enumerate(names)}
    values = np.empty((len(names), len(names)))  # every row is written, or the file refused
    lines: dict[int, int] = {}
    row = header
    for row in sheet.rows():
        if len(lines) == len(names):
            raise _not_square(sheet, row, len(names), f"{len(names) + 1} or more")
        position = _position(sheet, row, positions, lines)
        values[position] = sheet.delays(row, 1)
        lines[position] = row.line
    if len(lines) < len(names):
        raise _not_square(sheet, row, len(names), str(len(lines)))
    unit, kind = stated_by(header.cells[0])
    shuffled = list(lines) != sorted(lines)
    note = ("its rows are in another order than its columns and were matched by name",) if shuffled else ()
    return RawDelays(
        names=names,
        values=values,
        place=lambda a, b: f"line {lines[a]}, column {b + 2}",
        unit=unit,
        kind=kind,
        stated_at=f"line {header.line}, column 1: the heading says {shortened(header.cells[0].lower())}",
        notes=note + sheet.notes(),
    )


def read_bare_matrix(source: MapSource, side_files: SideFiles) -> RawDelays:
    """Read a square matrix of nothing but delays; names are made up where there are none beside it.

    Raises
    ------
    LatencyMapError
        It is no such matrix, or the names are too many or too few; the message names file, line and column.
    """
    sheet = Sheet(source)
    row = sheet.first()
    width = len(row.cells)
    most = source.limits.nodes
    if width > most + 1:
        raise sheet.error(row, most, source.limits.too_many_nodes(f"{width} cells"))
    values = np.empty((width, width))  # every row is written, or the file refused
    lines: list[int] = []
    while True:
        _check_width(sheet, row, width)
        if len(lines) == width:
            raise sheet.error(row, 0, f"expected as many rows as the first one has cells, {width}, got more")
        values[len(lines)] = sheet.delays(row, 0)
        lines.append(row.line)
        following = next(sheet.rows(), None)
        if following is None:
            break
        row = following
    count = len(lines)
    if count == width - 1 and np.isnan(values[:count, -1]).all():  # every line ends with a delimiter
        width, values = count, values[:count, :count]
    if count == width > most:
        raise sheet.error(row, most, source.limits.too_many_nodes(str(count)))
    if count != width:
        raise sheet.error(row, 0, f"expected a square matrix, got {width} cells in the first row and {count} rows")
    return RawDelays(
        names=_names(source.name, side_files, count),
        values=values,
        place=lambda a, b: f"line {lines[a]}, column {b + 1}",
        notes=sheet.notes(),
    )


def map_to_matrix(latencies: LatencyMap) -> str:
    """Write a map as CSV, as `read_named_matrix` reads it: round trips in milliseconds, blank where missing."""
    rows = [["rtt_ms", *latencies.names]]
    for name, delays in zip(latencies.names, latencies.rtt_ms.tolist(), strict=True):
        rows.append([name, *("" if math.isnan(delay) else repr(delay).removesuffix(".0") for delay in delays)])
    return "".join(",".join(_quoted(cell) for cell in row) + "\n" for row in rows)


def _position(sheet: Sheet, row: SheetRow, positions: dict[str, int], lines: dict[int, int]) -> int:
    name = row.cells[0]
    position = positions.get(name)
    if position is None:
        problem = f"expected one of the {len(positions)} names of the first row, got {shortened(name)}"
        raise sheet.error(row, 0, f"{problem}; correct it, or add a column for it")
    if position in lines:
        raise sheet.error(
            row, 0, f"expected every node once, got {name!r} on line {lines[position]} already; remove one row"
        )
    _check_width(sheet, row, len(positions) + 1)
    return position


def _check_width(sheet: Sheet, row: SheetRow, width: int) -> None:
    if len(row.cells) != width:
        raise sheet.error(
            row, min(len(row.cells), width), f"expected {width} cells as in the first row, got {len(row.cells)}"
        )


def _not_square(sheet: Sheet, row: SheetRow, names: int, rows: str) -> LatencyMapError:
    problem = f"expected a square matrix, got {names} names in the first row and {rows} rows below it"
    return sheet.error(row, 0, problem)


def _names(source: str, side_files: SideFiles, count: int) -> tuple[str, ...]:
    if side_files.names is None:
        width = max(3, len(str(count)))
        return tuple(f"n{number:0{width}}" for number in range(1, count + 1))
    if len(side_files.names) != count:
        raise LatencyMapError(
            f"{source}: expected a name for each of its {count} nodes, got {len(side_files.names)};"
            " give one name per line, in the order of the matrix"
        )
    check_file_names(source, side_files.names)
    return side_files.names


def _quoted(cell: str) -> str:
    """Quote a cell that holds a mark that could be taken for the delimiter, or begins as a comment does."""
    escaped = cell.replace('"', '""')
    return f'"{escaped}"' if cell.startswith("#") or any(mark in cell for mark in ',;\t"') else cell
