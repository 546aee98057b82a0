"""The edge list: rows ``from,to,delay``, with a heading or without, of commas or blanks; and p2psim's own."""

import math
import re

from gesscale.common.text import shortened
from latency_map.errors import LatencyMapError, error_at
from latency_map.formats.labels import pair_columns, stated_by
from latency_map.formats.pairs import Pairs
from latency_map.formats.raw import RawDelays, SideFiles, check_file_names
from latency_map.formats.sheet import Sheet, SheetRow, is_number
from latency_map.formats.source import MapSource
from latency_map.kinds import DelayKind, DelayUnit

_WIDTH = 3
_P2PSIM_NODE = re.compile(r"node\s+(\d{1,9})(\s.*)?", re.ASCII)
_P2PSIM_LINK = re.compile(r"(\d{1,9})\s*,\s*(\d{1,9})\s+(-?\d{1,18})", re.ASCII)
_P2PSIM_SETTING = re.compile(r"(topology|failure_model)\s.*")


def read_edges(source: MapSource, side_files: SideFiles) -> RawDelays:
    """Read an edge list.

    Parameters
    ----------
    source
        Its text; a blank delay is missing.
    side_files
        Names of nodes that the list has as numbers from 1; the numbers are the names where it has none.

    Returns
    -------
    RawDelays
        Nodes in the order in which they first occur, or of their numbers. Pairs that are not listed are missing.

    Raises
    ------
    LatencyMapError
        It is no such list; the message names file, line and column.
    """
    sheet = Sheet(source)
    row = sheet.first()
    unit: DelayUnit | None = None
    kind: DelayKind | None = None
    stated_at = ""
    pairs = Pairs(source.name, source.limits)
    if is_edge_heading(row.cells):
        unit, kind = stated_by(row.cells[2])
        stated_at = f"line {row.line}, column 3: the heading says {shortened(row.cells[2].lower())}"
    else:
        _add_edge(sheet, row, pairs)
    for each in sheet.rows():
        _add_edge(sheet, each, pairs)
    if not len(pairs):
        raise sheet.error(row, 0, "expected rows of from,to,delay below the heading, got none")
    return _gathered(
        source.name, pairs, side_files, notes=sheet.notes(), unit=unit, kind=kind, stated_at=stated_at
    )


def read_p2psim(source: MapSource, side_files: SideFiles) -> RawDelays:
    """Read a topology file of p2psim, as the King data set has them.

    Its lines are ``node 1`` and ``1,2 55123``: nodes and, in one direction, delays of pairs. As in p2psim, a
    negative delay is a missing one.

    Parameters
    ----------
    source, side_files
        As in `read_edges`.

    Returns
    -------
    RawDelays
        Nodes in the order of their numbers.

    Raises
    ------
    LatencyMapError
        It is no such file; the message names file and line.
    """
    pairs = Pairs(source.name, source.limits)
    negative = 0
    for number, line in enumerate(source.lines(), 1):
        plain = line.strip()
        if not plain or plain.startswith("#") or _P2PSIM_SETTING.fullmatch(plain):
            continue
        if node := _P2PSIM_NODE.fullmatch(plain):
            pairs.node(node[1], number, 1)
            continue
        link = _P2PSIM_LINK.fullmatch(plain)
        if link is None:
            expected = "expected 'node 1' or '1,2 55123'"
            raise error_at(source.name, f"line {number}", f"{expected}, got {shortened(plain)}")
        delay = float(link[3])
        negative += delay < 0
        a, b = pairs.node(link[1], number, 1), pairs.node(link[2], number, 1)
        pairs.add(a, b, delay if delay >= 0 else math.nan, number)
    check_file_names(source.name, pairs.names)
    notes = (f"negative delays taken as missing, as p2psim does: {negative}",) if negative else ()
    return _gathered(source.name, pairs, side_files, notes=notes)


def is_edge_heading(cells: list[str]) -> bool:
    """Tell whether a row is the heading of an edge list rather than an edge.

    Parameters
    ----------
    cells
        The first row.

    Returns
    -------
    bool
        Whether it has three cells, the first two name the ends of a pair and the third is no number.
    """
    return len(cells) == _WIDTH and pair_columns(cells[:2]) is not None and not is_number(cells[2])


def _add_edge(sheet: Sheet, row: SheetRow, pairs: Pairs) -> None:
    if len(row.cells) != _WIDTH:
        problem = f"expected three cells: from, to and the delay, got {len(row.cells)}"
        raise sheet.error(row, min(len(row.cells), _WIDTH), problem)
    a, b = (pairs.node(row.cells[column], row.line, column + 1) for column in (0, 1))
    pairs.add(a, b, sheet.delay(row, 2), row.line)


def _gathered(
    source: str,
    pairs: Pairs,
    side_files: SideFiles,
    *,
    notes: tuple[str, ...],
    unit: DelayUnit | None = None,
    kind: DelayKind | None = None,
    stated_at: str = "",
) -> RawDelays:
    found = pairs.names
    numbered = all(name.isascii() and name.isdigit() and len(name) < 10 for name in found)
    order = sorted(range(len(found)), key=lambda node: int(found[node])) if numbered else range(len(found))
    names = tuple(found[node] for node in order)
    return RawDelays(
        names=_named(source, names, side_files, numbered=numbered),
        values=pairs.finish(order),
        place=lambda a, b: f"line {pairs.line_of(a, b)}, column 3",
        unit=unit,
        kind=kind,
        stated_at=stated_at,
        notes=notes,
    )


def _named(
    source: str, numbers: tuple[str, ...], side_files: SideFiles, *, numbered: bool
) -> tuple[str, ...]:
    if side_files.names is None:
        return numbers
    if not numbered or not all(1 <= int(number) <= len(side_files.names) for number in numbers):
        message = (
            f"{source}: expected nodes by number from 1 to {len(side_files.names)}, as many as there are names,"
            " got others; give one name per line for all of them, or none"
        )
        raise LatencyMapError(message)
    named = tuple(side_files.names[int(number) - 1] for number in numbers)
    check_file_names(source, named)
    return named
