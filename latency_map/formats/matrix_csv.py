"""The square CSV matrix: names in the first row and, in the same order, in the first column."""

import math
from collections.abc import Sequence

import numpy as np

from latency_map.delays import Asymmetry, DelayKind, Delays, DelayUnit, find_fault
from latency_map.formats.sheet import Row, Sheet, heading, shortened
from latency_map.matrix import LatencyMap
from latency_map.names import find_name_fault


def matrix_to_map(sheet: Sheet, *, unit: DelayUnit, kind: DelayKind, asymmetry: Asymmetry) -> LatencyMap:
    """Read a square matrix.

    Parameters
    ----------
    sheet
        Its cells; a blank one is a missing delay, the corner is free.
    unit, kind
        What its delays mean.
    asymmetry
        What to do where the two directions of a pair differ.

    Returns
    -------
    LatencyMap
        The map.

    Raises
    ------
    LatencyMapError
        It is no such matrix; the message names file, line and column.
    """
    header, *rows = sheet.rows
    sheet.check_label(header, 0, unit, kind)
    names = header.cells[1:]
    name_fault = find_name_fault(names)
    if name_fault:
        position, problem = name_fault
        raise sheet.error(header, position + 1, problem)
    values = _values(sheet, names, rows)
    fault = find_fault(values, unit=unit, kind=kind, asymmetry=asymmetry)
    if fault:
        problem = f"{names[fault.row]} to {names[fault.column]}: {fault.problem}"
        raise sheet.error(rows[fault.row], fault.column + 1, problem)
    return LatencyMap.from_delays(names, values, unit=unit, kind=kind, asymmetry=asymmetry)


def map_to_matrix(latencies: LatencyMap) -> str:
    """Write a map as CSV, as `matrix_to_map` reads it: round trips in milliseconds, blank where missing.

    Parameters
    ----------
    latencies
        The map.

    Returns
    -------
    str
        One line per node below a heading; the corner states unit and kind.
    """
    rows = [[heading(DelayUnit.MS, DelayKind.RTT), *latencies.names]]
    for name, delays in zip(latencies.names, latencies.rtt_ms.tolist(), strict=True):
        rows.append(
            [name, *("" if math.isnan(delay) else repr(delay).removesuffix(".0") for delay in delays)]
        )
    return "".join(",".join(_quoted(cell) for cell in row) + "\n" for row in rows)


def _values(sheet: Sheet, names: Sequence[str], rows: Sequence[Row]) -> Delays:
    if len(rows) != len(names):
        problem = (
            f"expected a square matrix, got {len(names)} names in the first row and {len(rows)} rows below it"
        )
        raise sheet.error(sheet.rows[-1], 0, problem)
    width = len(names) + 1
    values = np.empty((len(names), len(names)))
    for index, (name, row) in enumerate(zip(names, rows, strict=True)):
        if row.cells[0] != name:
            problem = (
                f"expected {name!r} as in column {index + 2} of the first row, got {shortened(row.cells[0])}"
            )
            raise sheet.error(row, 0, problem)
        if len(row.cells) != width:
            problem = f"expected {width} cells as in the first row, got {len(row.cells)}"
            raise sheet.error(row, min(len(row.cells), width), problem)
        values[index] = [sheet.delay(row, column) for column in range(1, width)]
    return values


def _quoted(cell: str) -> str:
    """Quote a cell that holds a mark that could be taken for the delimiter."""
    escaped = cell.replace('"', '""')
    return f'"{escaped}"' if any(mark in cell for mark in ',;\t"') else cell
