"""The forms of files, each in one row: who reads it, how a file of it begins, what it takes beside it.

Rows of cells may be of several forms, which `_recognise_rows` tells apart; the others say how they begin.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from latency_map.errors import error_at
from latency_map.formats.document import KIND
from latency_map.formats.goldpinger import read_check_all
from latency_map.formats.graphs import read_gml, read_graphml
from latency_map.formats.json_text import kind_of
from latency_map.formats.labels import pair_columns
from latency_map.formats.matrix_csv import read_bare_matrix, read_named_matrix
from latency_map.formats.pairs import delay_column, is_edge_heading, read_edges, read_pings
from latency_map.formats.ping_text import FPING_BEGINS, PING_BEGINS, read_fping, read_ping
from latency_map.formats.sheet import ROWS_LOOKED_AT, SheetRow, is_number, is_number_or_missing, rows_at_head
from latency_map.formats.source import MapSource, RawDelays, SideFiles
from latency_map.kinds import MapFormat

_HEAD_CHARACTERS = 1 << 20
_SHOWN_OF_PROGRAMS = 4000
_DATED = re.compile(r"\[\d{1,20}\.\d{1,20}\] ")
_GML = re.compile(r"^[ \t]*graph[ \t\r\n]*\[", re.MULTILINE)
_XML = ("<?xml", "<graphml", "<!--", "<!DOCTYPE")


@dataclass(frozen=True, slots=True, kw_only=True)
class FormatReader:
    """A form of files."""

    #: Its reader.
    read: Callable[[MapSource, SideFiles], RawDelays]
    #: Returns why a text is of this form, judged by how it begins; "" if it is not. None for rows of cells.
    begins: Callable[[MapSource], str] | None = None
    #: Which of `SideFiles` belong to it.
    takes: tuple[str, ...] = ()


def _begins_as_xml(source: MapSource) -> str:
    return "it is XML" if source.text[:1000].lstrip().startswith(_XML) else ""


def _begins_as_ping(source: MapSource) -> str:
    found = PING_BEGINS.search(source.text[:_SHOWN_OF_PROGRAMS])
    return "it has the line that ping begins with" if found else ""


def _begins_as_fping(source: MapSource) -> str:
    found = FPING_BEGINS.search(source.text[:_SHOWN_OF_PROGRAMS])
    return "it has a line as fping writes them" if found else ""


def _begins_as_gml(source: MapSource) -> str:
    return "it has a graph in square brackets" if _GML.search(source.text[:_HEAD_CHARACTERS]) else ""


#: All but the project's own, which gives a survey.
FORMATS: Mapping[MapFormat, FormatReader] = {
    MapFormat.GRAPHML: FormatReader(read=read_graphml, begins=_begins_as_xml),
    MapFormat.PING: FormatReader(read=read_ping, begins=_begins_as_ping, takes=("probed_from",)),
    MapFormat.FPING: FormatReader(read=read_fping, begins=_begins_as_fping, takes=("probed_from",)),
    MapFormat.GML: FormatReader(read=read_gml, begins=_begins_as_gml),
    MapFormat.MATRIX: FormatReader(read=read_named_matrix),
    MapFormat.BARE_MATRIX: FormatReader(read=read_bare_matrix, takes=("names",)),
    MapFormat.EDGES: FormatReader(read=read_edges, takes=("names",)),
    MapFormat.PINGS: FormatReader(read=read_pings),
    MapFormat.GOLDPINGER: FormatReader(read=read_check_all),
}


def recognise(source: MapSource) -> tuple[MapFormat, str]:
    """Tell what a text is, and why; a matrix with names where nothing speaks for another form.

    Raises
    ------
    LatencyMapError
        It begins as JSON and is none, or JSON of no known form.
    """
    begins = source.text[:1000].lstrip()
    if begins[:1] in ("{", "[") and not _DATED.match(begins):
        return _recognise_json(source)
    for name, reader in FORMATS.items():
        reason = reader.begins(source) if reader.begins else ""
        if reason:
            return name, reason
    return _recognise_rows(rows_at_head(source))


def _recognise_json(source: MapSource) -> tuple[MapFormat, str]:
    content = source.json
    if isinstance(content, dict):
        if "apiVersion" in content or content.get("kind") == KIND:
            return MapFormat.DOCUMENT, "it is JSON with an apiVersion"
        if isinstance(content.get("responses"), dict):
            return MapFormat.GOLDPINGER, "it is JSON with the responses of pods"
    raise error_at(
        source.name,
        "",
        "expected JSON that is a map of this project (apiVersion) or an answer of Goldpinger's /check_all"
        f" (responses), got {kind_of(content)}",
    )


def _recognise_rows(rows: list[SheetRow]) -> tuple[MapFormat, str]:
    first = rows[0].cells if rows else []
    if len(first) > 1 and all(map(is_number_or_missing, first)):
        return _recognise_numbers(rows)
    if _same_names(rows):
        return MapFormat.MATRIX, "the first row and the first column hold the same names"
    found = _recognise_list(rows)
    if found is None and len(rows) > 1 and all(row.cells[0] in rows[0].cells[1:] for row in rows[1:]):
        return MapFormat.MATRIX, "the first column holds names of the first row, in another order"
    return found or (MapFormat.MATRIX, "it does not begin like any other form")


def _same_names(rows: list[SheetRow]) -> bool:
    """Tell whether the first column goes on as the first row does, as far as both were looked at."""
    across = rows[0].cells[1:] if rows else []
    down = [row.cells[0] for row in rows[1:]]
    return bool(down) and across[: len(down)] == down and (len(down) == len(across) or len(rows) == ROWS_LOOKED_AT)


def _recognise_list(rows: list[SheetRow]) -> tuple[MapFormat, str] | None:
    """Tell whether rows are those of a list of pairs."""
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
    """Tell what a sheet is whose first row holds numbers only."""
    first = rows[0].cells
    if not is_number(first[0]) and _same_names(rows) and all(map(str.isdigit, first[1:])):
        return MapFormat.MATRIX, "the first row and the first column hold the same numbers, the corner none"
    if len(first) != 3 or not all(len(row.cells) == 3 for row in rows):
        return MapFormat.BARE_MATRIX, "its first row holds numbers only"
    to_itself = [row.cells[at] for at, row in enumerate(rows[:3])]
    if len(rows) == 3 and not any(float(cell) for cell in to_itself if is_number(cell)):
        return MapFormat.BARE_MATRIX, "it has three rows of three numbers, none of a node to itself"
    return MapFormat.EDGES, "its rows have three numbers each"
