"""Graphs in GML and GraphML whose edges have a delay, read with networkx.

The delay between two nodes is that of the shortest path.
"""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeAlias
from xml.etree.ElementTree import ParseError

import numpy as np

from gesscale.common.errors import Problem
from latency_map.delays import MAX_RTT_MS, Delays
from latency_map.errors import LatencyMapError
from latency_map.formats.labels import is_delay_label, parse_label, split_unit
from latency_map.formats.links import shortest_paths
from latency_map.formats.sheet import is_number
from latency_map.formats.source import ImportOptions, MapSource, RawDelays, check_file_names
from latency_map.kinds import DelayUnit

if TYPE_CHECKING:
    import networkx as nx

Graph: TypeAlias = "nx.Graph[Any]"

_LAST_RESORT = ("weight", "value")
_IN_MS = {DelayUnit.US: 1e-3, DelayUnit.MS: 1.0, DelayUnit.S: 1e3}
_NETWORKX_ERRORS = (ParseError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError)


def read_gml(source: MapSource, _options: ImportOptions) -> RawDelays:
    """Read a GML graph whose edges have a delay; nodes are named by label, or by id if labels are not unique.

    Raises
    ------
    LatencyMapError
        The graph is invalid.
    """
    import networkx as nx  # slow to import, and agents on small nodes import this package too

    text = source.graph()
    with _networkx_errors(source.name, "GML") as notes:
        graph = nx.parse_gml(text, label="id")
    return _of_graph(source, graph, notes)


def read_graphml(source: MapSource, _options: ImportOptions) -> RawDelays:
    """Read a GraphML graph; see `read_gml`.

    Raises
    ------
    LatencyMapError
        The graph is invalid, or has a document type declaration, whose entities could expand without limit.
    """
    import networkx as nx

    text = source.graph()
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise LatencyMapError("map-doctype-refused", source=source.name)
    with _networkx_errors(source.name, "GraphML") as notes:
        graph = nx.parse_graphml(text, force_multigraph=True)
    return _of_graph(source, graph, notes)


def _of_graph(source: MapSource, graph: Graph, warned: list[Problem]) -> RawDelays:
    """Compute the delays between all nodes, NaN without a path; the fastest of parallel edges counts."""
    names = [str(label).strip() for _, label in graph.nodes(data="label", default="")]
    if not all(names) or len(set(names)) < len(names):
        names = [str(node).strip() for node in graph]
    check_file_names(source.name, names, source.limits)
    rows = {node: row for row, node in enumerate(graph)}
    edges = list(graph.edges(data=True))
    key = _delay_key(source.name, [{str(name) for name in attributes} for *_, attributes in edges])
    delays: Delays = np.full((len(names), len(names)), np.nan)
    units, loops = set(), 0
    for number, (a, b, attributes) in enumerate(edges, 1):
        place = f"edge {number} ({names[rows[a]]} - {names[rows[b]]})"
        delay, unit = _delay(source.name, place, key, attributes.get(key))
        units.add(unit)
        if len(units) > 1 and None in units:
            raise LatencyMapError("map-units-mixed", source=source.name, place=place)
        loops += a == b
        if a != b:
            delays[rows[a], rows[b]] = np.fmin(delay, delays[rows[a], rows[b]])
    in_ms = None not in units
    unit, kind = parse_label(key)
    values, note = shortest_paths(delays, directed=graph.is_directed())
    notes = [note]
    if loops:
        notes.append(Problem("import-loops-skipped", {"count": loops}))
    return RawDelays(
        names=tuple(names),
        values=values,
        place=lambda a, b: f"path from {names[a]} to {names[b]}",
        unit=DelayUnit.MS if in_ms else unit,
        kind=kind,
        stated_at=f"units of the key {key!r}" if in_ms else f"the key {key!r}",
        notes=(*notes, *warned),
    )


def _delay_key(source: str, edges: list[set[str]]) -> str:
    """Return the key of the delay of edges; reject edges with several or none."""
    if not edges:
        raise LatencyMapError("map-empty", source=source, expected="links between nodes")
    keys = sorted({key for keys in edges for key in keys if is_delay_label(key)})
    keys = keys or [key for key in _LAST_RESORT if key in edges[0]][:1]
    if len(keys) == 1:
        return keys[0]
    raise LatencyMapError("map-key-ambiguous", source=source, keys=keys or sorted(edges[0]) or ["none"])


def _delay(source: str, place: str, key: str, value: object) -> tuple[float, DelayUnit | None]:
    """Parse a delay; it is in milliseconds if it has a unit."""
    delay, unit = np.nan, None
    if isinstance(value, str) and not is_number(value.strip()):
        with_unit = split_unit(value)
        if with_unit:
            delay, unit = with_unit[0] * _IN_MS[with_unit[1]], with_unit[1]
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        with suppress(OverflowError):  # rejected below
            delay = float(value)
    if not 0 <= delay <= MAX_RTT_MS:
        raise LatencyMapError("map-link-invalid", source=source, place=place, key=key, limit=MAX_RTT_MS, value=value)
    return delay, unit


@contextmanager
def _networkx_errors(source: str, graph_format: str) -> Iterator[list[Problem]]:
    """Convert the exceptions of networkx to one error, and collect its warnings."""
    from networkx import NetworkXException

    notes: list[Problem] = []
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield notes
    except (NetworkXException, *_NETWORKX_ERRORS) as error:
        cause = (str(error) or type(error).__name__)[:200]
        raise LatencyMapError("map-graph-invalid", source=source, format=graph_format, cause=cause) from None
    texts = dict.fromkeys(str(warning.message)[:200] for warning in caught[:3])
    notes.extend(Problem("import-graph-warning", {"text": text}) for text in texts)
