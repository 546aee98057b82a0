"""Graphs whose edges have a delay: GML and GraphML, read by networkx.

The delay of two nodes is the shortest path over the edges.
"""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeAlias
from xml.etree.ElementTree import ParseError

import numpy as np

from gesscale.common.text import shortened
from latency_map.delays import MAX_RTT_MS, Delays
from latency_map.errors import error_at
from latency_map.formats.labels import is_delay_label, split_unit, stated_by
from latency_map.formats.sheet import is_number
from latency_map.formats.source import MapSource, RawDelays, SideFiles, check_file_names
from latency_map.kinds import DelayUnit

if TYPE_CHECKING:
    import networkx as nx

Graph: TypeAlias = "nx.Graph[Any]"

_LAST_RESORT = ("weight", "value")
_IN_MS = {DelayUnit.US: 1e-3, DelayUnit.MS: 1.0, DelayUnit.S: 1e3}
_REFUSED_BY_NETWORKX = (ParseError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError)


def read_gml(source: MapSource, _side_files: SideFiles) -> RawDelays:
    """Read a GML graph whose edges have a delay: nodes by label, or by id where labels are missing or not unique.

    Raises
    ------
    LatencyMapError
        It is no such graph.
    """
    import networkx as nx  # heavy, and agents on small nodes import this package too

    text = source.graph()
    with _said_by_networkx(source.name, "GML") as said:
        graph = nx.parse_gml(text, label="id")
    return _of_graph(source, graph, said)


def read_graphml(source: MapSource, _side_files: SideFiles) -> RawDelays:
    """Read a GraphML graph as `read_gml` does.

    Raises
    ------
    LatencyMapError
        It is no such graph, or has a document type declaration: entities could grow without end.
    """
    import networkx as nx

    text = source.graph()
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise error_at(
            source.name, "", "expected GraphML without a document type declaration, got one; remove <!DOCTYPE ...>"
        )
    with _said_by_networkx(source.name, "GraphML") as said:
        graph = nx.parse_graphml(text, force_multigraph=True)
    return _of_graph(source, graph, said)


def _of_graph(source: MapSource, graph: Graph, said: list[str]) -> RawDelays:
    """Compute the delays between all nodes, NaN where no path leads; of several edges of a pair the fastest counts."""
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
            raise error_at(
                source.name, place, "expected delays with their unit, such as '50 ms', for all edges or for none"
            )
        loops += a == b
        if a != b:
            delays[rows[a], rows[b]] = np.fmin(delay, delays[rows[a], rows[b]])
    in_ms = None not in units
    unit, kind = stated_by(key)
    notes = [f"shortest paths by the {key!r} of links: {len(edges) - loops}"]
    if loops:
        notes.append(f"links from a node to itself, left out: {loops}")
    return RawDelays(
        names=tuple(names),
        values=_shortest_paths(delays, one_direction=graph.is_directed()),
        place=lambda a, b: f"the path from {names[a]} to {names[b]}",
        unit=DelayUnit.MS if in_ms else unit,
        kind=kind,
        stated_at=f"delays with their unit, by the key {key!r}" if in_ms else f"the key {key!r} says so",
        notes=(*notes, *said),
    )


def _delay_key(source: str, edges: list[set[str]]) -> str:
    """Return by which key edges say their delay; refuse edges of which one has several."""
    if not edges:
        raise error_at(source, "", "expected links between nodes, got none")
    keys = sorted({key for keys in edges for key in keys if is_delay_label(key)})
    keys = keys or [key for key in _LAST_RESORT if key in edges[0]][:1]
    if len(keys) == 1:
        return keys[0]
    listed = " and ".join(map(shortened, keys or sorted(edges[0])[:5])) or "none"
    problem = f"expected one key for the delay or latency of links, got {listed}"
    raise error_at(source, "", f"{problem}; name the right one so, and no other")


def _delay(source: str, place: str, key: str, value: object) -> tuple[float, DelayUnit | None]:
    """Return a delay, in milliseconds where it has a unit."""
    delay, unit = np.nan, None
    if isinstance(value, str) and not is_number(value.strip()):
        with_unit = split_unit(value)
        if with_unit:
            delay, unit = with_unit[0] * _IN_MS[with_unit[1]], with_unit[1]
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        with suppress(OverflowError):  # said below
            delay = float(value)
    if not 0 <= delay <= MAX_RTT_MS:
        got = "none" if value is None else shortened(str(value))
        raise error_at(source, place, f"expected a {key} of 0 to {MAX_RTT_MS:g}, such as 12.5 or '50 ms', got {got}")
    return delay, unit


def _shortest_paths(links: Delays, *, one_direction: bool) -> Delays:
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import dijkstra

    if not one_direction:
        links = np.where(np.isnan(links), links.T, links)
    rows, columns = np.nonzero(~np.isnan(links))  # a delay of 0 is a link, too
    paths: Delays = dijkstra(csr_array((links[rows, columns], (rows, columns)), shape=links.shape))
    if np.array_equal(links, links.T, equal_nan=True):
        paths = np.minimum(paths, paths.T)  # a path is the same sum both ways, but for the last bit
    paths[np.isinf(paths)] = np.nan
    return paths


@contextmanager
def _said_by_networkx(source: str, form: str) -> Iterator[list[str]]:
    """Turn what networkx raises into one error, and gather what it warns of."""
    from networkx import NetworkXException

    said: list[str] = []
    try:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            yield said
    except (NetworkXException, *_REFUSED_BY_NETWORKX) as error:
        reason = str(error) or type(error).__name__
        raise error_at(
            source, "", f"expected a graph in {form}, got: {reason[:200]}; correct it, or say --format"
        ) from None
    said.extend(dict.fromkeys(f"networkx says: {str(warning.message)[:200]!r}" for warning in warned[:3]))
