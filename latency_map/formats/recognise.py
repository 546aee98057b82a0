"""File formats of maps, and their detection.

`FORMATS` has the reader and the detection of each format. Matrices and lists of pairs both consist of rows of cells;
`_recognise_rows` distinguishes them by the names and numbers in them.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from gesscale.common import API_VERSION
from gesscale.common.text import shortened
from latency_map.document import KIND
from latency_map.errors import LatencyMapError
from latency_map.formats.columns import has_columns, rank_of
from latency_map.formats.foreign import looks_like
from latency_map.formats.graphs import read_gml, read_graphml
from latency_map.formats.json_lists import json_reason, read_json
from latency_map.formats.ping_text import FPING_BEGINS, PING_BEGINS, read_fping, read_ping
from latency_map.formats.rows import parse_delay
from latency_map.formats.samples import Readings
from latency_map.formats.sheet import Sheet, SheetRow
from latency_map.formats.source import ImportOptions, MapSource
from latency_map.formats.tables import has_names, is_without_heading, read_matrix, read_pairs, same_names
from latency_map.kinds import MapFormat

_GML = re.compile(r"^[ \t]*graph[ \t\r\n]*\[", re.MULTILINE)
_XML = re.compile(r"\A\s*<(?:\?xml|graphml|!--|!DOCTYPE)")


#: A number of a node; pandas writes 1.0 where another cell of its column is missing.
_NODE_NUMBER = re.compile(r"\d+(?:\.0+)?")
#: Number of characters at the beginning of a text in which its format shows.
_SHOWN = 4000
_OF_PING = ("probed_from",)
_OF_GRAPH = ("delay_column", "unit_column", "links")
_OF_LIST = ("from_column", "to_column", *_OF_GRAPH)


class FormatReader(NamedTuple):
    """Reader of a file format."""

    #: Reads a file.
    read: Callable[[MapSource, ImportOptions], Readings]
    #: The fields of `ImportOptions` that it uses.
    options: tuple[str, ...]
    #: Evidence for this format in the beginning of a text, and what it is; None for JSON and rows of cells.
    begins: re.Pattern[str] | None = None
    evidence: str = ""


#: The readers of all formats but the native one, which `read_document` reads.
FORMATS: Mapping[MapFormat, FormatReader] = {
    MapFormat.GRAPHML: FormatReader(read_graphml, _OF_GRAPH, _XML, "it is XML"),
    MapFormat.PING: FormatReader(read_ping, _OF_PING, PING_BEGINS, "it has the first line of ping"),
    MapFormat.FPING: FormatReader(read_fping, _OF_PING, FPING_BEGINS, "it has a line of fping"),
    MapFormat.GML: FormatReader(read_gml, _OF_GRAPH, _GML, "it has a graph in square brackets"),
    MapFormat.MATRIX: FormatReader(read_matrix, ("names", "links")),
    MapFormat.PAIRS: FormatReader(read_pairs, _OF_LIST),
    MapFormat.JSON: FormatReader(read_json, (*_OF_PING, *_OF_LIST)),
}


def recognise(source: MapSource, options: ImportOptions) -> tuple[MapFormat, str]:
    """Return the format of a text and the evidence.

    Raises
    ------
    LatencyMapError
        The text is of no known format, or fits two.
    """
    for name, reader in FORMATS.items():
        if reader.begins and reader.begins.search(source.text, 0, _SHOWN):
            return name, reader.evidence
    if program := looks_like(source):
        raise LatencyMapError("map-format-unknown", source=source.name, looks_like=program)
    if source.text[:1000].lstrip()[:1] in ("{", "["):
        content = source.json
        if isinstance(content, dict) and (content.get("kind") == KIND or str(content.get("apiVersion")) == API_VERSION):
            return MapFormat.DOCUMENT, "it is JSON with an apiVersion"
        return MapFormat.JSON, json_reason(content)
    if any((options.from_column, options.to_column, options.delay_column, options.unit_column)):
        return MapFormat.PAIRS, "options name its columns"
    return _recognise_rows(source, Sheet(source).head)


def _recognise_rows(source: MapSource, rows: Sequence[SheetRow]) -> tuple[MapFormat, str]:
    """Return the format of rows of cells and the evidence."""
    first = rows[0].cells
    if len(first) > 1 and not has_names(rows):
        return _recognise_numbers(source, rows)
    named_again = sum(row.cells[0] in first for row in rows[1:])
    has_ends, begins_with_end = has_columns(first), has_columns(first) and not has_columns(first[1:])
    found = {
        "the first row and the first column have the same names": same_names(rows),
        "its first row has three cells and the third is a delay": is_without_heading(first),
        "its heading begins with an end of a pair and has a delay": begins_with_end and any(map(rank_of, first)),
        "the first column has names of the first row": named_again > len(rows[1:]) / 2,
        "its heading has the two ends of a pair": has_ends,
    }
    for reason, fits in found.items():
        if fits:
            return MapFormat.MATRIX if "names" in reason else MapFormat.PAIRS, reason
    text = f"text that begins with {shortened(source.text.strip()[:80])}"
    if len(first) > 1 and any(mark in source.text[:1000] for mark in ",;\t|"):
        text = f"a table with the columns {', '.join(map(shortened, first[:8]))}"
    raise LatencyMapError("map-format-unknown", source=source.name, looks_like=text)


def _recognise_numbers(source: MapSource, rows: Sequence[SheetRow]) -> tuple[MapFormat, str]:
    """Return the format of rows of numbers and the evidence; three columns may be a matrix or a list of pairs."""
    if any(len(row.cells) != 3 for row in rows):
        return MapFormat.MATRIX, "its first row has numbers only"
    cells = [[parse_delay(cell.replace(",", "."), source.name, "")[0] for cell in row.cells] for row in rows]
    has_delays = any(row[2] >= 0 for row in cells)
    if has_delays and not all(
        _NODE_NUMBER.fullmatch(row.cells[at]) for row in rows for at in (0, 1)
    ):  # no node is called 0.05
        return MapFormat.MATRIX, "it has three columns of numbers, of which the first two are no nodes"
    numbered = len(rows) == 4 and rows[0].cells in (["0", "1", "2"], ["1", "2", "3"])  # the first row, by pandas
    last = cells[-3:]
    symmetric = len(last) == 3 and all(last[a][b] == last[b][a] for a in range(3) for b in range(3))
    if symmetric and len(rows) == 3 and not any(last[at][at] for at in range(3)):
        return MapFormat.MATRIX, "it has three rows of three numbers, symmetric with a zero diagonal"
    small = (numbered or len(rows) == 3) and (symmetric or all(last[at][at] == min(last[at]) for at in range(3)))
    if small or not has_delays:  # without a delay, the last column may be the end of each line
        raise LatencyMapError("map-format-ambiguous", source=source.name, formats="matrix, pairs")
    return MapFormat.PAIRS, "its rows have three numbers each"
