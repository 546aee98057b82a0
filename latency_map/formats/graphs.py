"""Graphs, whose links have a delay: GML and GraphML, read by networkx, and lists of links as JSON.

The delay of two nodes is the shortest path over the links.
"""

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias
from xml.etree.ElementTree import ParseError

import numpy as np

from gesscale.common.text import shortened
from latency_map.delays import MAX_RTT_MS, Delays
from latency_map.errors import error_at
from latency_map.formats.json_text import Json, kind_of
from latency_map.formats.labels import is_delay_label, pair_columns, split_unit, stated_by
from latency_map.formats.raw import RawDelays, SideFiles, check_file_names
from latency_map.formats.sheet import is_number
from latency_map.formats.source import MapSource
from latency_map.grid import Grid
from latency_map.kinds import DelayUnit

if TYPE_CHECKING:
    import networkx as nx

Graph: TypeAlias = "nx.Graph[Any]"

KEYS_OF_LINKS = ("links", "edges", "connections")
"""Under which of these the links stand in a JSON object."""

_KEYS_OF_NAMES = ("id", "name", "label")
_EXAMPLE = '{"from": "a", "to": "b", "delay": 5}'
_LAST_RESORT = ("weight", "value")
_IN_MS = {DelayUnit.US: 1e-3, DelayUnit.MS: 1.0, DelayUnit.S: 1e3}
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
        problem = "expected GraphML without a document type declaration, got one; remove <!DOCTYPE ...>"
        raise error_at(source.name, "", problem)
    with _said_by_networkx(source.name, "GraphML") as said:
        graph = nx.parse_graphml(text, force_multigraph=True)
    return _of_graph(source, graph, said)


def read_links(source: MapSource, _side_files: SideFiles) -> RawDelays:
    """Read a JSON list of links, an object with one, or node-link data of networkx.

    Links stand for both directions unless it says ``"directed": true`` or has the other one too. Nodes are in the
    order of ``nodes``, else in that in which they first occur.

    Raises
    ------
    LatencyMapError
        There are no links, or one is not of that form; the message says which.
    """
    content, links = source.json, Links(source)
    listed, key, directed = content, "", False
    if isinstance(content, dict):
        directed = content.get("directed") is True
        key = next((key for key in KEYS_OF_LINKS if isinstance(content.get(key), list)), "")
        nodes, listed = content.get("nodes"), content.get(key)
        for index, node in enumerate(nodes if isinstance(nodes, list) else []):
            name = (
                next((node[key] for key in _KEYS_OF_NAMES if key in node), None)
                if isinstance(node, dict)
                else node
            )
            links.number(_name(name, f"nodes[{index}]", source.name))
    if not isinstance(listed, list):
        got = "an object without any" if isinstance(content, dict) else kind_of(content)
        problem = f"expected a list of links, or an object with links, got {got}"
        raise error_at(source.name, "", problem)
    for index, link in enumerate(listed):
        place = f"{key}[{index}]"
        a, b, attributes = _ends(link, place, source.name)
        links.add(a, b, place, attributes)
    return links.delays(one_direction=directed)


class Links:
    """Links that come one by one; of several between two nodes the fastest is kept."""

    def __init__(self, source: MapSource) -> None:
        self._source = source.name
        self._grid = Grid(source.name, source.limits, {"delay": np.float64(np.nan)})
        self._links: list[tuple[int, int, float, DelayUnit | None]] = []
        self._places: list[str] = []
        self._key = self._first_delay = ""

    def number(self, name: str) -> int:
        """Return the number of a node, which may have no link; raises where no map can have it, or that many."""
        return self._grid.number(name)

    def add(self, a: str, b: str, place: str, attributes: Mapping[str, object]) -> None:
        """Take a link from node a to node b.

        Parameters
        ----------
        a, b
            Its ends.
        place
            Where it stands, for messages.
        attributes
            What the file says of it; one of them is its delay, by the same key for all.

        Raises
        ------
        LatencyMapError
            No latency map can have such a node, or that many; or the delay is missing, no number or out of range.
        """
        row, column = self.number(a), self.number(b)
        self._check_keys(attributes)
        value = attributes.get(self._key)
        delay, unit = self._delay(place, value)
        if not 0 <= delay <= MAX_RTT_MS:
            raise error_at(self._source, place, f"expected a delay of 0 to {MAX_RTT_MS:g}, got {delay:g}")
        self._first_delay = self._first_delay or repr(value)
        self._links.append((row, column, delay, unit))
        self._places.append(place)

    def delays(self, *, one_direction: bool) -> RawDelays:
        """Compute the delays between all nodes, NaN where no path leads.

        Parameters
        ----------
        one_direction
            Whether a link can be used in its own direction only. Otherwise it stands for both, unless the other
            direction has a link of its own.

        Raises
        ------
        LatencyMapError
            There is no node or no link, or some delays have a unit and some have none.
        """
        names = tuple(self._grid.numbers)
        check_file_names(self._source, names)
        if not self._links:
            raise error_at(self._source, "", "expected links between nodes, got none")
        unit, kind = stated_by(self._key)
        stated_at = f"the key {self._key!r} says so"
        common = self._common_unit()
        if common is not None:
            unit, stated_at = common, f"delays such as {self._first_delay} say so"
        own = sum(row == column for row, column, *_ in self._links)
        notes = [f"shortest paths by the {self._key!r} of links: {len(self._links) - own}"]
        if own:
            notes.append(f"links from a node to itself, left out: {own}")
        return RawDelays(
            names=names,
            values=_shortest_paths(self._fastest(common), one_direction=one_direction),
            place=lambda a, b: f"the path from {names[a]} to {names[b]}",
            unit=unit,
            kind=kind,
            stated_at=stated_at,
            notes=tuple(notes),
        )

    def _fastest(self, common: DelayUnit | None) -> Delays:
        """Return the fastest link of each pair, in the unit of all."""
        fastest = self._grid.layers["delay"]
        for row, column, delay, unit in self._links:
            if row != column:
                there = delay * _IN_MS[unit] if unit and unit is not common else delay
                fastest[row, column] = np.fmin(there, fastest[row, column])
        return self._grid.finish("delay")

    def _common_unit(self) -> DelayUnit | None:
        """Return the unit of all delays: milliseconds where several occur, None where none does."""
        units = {unit for *_, unit in self._links}
        if len(units) > 1 and None in units:
            odd = next(place for place, (*_, unit) in zip(self._places, self._links, strict=True) if not unit)
            problem = "expected a delay with its unit as other links have, such as '50 ms', got none"
            raise error_at(self._source, odd, problem)
        return units.pop() if len(units) == 1 else DelayUnit.MS

    def _check_keys(self, attributes: Mapping[str, object]) -> None:
        """Choose the key of the delay by the first link; refuse a link that has another such key as well."""
        named = [key for key in attributes if is_delay_label(key)]
        if not self._key:
            candidates = named or [key for key in _LAST_RESORT if key in attributes]
            if not candidates:
                listed = ", ".join(shortened(key) for key in list(attributes)[:5]) or "none"
                problem = f"expected links with a delay or latency, got links with the keys {listed}"
                raise error_at(self._source, "", f"{problem}; name the right one so")
            self._key = candidates[0]
        other = next((key for key in named if key != self._key), None)
        if other is not None:
            problem = (
                f"expected one key for the delay of links, got {shortened(self._key)} and {shortened(other)}"
            )
            raise error_at(self._source, "", f"{problem}; remove one")

    def _delay(self, place: str, value: object) -> tuple[float, DelayUnit | None]:
        try:
            if isinstance(value, str):
                if is_number(value.strip()):
                    return float(value), None
                with_unit = split_unit(value)
                if with_unit:
                    return with_unit
            elif isinstance(value, int | float) and not isinstance(value, bool):
                return float(value), None
        except OverflowError:
            pass  # said below
        got = "none" if value is None else shortened(str(value))
        raise error_at(self._source, place, f"expected a {self._key} such as 12.5 or '50 ms', got {got}")


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


def _of_graph(source: MapSource, graph: Graph, said: list[str]) -> RawDelays:
    labels = {node: str(attributes.get("label", "")).strip() for node, attributes in graph.nodes(data=True)}
    if not all(labels.values()) or len(set(labels.values())) < len(labels):
        labels = {node: str(node).strip() for node in graph}
    check_file_names(source.name, tuple(labels.values()), source.limits)
    links = Links(source)
    for name in labels.values():
        links.number(name)
    for number, (a, b, attributes) in enumerate(graph.edges(data=True), 1):
        place = f"edge {number} ({labels[a]} - {labels[b]})"
        links.add(labels[a], labels[b], place, {str(key): value for key, value in attributes.items()})
    raw = links.delays(one_direction=graph.is_directed())
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


def _ends(link: Json, place: str, source: str) -> tuple[str, str, dict[str, object]]:
    if not isinstance(link, dict):
        raise error_at(source, place, f"expected a link such as {_EXAMPLE}, got {kind_of(link)}")
    keys = list(link)
    columns = pair_columns(keys)
    if columns is None:
        named = ", ".join(keys[:5])[:60]
        raise error_at(source, place, f"expected a link such as {_EXAMPLE}, got the keys {named!r}")
    a, b = (_name(link[keys[column]], f"{place}.{keys[column]}", source) for column in columns)
    return a, b, {key: value for index, (key, value) in enumerate(link.items()) if index not in columns}


def _name(node: Json, place: str, source: str) -> str:
    if isinstance(node, bool) or not isinstance(node, str | int):
        raise error_at(source, place, f"expected the name of a node, got {kind_of(node)}")
    return str(node)
