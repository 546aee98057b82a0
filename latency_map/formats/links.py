"""Links of a network, and the delays between its nodes: the shortest paths over the links."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from latency_map.delays import MAX_RTT_MS, Delays, DelayUnit
from latency_map.errors import shortened
from latency_map.formats.labels import is_delay_label, split_unit, stated_by
from latency_map.formats.raw import RawDelays, check_file_names, error_at
from latency_map.formats.sheet import is_number

_LAST_RESORT = ("weight", "value")
_IN_MS = {DelayUnit.US: 1e-3, DelayUnit.MS: 1.0, DelayUnit.S: 1e3}


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A link from node to node, and what its file says of it.

    Attributes
    ----------
    a, b
        Positions of its ends, from 0.
    place
        Where it stands, for messages.
    attributes
        What the file says of it; one of them is its delay.
    """

    a: int
    b: int
    place: str
    attributes: Mapping[str, object]


def delays_over(
    source: str, names: Sequence[str], links: Sequence[Link], *, one_direction: bool
) -> RawDelays:
    """Compute the delays between all nodes from those of links.

    Parameters
    ----------
    source
        Names the file in messages.
    names
        The nodes.
    links
        The links. A link from a node to itself is left out; of several between two nodes the fastest counts.
    one_direction
        Whether a link can be used in its own direction only. Otherwise it stands for both, unless the other
        direction has a link of its own.

    Returns
    -------
    RawDelays
        Shortest paths (Dijkstra); NaN where there is none.

    Raises
    ------
    LatencyMapError
        There is no link, a name cannot be one, or the delay of a link is missing, no number or out of range.
    """
    check_file_names(source, names)
    if not links:
        raise error_at(source, "", "expected links between nodes, got none")
    key = _delay_key(source, links)
    delays, unit, in_units = _delays(source, links, key)
    if unit is None:
        unit, kind = stated_by(key)
        stated_at = f"the key {key!r} says so"
    else:
        _, kind = stated_by(key)
        stated_at = f"delays such as {in_units} say so"
    own = sum(link.a == link.b for link in links)
    notes = [f"shortest paths by the {key!r} of links: {len(links) - own}"]
    if own:
        notes.append(f"links from a node to itself, left out: {own}")
    values = _shortest_paths(len(names), links, delays, one_direction=one_direction)
    return RawDelays(
        names=tuple(names),
        values=values,
        place=lambda a, b: f"the path from {names[a]} to {names[b]}",
        unit=unit,
        kind=kind,
        stated_at=stated_at,
        notes=tuple(notes),
    )


def _delay_key(source: str, links: Sequence[Link]) -> str:
    keys = list(dict.fromkeys(key for link in links for key in link.attributes))
    named = [key for key in keys if is_delay_label(key)]
    candidates = named or [key for key in _LAST_RESORT if key in keys]
    if not candidates:
        listed = ", ".join(shortened(key) for key in keys[:5]) or "none"
        problem = f"expected links with a delay or latency, got links with the keys {listed}"
        raise error_at(source, "", f"{problem}; name the right one so")
    if len(named) > 1:
        problem = (
            f"expected one key for the delay of links, got {shortened(named[0])} and {shortened(named[1])}"
        )
        raise error_at(source, "", f"{problem}; remove one")
    return candidates[0]


def _delays(source: str, links: Sequence[Link], key: str) -> tuple[list[float], DelayUnit | None, str]:
    """Return the delays of links, the unit that they are written with if any, and the first so written."""
    found = [_delay(source, link, key) for link in links]
    units = {unit for _, unit in found}
    if units == {None}:
        delays, unit = [delay for delay, _ in found], None
    elif None in units:
        odd = next(link for link, (_, unit) in zip(links, found, strict=True) if unit is None)
        problem = "expected a delay with its unit as other links have, such as '50 ms', got none"
        raise error_at(source, odd.place, problem)
    elif len(units) == 1:
        delays, unit = [delay for delay, _ in found], found[0][1]
    else:
        delays, unit = [delay * _IN_MS[each] for delay, each in found if each], DelayUnit.MS
    for link, delay in zip(links, delays, strict=True):
        if not 0 <= delay <= MAX_RTT_MS:
            raise error_at(source, link.place, f"expected a delay of 0 to {MAX_RTT_MS:g}, got {delay:g}")
    return delays, unit, repr(links[0].attributes[key])


def _delay(source: str, link: Link, key: str) -> tuple[float, DelayUnit | None]:
    value = link.attributes.get(key)
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
    raise error_at(source, link.place, f"expected a {key} such as 12.5 or '50 ms', got {got}")


def _shortest_paths(
    count: int, links: Sequence[Link], delays: Sequence[float], *, one_direction: bool
) -> Delays:
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import dijkstra

    fastest: dict[tuple[int, int], float] = {}
    for link, delay in zip(links, delays, strict=True):
        if link.a != link.b:
            fastest[link.a, link.b] = min(delay, fastest.get((link.a, link.b), delay))
    if not one_direction:
        fastest = {(b, a): delay for (a, b), delay in fastest.items()} | fastest
    values: Delays = np.full((count, count), np.nan)
    if fastest:
        ends = np.array(list(fastest), dtype=np.int32)
        weights = np.fromiter(fastest.values(), np.float64, len(fastest))
        graph = csr_array((weights, (ends[:, 0], ends[:, 1])), shape=(count, count))
        values = dijkstra(graph)
        values[np.isinf(values)] = np.nan
    np.fill_diagonal(values, 0.0)
    return values
