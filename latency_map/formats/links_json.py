"""Links as JSON: ``[{"from": .., "to": .., "delay": ..}]``, ``{"links": [..]}``, or networkx node-link data."""

from collections.abc import Sequence

from latency_map.formats.json_text import Json, kind_of
from latency_map.formats.labels import pair_columns
from latency_map.formats.links import Link, delays_over
from latency_map.formats.raw import RawDelays, error_at

_KEYS_OF_LINKS = ("links", "edges", "connections")
_KEYS_OF_NAMES = ("id", "name", "label")


def links_in(content: Json) -> tuple[str, list[Json]] | None:
    """Return the list of links in a piece of JSON, and under which key it stands; None where there is none."""
    if isinstance(content, list):
        return "", content
    if isinstance(content, dict):
        for key in _KEYS_OF_LINKS:
            links = content.get(key)
            if isinstance(links, list):
                return key, links
    return None


def read_links(content: Json, source: str) -> RawDelays:
    """Read links and compute the delays between all nodes from them.

    Parameters
    ----------
    content
        The JSON. Links stand for both directions unless it says ``"directed": true`` or has the other one too.
    source
        Names it in messages.

    Returns
    -------
    RawDelays
        Shortest paths; nodes in the order of ``nodes``, else in that in which they first occur.

    Raises
    ------
    LatencyMapError
        There are no links, or one is not of that form; the message says which.
    """
    found = links_in(content)
    if found is None:
        problem = f"expected a list of links, or an object with links, got {kind_of(content)}"
        raise error_at(source, "", problem)
    key, listed = found
    names = dict.fromkeys(_listed_names(content, source))
    ends = [_ends(link, f"{key}[{index}]", source) for index, link in enumerate(listed)]
    names |= dict.fromkeys(name for a, b, _ in ends for name in (a, b))
    positions = {name: position for position, name in enumerate(names)}
    links = [
        Link(a=positions[a], b=positions[b], place=f"{key}[{index}]", attributes=attributes)
        for index, (a, b, attributes) in enumerate(ends)
    ]
    directed = isinstance(content, dict) and content.get("directed") is True
    return delays_over(source, tuple(names), links, one_direction=directed)


def _listed_names(content: Json, source: str) -> Sequence[str]:
    nodes = content.get("nodes") if isinstance(content, dict) else None
    if not isinstance(nodes, list):
        return ()
    names = []
    for index, node in enumerate(nodes):
        name = (
            next((node[key] for key in _KEYS_OF_NAMES if key in node), None)
            if isinstance(node, dict)
            else node
        )
        names.append(_name(name, f"nodes[{index}]", source))
    return names


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


_EXAMPLE = '{"from": "a", "to": "b", "delay": 5}'


def _name(node: Json, place: str, source: str) -> str:
    if isinstance(node, bool) or not isinstance(node, str | int) or len(str(node)) > 1000:
        raise error_at(source, place, f"expected the name of a node, got {kind_of(node)}")
    return str(node)
