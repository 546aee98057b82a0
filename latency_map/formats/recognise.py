"""File formats of maps, and their detection.

`FORMATS` has the reader and the detection of each format. Several formats consist of rows of cells;
`_recognise_rows` distinguishes these.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from gesscale.common import API_VERSION
from latency_map.errors import LatencyMapError
from latency_map.formats.document import KIND
from latency_map.formats.foreign import looks_like
from latency_map.formats.graphs import read_gml, read_graphml
from latency_map.formats.json_lists import json_reason, read_json
from latency_map.formats.labels import pair_columns
from latency_map.formats.matrix_csv import read_bare_matrix, read_named_matrix
from latency_map.formats.pairs import delay_column, is_edge_heading, read_edges, read_pings
from latency_map.formats.ping_text import FPING_BEGINS, PING_BEGINS, read_fping, read_ping
from latency_map.formats.samples import Readings
from latency_map.formats.sheet import HEAD_ROWS, SheetRow, is_number, is_number_or_missing, rows_at_head
from latency_map.formats.source import ImportOptions, MapSource, RawDelays
from latency_map.kinds import MapFormat

_HEAD_CHARACTERS = 1 << 20
_SHOWN_OF_PROGRAMS = 4000
_DATED = re.compile(r"\[\d{1,20}\.\d{1,20}\] ")
_GML = re.compile(r"^[ \t]*graph[ \t\r\n]*\[", re.MULTILINE)
_XML = ("<?xml", "<graphml", "<!--", "<!DOCTYPE")


@dataclass(frozen=True, slots=True, kw_only=True)
class FormatReader:
    """Reader of a file format."""

    #: Reads a file.
    read: Callable[[MapSource, ImportOptions], Readings | RawDelays]
    #: Returns the evidence in the beginning of a text for this format, "" if there is none. None for rows of cells.
    begins: Callable[[MapSource], str] | None = None
    #: The fields of `ImportOptions` that it uses.
    options: tuple[str, ...] = ()


def _begins_as_xml(source: MapSource) -> str:
    return "it is XML" if source.text[:1000].lstrip().startswith(_XML) else ""


def _begins_as_ping(source: MapSource) -> str:
    found = PING_BEGINS.search(source.text[:_SHOWN_OF_PROGRAMS])
    return "it has the first line of ping" if found else ""


def _begins_as_fping(source: MapSource) -> str:
    found = FPING_BEGINS.search(source.text[:_SHOWN_OF_PROGRAMS])
    return "it has a line of fping" if found else ""


def _begins_as_gml(source: MapSource) -> str:
    return "it has a graph in square brackets" if _GML.search(source.text[:_HEAD_CHARACTERS]) else ""


#: The readers of all formats but the native one, which `read_document` reads.
FORMATS: Mapping[MapFormat, FormatReader] = {
    MapFormat.GRAPHML: FormatReader(read=read_graphml, begins=_begins_as_xml),
    MapFormat.PING: FormatReader(read=read_ping, begins=_begins_as_ping, options=("probed_from",)),
    MapFormat.FPING: FormatReader(read=read_fping, begins=_begins_as_fping, options=("probed_from",)),
    MapFormat.GML: FormatReader(read=read_gml, begins=_begins_as_gml),
    MapFormat.MATRIX: FormatReader(read=read_named_matrix),
    MapFormat.BARE_MATRIX: FormatReader(read=read_bare_matrix, options=("names",)),
    MapFormat.EDGES: FormatReader(read=read_edges, options=("names",)),
    MapFormat.PINGS: FormatReader(read=read_pings),
    MapFormat.JSON: FormatReader(read=read_json, options=("probed_from",)),
}


def recognise(source: MapSource) -> tuple[MapFormat, str]:
    """Return the format of a text and the evidence; a matrix with names if there is no evidence for another one.

    Raises
    ------
    LatencyMapError
        The text begins like JSON and is not valid, or of no known kind.
    """
    begins = source.text[:1000].lstrip()
    if begins[:1] in ("{", "[") and not _DATED.match(begins):
        return _recognise_json(source)
    for name, reader in FORMATS.items():
        reason = reader.begins(source) if reader.begins else ""
        if reason:
            return name, reason
    if found := looks_like(source):
        raise LatencyMapError("map-form-foreign", source=source.name, looks_like=found)
    return _recognise_rows(rows_at_head(source))


def _recognise_json(source: MapSource) -> tuple[MapFormat, str]:
    content = source.json
    if isinstance(content, dict) and (content.get("kind") == KIND or str(content.get("apiVersion")) == API_VERSION):
        return MapFormat.DOCUMENT, "it is JSON with an apiVersion"
    return MapFormat.JSON, json_reason(content)


def _recognise_rows(rows: list[SheetRow]) -> tuple[MapFormat, str]:
    first = rows[0].cells if rows else []
    if len(first) > 1 and all(map(is_number_or_missing, first)):
        return _recognise_numbers(rows)
    if _same_names(rows):
        return MapFormat.MATRIX, "the first row and the first column have the same names"
    found = _recognise_list(rows)
    if found is None and len(rows) > 1 and all(row.cells[0] in rows[0].cells[1:] for row in rows[1:]):
        return MapFormat.MATRIX, "the first column has the names of the first row in another order"
    return found or (MapFormat.MATRIX, "nothing in it suggests another format")


def _same_names(rows: list[SheetRow]) -> bool:
    """Return whether the first column has the names of the first row, as far as both were read."""
    across = rows[0].cells[1:] if rows else []
    down = [row.cells[0] for row in rows[1:]]
    return bool(down) and across[: len(down)] == down and (len(down) == len(across) or len(rows) == HEAD_ROWS)


def _recognise_list(rows: list[SheetRow]) -> tuple[MapFormat, str] | None:
    """Return the format of a list of pairs and the evidence; None if the rows are not a list of pairs."""
    first = rows[0].cells if rows else []
    if is_edge_heading(first):
        return MapFormat.EDGES, f"its heading begins with {','.join(first[:2])}"
    ends = pair_columns(first)
    named_again = len(rows) > 1 and rows[1].cells[0] in first[1:]  # as in a matrix of the nodes a, b, c
    if len(first) > 3 and ends is not None and delay_column(first) is not None and not named_again:
        named = f"{first[ends[0]]}, {first[ends[1]]}"
        return MapFormat.PINGS, f"its heading has {named} and a delay among {len(first)} columns"
    if len(first) == 3 and is_number_or_missing(first[2]):
        return MapFormat.EDGES, "its first row has three cells and the third is a delay"
    return None


def _recognise_numbers(rows: list[SheetRow]) -> tuple[MapFormat, str]:
    """Return the format of rows whose first one has numbers only, and the evidence."""
    first = rows[0].cells
    if not is_number(first[0]) and _same_names(rows) and all(map(str.isdigit, first[1:])):
        return MapFormat.MATRIX, "the first row and the first column have the same numbers, the corner has none"
    if len(first) != 3 or not all(len(row.cells) == 3 for row in rows):
        return MapFormat.BARE_MATRIX, "its first row has numbers only"
    to_itself = [row.cells[at] for at, row in enumerate(rows[:3])]
    if len(rows) == 3 and not any(float(cell) for cell in to_itself if is_number(cell)):
        return MapFormat.BARE_MATRIX, "it has three rows of three numbers with a zero diagonal"
    return MapFormat.EDGES, "its rows have three numbers each"
