"""The CSV edge list: rows ``from,to,delay``, with a heading or without."""

import numpy as np

from latency_map.delays import Asymmetry, DelayKind, DelayUnit, find_fault
from latency_map.formats.sheet import Row, Sheet, is_number
from latency_map.matrix import LatencyMap
from latency_map.names import find_name_fault

_HEADINGS = {("from", "to"), ("source", "target"), ("src", "dst"), ("a", "b"), ("i", "j")}
_WIDTH = 3


def edges_to_map(sheet: Sheet, *, unit: DelayUnit, kind: DelayKind, asymmetry: Asymmetry) -> LatencyMap:
    """Read an edge list.

    Parameters
    ----------
    sheet
        Its cells; a blank delay is missing.
    unit, kind
        What its delays mean.
    asymmetry
        What to do where the two directions of a pair differ.

    Returns
    -------
    LatencyMap
        Nodes in the order in which they first occur. Pairs that are not listed are missing; a pair listed in
        one direction stands for both.

    Raises
    ------
    LatencyMapError
        It is no such list; the message names file, line and column.
    """
    rows = sheet.rows
    if is_edge_heading(rows[0]):
        sheet.check_label(rows[0], 2, unit, kind)
        rows = rows[1:]
    if not rows:
        raise sheet.error(sheet.rows[0], 0, "expected rows of from,to,delay below the heading, got none")
    origins: dict[tuple[str, str], Row] = {}
    for row in rows:
        _check_edge(sheet, row)
        a, b = row.cells[:2]
        if (a, b) in origins:
            problem = (
                f"expected every pair once, got this one on line {origins[a, b].line} already; remove one"
            )
            raise sheet.error(row, 0, problem)
        origins[a, b] = row
    names = tuple(dict.fromkeys(name for pair in origins for name in pair))
    name_fault = find_name_fault(names)
    if name_fault:
        raise sheet.error(rows[-1], 0, name_fault[1])
    positions = {name: position for position, name in enumerate(names)}
    values = np.full((len(names), len(names)), np.nan)
    for (a, b), row in origins.items():
        values[positions[a], positions[b]] = sheet.delay(row, 2)
    fault = find_fault(values, unit=unit, kind=kind, asymmetry=asymmetry)
    if fault:
        a, b = names[fault.row], names[fault.column]
        raise sheet.error(origins[a, b], 2, f"{a} to {b}: {fault.problem}")
    return LatencyMap.from_delays(names, values, unit=unit, kind=kind, asymmetry=asymmetry)


def is_edge_heading(row: Row) -> bool:
    """Tell whether a row is the heading of an edge list rather than an edge.

    Parameters
    ----------
    row
        The first row.

    Returns
    -------
    bool
        Whether it has three cells, the first two a known heading and the third no number.
    """
    begins = tuple(cell.lower() for cell in row.cells[:2])
    return len(row.cells) == _WIDTH and begins in _HEADINGS and not is_number(row.cells[2])


def _check_edge(sheet: Sheet, row: Row) -> None:
    if len(row.cells) != _WIDTH:
        problem = f"expected three cells: from, to and the delay, got {len(row.cells)}"
        raise sheet.error(row, min(len(row.cells), _WIDTH), problem)
    for column in (0, 1):
        fault = find_name_fault(row.cells[column : column + 1])
        if fault:
            raise sheet.error(row, column, fault[1])
