"""Graphs in GML and GraphML whose edges have a delay, read with networkx."""

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias
from xml.etree.ElementTree import ParseError, fromstring

from latency_map.errors import LatencyMapError, error_of
from latency_map.formats.foreign import looks_like
from latency_map.formats.json_table import ObjectList, read_list
from latency_map.formats.json_text import Json
from latency_map.formats.samples import Readings
from latency_map.formats.source import ImportOptions, MapSource

if TYPE_CHECKING:
    import networkx as nx

Graph: TypeAlias = "nx.Graph[Any]"

_NETWORKX_ERRORS = (ParseError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError)


def read_gml(source: MapSource, options: ImportOptions) -> Readings:
    """Read a GML graph whose edges have a delay; see `name_nodes` for the names of its nodes.

    Raises
    ------
    LatencyMapError
        The graph is invalid.
    """
    import networkx as nx  # slow to import, and agents on small nodes import this package too

    return _of_graph(source, _parsed(source, "GML", lambda text: nx.parse_gml(text, label="id")), options)


def read_graphml(source: MapSource, options: ImportOptions) -> Readings:
    """Read a GraphML graph; see `read_gml`.

    Raises
    ------
    LatencyMapError
        The graph is invalid, or has a document type declaration, whose entities could expand without limit.
    """
    import networkx as nx

    text, found = source.text, looks_like(source)
    if found != "XML with the element graphml":
        raise LatencyMapError("map-format-unknown", source=source.name, looks_like=found or "XML that is broken off")
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise LatencyMapError("map-doctype-refused", source=source.name)
    graph = _parsed(source, "GraphML", lambda text: nx.parse_graphml(text, force_multigraph=True))
    ids = [(each.tag.rpartition("}")[2], each.get("id")) for each in fromstring(text).iter()]  # noqa: S314 - no DOCTYPE
    if sum(tag == "graph" for tag, _ in ids) > 1:  # networkx reads the first one
        cause = "it has several graphs, or one inside another"
        raise LatencyMapError("map-graph-invalid", source=source.name, format="GraphML", cause=cause)
    listed = {name for tag, name in ids if tag == "node"}
    if unknown := sorted(set(graph) - listed):  # networkx adds them
        raise LatencyMapError("map-ends-unknown", source=source.name, ends=unknown, nodes=sorted(map(str, listed)))
    return _of_graph(source, graph, options)


def _of_graph(source: MapSource, graph: Graph, options: ImportOptions) -> Readings:
    """Return the delays of the edges; whether they are links or measurements is decided by their number."""
    nodes: list[Json] = [{**attributes, "id": str(node).strip()} for node, attributes in graph.nodes(data=True)]
    usual = graph.graph.get("edge_default")
    usual = usual if isinstance(usual, dict) else {}
    edges = [
        {**usual, **attributes, "source": str(a).strip(), "target": str(b).strip()}
        for a, b, attributes in graph.edges(data=True)
    ]
    if not edges:
        raise LatencyMapError("map-empty", source=source.name, expected="links between nodes")
    table = ObjectList(("edges",), ({"nodes": nodes, "directed": graph.is_directed()},), edges)
    ends = replace(options, from_column="source", to_column="target")
    return read_list(source.name, table, ends, ids_only=True)


def _parsed(source: MapSource, graph_format: str, parse: Callable[[str], Graph]) -> Graph:
    """Parse a text with networkx; what it warns of is left out of the graph, so that is an error, too."""
    from networkx import NetworkXException

    limit = source.limits.graph_bytes
    if len(source.text) > limit:  # networkx needs many bytes for each character
        raise error_of(source.limits.too_large(limit, "characters of a graph"), source=source.name)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)
            return parse(source.text)
    except (NetworkXException, UserWarning, *_NETWORKX_ERRORS) as error:
        cause = (str(error) or type(error).__name__)[:200]
        raise LatencyMapError("map-graph-invalid", source=source.name, format=graph_format, cause=cause) from None
