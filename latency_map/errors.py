"""The errors that latency_map raises on purpose.

    LatencyMapError               a map, a file or a question that cannot be used as it is
    ├── UnknownNodeError          a node that the map does not have
    ├── MissingDelayError         a delay that is needed and that the map does not have
    └── NoChoiceError             no set of nodes meets what was asked

A message says what was expected, what came, in which object, and what to do about it.
"""

from collections.abc import Sequence

from gesscale.common.errors import InputError, located
from gesscale.common.text import format_list


class LatencyMapError(InputError, ValueError):
    """A latency map, a file of one, or a question to one cannot be used as it is."""


class UnknownNodeError(LatencyMapError):
    """A node was asked for that the map does not have.

    Parameters
    ----------
    node
        The name that was asked for.
    names
        The names that the map has.
    """

    def __init__(self, node: str, names: Sequence[str]) -> None:
        super().__init__(
            f"expected one of the {len(names)} nodes of the latency map ({format_list(names)}),"
            f" got {node!r}; correct the name or add the node to the map"
        )
        self.node = node


class MissingDelayError(LatencyMapError):
    """A delay is needed that the map does not have.

    Parameters
    ----------
    pairs
        The pairs of nodes without a delay, at least one.
    """

    def __init__(self, pairs: Sequence[tuple[str, str]]) -> None:
        named = format_list(f"{a} - {b}" for a, b in pairs)
        super().__init__(
            f"expected a delay for every pair of these nodes, the latency map has none for {named};"
            " measure it or leave one of the nodes out"
        )
        self.pairs = tuple(pairs)


class NoChoiceError(LatencyMapError):
    """No set of nodes meets what was asked; the question itself is sound."""


def error_at(source: str, place: str, problem: str) -> LatencyMapError:
    """Return an error that says where in a file something is wrong, on one line whatever the file holds."""
    return LatencyMapError(located(source, place, problem))
