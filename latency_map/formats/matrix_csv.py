"""Square matrices, with names in the first row and column or without names."""

import math

import numpy as np

from gesscale.common.errors import Problem
from gesscale.common.text import shortened
from latency_map.errors import LatencyMapError
from latency_map.formats.labels import parse_label
from latency_map.formats.sheet import Sheet, SheetRow
from latency_map.formats.source import ImportOptions, MapSource, RawDelays, check_file_names
from latency_map.matrix import LatencyMap
from latency_map.names import find_name_fault


def read_named_matrix(source: MapSource, _options: ImportOptions) -> RawDelays:
    """Read a square matrix with the same names in the first row and the first column.

    A blank cell is a missing delay. The corner may state unit and kind, such as ``rtt_ms``.

    Raises
    ------
    LatencyMapError
        The matrix is invalid.
    """
    sheet = Sheet(source)
    header = sheet.first()
    names = tuple(header.cells[1:])
    if len(names) > source.limits.nodes:
        raise sheet.cell_problem(header, source.limits.nodes + 1, source.limits.too_many_nodes(len(names)))
    if name_fault := find_name_fault(names):
        position, problem = name_fault
        raise sheet.cell_problem(header, position + 1, problem)
    positions = {name: position for position, name in enumerate(names)}
    values = np.empty((len(names), len(names)))  # every row is written, or the file is rejected
    lines: dict[int, int] = {}
    row = header
    for row in sheet.rows():
        if len(lines) == len(names):
            raise sheet.cell_error(row, 0, "map-not-square", columns=len(names), rows=f"{len(names) + 1} or more")
        position = _position(sheet, row, positions, lines)
        values[position] = sheet.parse_delays(row, 1)
        lines[position] = row.line
    if len(lines) < len(names):
        raise sheet.cell_error(row, 0, "map-not-square", columns=len(names), rows=len(lines))
    unit, kind = parse_label(header.cells[0])
    shuffled = list(lines) != sorted(lines)
    note = (Problem("import-rows-shuffled"),) if shuffled else ()
    return RawDelays(
        names=names,
        values=values,
        place=lambda a, b: f"line {lines[a]}, column {b + 2}",
        unit=unit,
        kind=kind,
        stated_at=f"line {header.line}, column 1, heading {shortened(header.cells[0].lower())}",
        notes=note + sheet.notes(),
    )


def read_bare_matrix(source: MapSource, options: ImportOptions) -> RawDelays:
    """Read a square matrix that has delays only; generate names unless the caller gives them.

    Raises
    ------
    LatencyMapError
        The matrix is invalid, or there are too many or too few names.
    """
    sheet = Sheet(source)
    row = sheet.first()
    width = len(row.cells)
    limit = source.limits.nodes
    if width > limit + 1:
        raise sheet.cell_problem(row, limit, source.limits.too_many_nodes(width))
    values = np.empty((width, width))  # every row is written, or the file is rejected
    lines: list[int] = []
    while True:
        _check_width(sheet, row, width)
        if len(lines) == width:
            raise sheet.cell_error(row, 0, "map-not-square", columns=width, rows=f"{width + 1} or more")
        values[len(lines)] = sheet.parse_delays(row, 0)
        lines.append(row.line)
        following = next(sheet.rows(), None)
        if following is None:
            break
        row = following
    count = len(lines)
    if count == width - 1 and np.isnan(values[:count, -1]).all():  # every line ends with a delimiter
        width, values = count, values[:count, :count]
    if count == width > limit:
        raise sheet.cell_problem(row, limit, source.limits.too_many_nodes(count))
    if count != width:
        raise sheet.cell_error(row, 0, "map-not-square", columns=width, rows=count)
    return RawDelays(
        names=_names(source.name, options, count),
        values=values,
        place=lambda a, b: f"line {lines[a]}, column {b + 1}",
        notes=sheet.notes(),
    )


def map_to_matrix(latencies: LatencyMap) -> str:
    """Return a map as CSV for `read_named_matrix`: round trips in milliseconds, blank if missing."""
    rows = [["rtt_ms", *latencies.names]]
    for name, delays in zip(latencies.names, latencies.rtt_ms.tolist(), strict=True):
        rows.append([name, *("" if math.isnan(delay) else repr(delay).removesuffix(".0") for delay in delays)])
    return "".join(",".join(_quoted(cell) for cell in row) + "\n" for row in rows)


def _position(sheet: Sheet, row: SheetRow, positions: dict[str, int], lines: dict[int, int]) -> int:
    name = row.cells[0]
    position = positions.get(name)
    if position is None:
        raise sheet.cell_error(row, 0, "map-row-unknown", name=name, columns=len(positions))
    if position in lines:
        raise sheet.cell_error(row, 0, "map-row-duplicate", name=name, first_line=lines[position])
    _check_width(sheet, row, len(positions) + 1)
    return position


def _check_width(sheet: Sheet, row: SheetRow, width: int) -> None:
    if len(row.cells) != width:
        got = len(row.cells)
        raise sheet.cell_error(row, min(got, width), "map-row-ragged", expected=width, got=got)


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
    return f'"{escaped}"' if cell.startswith("#") or any(mark in cell for mark in ',;\t"') else cell
