"""Graphs in GML and GraphML whose edges have a delay, read with networkx."""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias
from xml.etree.ElementTree import ParseError

from gesscale.common.errors import Problem
from latency_map.errors import LatencyMapError
from latency_map.formats.columns import find_columns
from latency_map.formats.foreign import looks_like
from latency_map.formats.rows import RowReader
from latency_map.formats.samples import DelaySample, Readings
from latency_map.formats.source import ImportOptions, MapSource, check_file_names

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

    text = source.graph()
    with _networkx_errors(source.name, "GML") as notes:
        graph = nx.parse_gml(text, label="id")
    return _of_graph(source, graph, notes, options)


def read_graphml(source: MapSource, options: ImportOptions) -> Readings:
    """Read a GraphML graph; see `read_gml`.

    Raises
    ------
    LatencyMapError
        The graph is invalid, or has a document type declaration, whose entities could expand without limit.
    """
    import networkx as nx

    text = source.graph()
    found = looks_like(source)
    if found != "XML with the element graphml":
        raise LatencyMapError("map-format-unknown", source=source.name, looks_like=found or "XML that is broken off")
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise LatencyMapError("map-doctype-refused", source=source.name)
    with _networkx_errors(source.name, "GraphML") as notes:
        graph = nx.parse_graphml(text, force_multigraph=True)
    return _of_graph(source, graph, notes, options)


def _of_graph(source: MapSource, graph: Graph, notes: list[Problem], options: ImportOptions) -> Readings:
    """Return the delays of the edges; whether they are links or measurements is decided by their number."""
    names, naming = name_nodes([(str(node), attributes) for node, attributes in graph.nodes(data=True)])
    check_file_names(source.name, names, source.limits)
    edges = list(graph.edges(data=True))
    if not edges:
        raise LatencyMapError("map-empty", source=source.name, expected="links between nodes")
    labels = list(dict.fromkeys(str(key) for *_, attributes in edges for key in attributes))
    rows = RowReader(source.name, labels, find_columns(source.name, labels, options, with_ends=False))
    samples = []
    name_of = dict(zip(graph, names, strict=True))
    for number, (a, b, attributes) in enumerate(edges, 1):
        cells = [attributes.get(label) for label in labels]
        sample = rows.sample(name_of[a], name_of[b], cells, f"edge {number} ({name_of[a]} - {name_of[b]})")
        samples.append(of_link(sample))
    return Readings(
        samples=samples,
        unit=rows.unit,
        kind=rows.kind,
        stated_at=f"the key {labels[rows.columns.delay]!r}",
        graph=True,
        directed=graph.is_directed(),
        names=names,
        notes=[*naming, *notes, *rows.notes()],
    )


def of_link(sample: DelaySample) -> DelaySample:
    """Return a sample without a loss that is not total: it is a property of the link, as in Shadow and Mininet."""
    return sample if sample.loss_ratio is None or sample.loss_ratio >= 1 else sample._replace(loss_ratio=None)


def name_nodes(nodes: Sequence[tuple[str, Mapping[str, object]]]) -> tuple[tuple[str, ...], list[Problem]]:
    """Return the names of nodes with ids and attributes: label or name if each node has another one, else the ids."""
    notes: list[Problem] = []
    for key in ("label", "name"):
        found = [str(attributes.get(key) or "").strip() for _, attributes in nodes]
        if nodes and all(found) and len(set(found)) == len(found):
            return tuple(found), notes
        if any(found):
            notes.append(Problem("import-labels-dropped", {"key": key}))
    return tuple(node.strip() for node, _ in nodes), notes


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
