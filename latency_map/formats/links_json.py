"""Links as JSON: ``[{"from": .., "to": .., "delay": ..}]``, ``{"links": [..]}``, or networkx node-link data."""

from latency_map.errors import error_at
from latency_map.formats.json_text import Json, JsonReader, kind_of
from latency_map.formats.labels import pair_columns
from latency_map.formats.links import Links
from latency_map.formats.raw import RawDelays

KEYS_OF_LINKS = ("links", "edges", "connections")
"""Under which of these the links stand in an object."""

_KEYS_OF_NAMES = ("id", "name", "label")
_EXAMPLE = '{"from": "a", "to": "b", "delay": 5}'


def read_links(content: JsonReader) -> RawDelays:
    """Read links and compute the delays between all nodes from them.

    Parameters
    ----------
    content
        The JSON. Links stand for both directions unless it says ``"directed": true`` or has the other one too.

    Returns
    -------
    RawDelays
        Shortest paths; nodes in the order of ``nodes``, else in that in which they first occur.

    Raises
    ------
    LatencyMapError
        There are no links, or one is not of that form; the message says which.
    """
    links = Links(content.name, content.limits)
    begins, found, directed = content.begins(), False, False
    if begins == "[":
        found = True
        _take_links(content, "", links)
    elif begins == "{":
        for key in content.members():
            listed = content.begins() == "["
            if key == "nodes" and listed:
                _take_nodes(content, links)
            elif key in KEYS_OF_LINKS and listed and not found:
                found = True
                _take_links(content, key, links)
            elif key == "directed":
                directed = content.value() is True
            else:
                content.skip()
    if not found:
        got = "an object without any" if begins == "{" else kind_of(content.last_value())
        problem = f"expected a list of links, or an object with links, got {got}"
        raise error_at(content.name, "", problem)
    return links.delays(one_direction=directed)


def _take_nodes(content: JsonReader, links: Links) -> None:
    for index in content.items():
        node = content.value()
        name = (
            next((node[key] for key in _KEYS_OF_NAMES if key in node), None)
            if isinstance(node, dict)
            else node
        )
        links.list_node(_name(name, f"nodes[{index}]", content.name))


def _take_links(content: JsonReader, key: str, links: Links) -> None:
    for index in content.items():
        place = f"{key}[{index}]"
        a, b, attributes = _ends(content.value(), place, content.name)
        links.add(a, b, place, attributes)


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
    if isinstance(node, bool) or not isinstance(node, str | int) or len(str(node)) > 1000:
        raise error_at(source, place, f"expected the name of a node, got {kind_of(node)}")
    return str(node)
