"""What a file is, judged by how it begins, and why."""

import re

from latency_map.errors import LatencyMapError, error_at
from latency_map.formats.alto import KEYS_OF_COSTS
from latency_map.formats.document import KIND
from latency_map.formats.edges_csv import is_edge_heading
from latency_map.formats.forms import MapForm
from latency_map.formats.json_text import Json, JsonReader
from latency_map.formats.labels import pair_columns
from latency_map.formats.links_json import KEYS_OF_LINKS
from latency_map.formats.liqo import METRIC
from latency_map.formats.ping_text import FPING_BEGINS, PING_BEGINS
from latency_map.formats.pings_csv import delay_column
from latency_map.formats.scheduler_plugins import API_GROUP, CONFIG_MAP_KIND, TOPOLOGY_KIND
from latency_map.formats.sheet import ROWS_LOOKED_AT, SheetRow, is_number, is_number_or_missing, rows_at_head
from latency_map.formats.source import MapSource

_SHOWN_OF_PROGRAMS = 4000
_PIECE_CHARACTERS = 1 << 16
_DATED = re.compile(r"\[\d{1,20}\.\d{1,20}\] ")
_GML = re.compile(r"^[ \t]*graph[ \t\r\n]*\[", re.MULTILINE)
_LIQO = re.compile(rf"^(?:# (?:HELP|TYPE) )?{METRIC}[ {{]", re.MULTILINE)
_KIND = r"^kind:[ \t]*{}[ \t]*\r?$"
_VALUES_THAT_TELL = frozenset(("apiVersion", "kind", "status"))
_P2PSIM = re.compile(
    r"^(topology[ \t]+\w+Graph\b|node[ \t]+\d+[ \t\r]*$|\d+[ \t]*,[ \t]*\d+[ \t]+-?\d+\s*$)", re.M
)


_MARKS = (
    (PING_BEGINS, _SHOWN_OF_PROGRAMS, MapForm.PING, "it has the line that ping begins with"),
    (FPING_BEGINS, _SHOWN_OF_PROGRAMS, MapForm.FPING, "it has a line as fping writes them"),
    (_LIQO, None, MapForm.LIQO, f"it has a line of the metric {METRIC}"),
    (
        re.compile(_KIND.format(TOPOLOGY_KIND), re.MULTILINE),
        None,
        MapForm.NETWORK_TOPOLOGY,
        f"its kind is {TOPOLOGY_KIND}",
    ),
    (
        re.compile(_KIND.format(CONFIG_MAP_KIND), re.MULTILINE),
        None,
        MapForm.NETPERF,
        f"its kind is {CONFIG_MAP_KIND}",
    ),
    (_GML, None, MapForm.GML, "it has a graph in square brackets"),
)
"""What a text has within its first characters, how many these are, the form that it tells, and why."""


def looks_like_json(source: MapSource) -> bool:
    """Tell whether a text begins as JSON does."""
    begins = source.head.lstrip()
    return begins[:1] in ("{", "[") and not _DATED.match(begins)


def recognise_json(source: MapSource) -> tuple[MapForm, str]:
    """Tell what a piece of JSON is.

    Parameters
    ----------
    source
        Its text; only the beginning is looked at.

    Returns
    -------
    tuple
        Its form, and why.

    Raises
    ------
    LatencyMapError
        It is none of them, or no JSON.
    """
    pieces = (
        source.head[at : at + _PIECE_CHARACTERS] for at in range(0, len(source.head), _PIECE_CHARACTERS)
    )
    head = JsonReader(pieces, source.name, source.limits)
    if head.begins() == "[":
        return MapForm.LINKS, "it is a JSON list"
    keys: list[str] = []
    try:
        for key in head.members():
            keys.append(key)
            found = _form_by_key(key, head)
            if found:
                return found
    except LatencyMapError:
        if source.whole:
            raise
        # cut off, or broken where the reader will see it again
    if "nodes" in keys:
        return MapForm.LINKS, "it is JSON with nodes"
    listed = f" with {', '.join(keys[:5])[:60]}" if keys else ""
    problem = (
        "expected JSON that is a map of this project (apiVersion), a list of links or an answer of"
        f" Goldpinger's /check_all (responses), got an object of {len(keys)} keys{listed}"
    )
    raise error_at(source.name, "", problem)


def _form_by_key(key: str, head: JsonReader) -> tuple[MapForm, str] | None:
    """Return the form that a key of an object tells, and why; else pass its value."""
    if key in _VALUES_THAT_TELL:
        return _form_by_value(key, head.value())
    begins = head.begins()
    if key in KEYS_OF_COSTS and begins == "{":
        return MapForm.ALTO, f"it is JSON with a {key}"
    if key == "responses" and begins == "{":
        return MapForm.GOLDPINGER, "it is JSON with the responses of pods"
    if key in KEYS_OF_LINKS and begins == "[":
        return MapForm.LINKS, f"it is JSON with a list of {key}"
    head.skip()
    return None


def _form_by_value(key: str, value: Json) -> tuple[MapForm, str] | None:
    """Return the form that the value of a key tells, and why."""
    if key == "apiVersion" and isinstance(value, str) and value.startswith(f"{API_GROUP}/"):
        return MapForm.NETWORK_TOPOLOGY, f"its apiVersion is that of a {TOPOLOGY_KIND}"
    if key == "apiVersion" and value == "v1":
        return MapForm.NETPERF, f"its apiVersion is that of a {CONFIG_MAP_KIND}"
    if key == "apiVersion" or (key == "kind" and value == KIND):
        return MapForm.DOCUMENT, "it is JSON with an apiVersion"
    if key == "status" and value == "success":
        return MapForm.LIQO_ANSWER, "it is JSON as Prometheus answers a query"
    return None


def recognise_text(source: MapSource) -> tuple[MapForm, str]:
    """Tell what a text is that is no JSON.

    Parameters
    ----------
    source
        Its text; only the beginning is looked at.

    Returns
    -------
    tuple
        Its form, and why. A matrix with names where nothing speaks for another form.
    """
    head = source.head
    begins = head.lstrip()[:1000]
    if begins.startswith(("<?xml", "<graphml", "<!--", "<!DOCTYPE")):
        return MapForm.GRAPHML, "it is XML"
    for mark, shown, form, reason in _MARKS:
        if mark.search(head[:shown]):
            return form, reason
    first_line = next((line for line in begins.splitlines() if line.strip() and not line.startswith("#")), "")
    if _P2PSIM.match(first_line):
        return MapForm.P2PSIM, "it begins as a topology file of p2psim"
    return _recognise_rows(rows_at_head(source))


def _recognise_rows(rows: list[SheetRow]) -> tuple[MapForm, str]:
    first = rows[0].cells if rows else []
    if len(first) > 1 and all(map(is_number_or_missing, first)):
        return _recognise_numbers(rows)
    if _same_names(rows):
        return MapForm.MATRIX, "the first row and the first column hold the same names"
    found = _recognise_list(rows)
    if found is None and len(rows) > 1 and all(row.cells[0] in rows[0].cells[1:] for row in rows[1:]):
        return MapForm.MATRIX, "the first column holds names of the first row, in another order"
    return found or (MapForm.MATRIX, "it does not begin like any other form")


def _same_names(rows: list[SheetRow]) -> bool:
    """Tell whether the first column goes on as the first row does, as far as both were looked at."""
    across = rows[0].cells[1:] if rows else []
    down = [row.cells[0] for row in rows[1:]]
    return (
        bool(down)
        and across[: len(down)] == down
        and (len(down) == len(across) or len(rows) == ROWS_LOOKED_AT)
    )


def _recognise_list(rows: list[SheetRow]) -> tuple[MapForm, str] | None:
    """Tell whether rows are those of a list of pairs."""
    first = rows[0].cells if rows else []
    if is_edge_heading(first):
        return MapForm.EDGES, f"its heading begins with {','.join(first[:2])}"
    ends = pair_columns(first)
    named_again = len(rows) > 1 and rows[1].cells[0] in first[1:]  # as in a matrix of the nodes a, b, c
    if len(first) > 3 and ends is not None and delay_column(first) is not None and not named_again:
        named = f"{first[ends[0]]}, {first[ends[1]]}"
        return MapForm.PINGS, f"its heading has {named} and a delay among {len(first)} columns"
    if len(first) == 3 and is_number_or_missing(first[2]):
        return MapForm.EDGES, "its first row has three cells and the third is a delay"
    return None


def _recognise_numbers(rows: list[SheetRow]) -> tuple[MapForm, str]:
    """Tell what a sheet is whose first row holds numbers only."""
    first = rows[0].cells
    if not is_number(first[0]) and _same_names(rows) and all(map(str.isdigit, first[1:])):
        return MapForm.MATRIX, "the first row and the first column hold the same numbers, the corner none"
    if len(first) != 3 or not all(len(row.cells) == 3 for row in rows):
        return MapForm.BARE_MATRIX, "its first row holds numbers only"
    to_itself = [row.cells[at] for at, row in enumerate(rows[:3])]
    if len(rows) == 3 and not any(float(cell) for cell in to_itself if is_number(cell)):
        return MapForm.BARE_MATRIX, "it has three rows of three numbers, none of a node to itself"
    return MapForm.EDGES, "its rows have three numbers each"
