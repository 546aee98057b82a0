"""Errors of latency maps: invalid maps and files, and queries that a map cannot answer.

LatencyMapError               an invalid map, file, option or question
├── UnknownNodeError          a node that is not in the map
├── MissingDelayError         a delay that is not in the map
└── NoChoiceError             no set of nodes meets the request
"""

from collections.abc import Sequence

from gesscale.common.errors import InputError, Problem


class LatencyMapError(InputError, ValueError):
    """An invalid latency map or map file, or an invalid query of a map."""


class UnknownNodeError(LatencyMapError):
    """A node is not in the map.

    Parameters
    ----------
    node
        The requested name.
    names
        The names in the map.
    """

    def __init__(self, node: str, names: Sequence[str]) -> None:
        super().__init__("map-node-unknown", node=node, count=len(names), nodes=tuple(names))
        self.node = node


class MissingDelayError(LatencyMapError):
    """A required delay is not in the map.

    Parameters
    ----------
    pairs
        The pairs of nodes without a delay, at least one.
    """

    def __init__(self, pairs: Sequence[tuple[str, str]]) -> None:
        super().__init__("map-delay-missing", pairs=[f"{a} - {b}" for a, b in pairs])
        self.pairs = tuple(pairs)


class NoChoiceError(LatencyMapError):
    """No set of nodes meets the request, although the request is valid."""


def error_of(*problems: Problem, source: str = "", place: str = "") -> LatencyMapError:
    """Return an error with these problems, and with the source and the place where they occur."""
    location = {name: value for name, value in (("source", source), ("place", place)) if value}
    return LatencyMapError([Problem(each.code, {**location, **each.fields}) for each in problems])
