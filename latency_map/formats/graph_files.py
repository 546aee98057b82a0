"""Graphs in GML and GraphML, as topology collections and simulators write them; read by networkx."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias
from xml.etree.ElementTree import ParseError

from latency_map.errors import error_at
from latency_map.formats.links import Links
from latency_map.formats.raw import RawDelays, SideFiles, check_file_names
from latency_map.formats.source import MapSource

if TYPE_CHECKING:
    import networkx as nx

Graph: TypeAlias = "nx.Graph[Any]"

_REFUSED_BY_NETWORKX = (
    ParseError,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    ArithmeticError,
    RecursionError,
)


def read_gml(source: MapSource, _side_files: SideFiles) -> RawDelays:
    """Read a GML graph whose edges have a delay.

    Parameters
    ----------
    source
        Its text.

    Returns
    -------
    RawDelays
        Shortest paths over the edges; nodes by label, or by id where labels are missing or not unique.

    Raises
    ------
    LatencyMapError
        It is no such graph.
    """
    import networkx as nx  # heavy, and agents on small nodes import this package too

    text = source.text(source.limits.graph_bytes)
    with _said_by_networkx(source.name, "GML") as said:
        graph = nx.parse_gml(text, label="id")
    return _delays(source, graph, said)


def read_graphml(source: MapSource, _side_files: SideFiles) -> RawDelays:
    """Read a GraphML graph whose edges have a delay.

    Parameters
    ----------
    source
        Its text. A document type declaration is refused: entities could grow without end.

    Returns
    -------
    RawDelays
        As from `read_gml`.

    Raises
    ------
    LatencyMapError
        It is no such graph.
    """
    import networkx as nx

    text = source.text(source.limits.graph_bytes)
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        problem = "expected GraphML without a document type declaration, got one; remove <!DOCTYPE ...>"
        raise error_at(source.name, "", problem)
    with _said_by_networkx(source.name, "GraphML") as said:
        graph = nx.parse_graphml(text, force_multigraph=True)
    return _delays(source, graph, said)


def _delays(source: MapSource, graph: Graph, said: list[str]) -> RawDelays:
    labels = {node: str(attributes.get("label", "")).strip() for node, attributes in graph.nodes(data=True)}
    if not all(labels.values()) or len(set(labels.values())) < len(labels):
        labels = {node: str(node).strip() for node in graph}
    check_file_names(source.name, tuple(labels.values()), source.limits)
    links = Links(source.name, source.limits)
    for name in labels.values():
        links.list_node(name)
    for number, (a, b, attributes) in enumerate(graph.edges(data=True), 1):
        place = f"edge {number} ({labels[a]} - {labels[b]})"
        links.add(labels[a], labels[b], place, {str(key): value for key, value in attributes.items()})
    one_direction = graph.is_directed()
    graph.clear()
    raw = links.delays(one_direction=one_direction)
    return replace(raw, notes=raw.notes + tuple(said))


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
        problem = f"expected a graph in {form}, got: {reason[:200]}; correct it, or say --format"
        raise error_at(source, "", problem) from None
    said.extend(dict.fromkeys(f"networkx says: {str(warning.message)[:200]!r}" for warning in warned[:3]))
