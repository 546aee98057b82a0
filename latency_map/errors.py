"""The errors that latency_map raises on purpose.

    LatencyMapError               a map, a file or a question that cannot be used as it is
    ├── UnknownNodeError          a node that the map does not have
    ├── MissingDelayError         a delay that is needed and that the map does not have
    └── NoChoiceError             no set of nodes meets what was asked

A message says what was expected, what came, in which object, and what to do about it.
"""

import reprlib
from collections.abc import Iterable, Sequence

_SHOWN = 5
_SHOWN_CHARACTERS = 40
_GLIMPSE_CHARACTERS = 60
_LONGEST_NUMBER_BITS = 1000
_LONGEST_PLACE = 600


class LatencyMapError(ValueError):
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
            f"expected one of the {len(names)} nodes of the latency map ({enumerate_some(names)}),"
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
        named = enumerate_some(f"{a} - {b}" for a, b in pairs)
        super().__init__(
            f"expected a delay for every pair of these nodes, the latency map has none for {named};"
            " measure it or leave one of the nodes out"
        )
        self.pairs = tuple(pairs)


class NoChoiceError(LatencyMapError):
    """No set of nodes meets what was asked; the question itself is sound."""


def error_at(source: str, place: str, problem: str) -> LatencyMapError:
    """Return an error that says where in a file something is wrong, on one line whatever the file holds."""
    said = f", {place[:_LONGEST_PLACE]}: {problem}" if place else f": {problem}"
    return LatencyMapError(source + (said if said.isprintable() else repr(said)[1:-1]))


def cause_of(error: Exception) -> str:
    """Return why a file cannot be read or written; without its path and number, which the system's text repeats."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def unwritable(path: object, error: Exception) -> str:
    """Say that a file cannot be written, and why."""
    return f"{path}: expected a file that can be written, got: {cause_of(error)}; choose another path"


def enumerate_some(items: Iterable[str]) -> str:
    """Write the first few items of a listing, and how many follow.

    Parameters
    ----------
    items
        What is listed.

    Returns
    -------
    str
        At most five items, separated by commas.
    """
    every = list(items)
    more = f", ... {len(every) - _SHOWN} more" if len(every) > _SHOWN else ""
    return ", ".join(every[:_SHOWN]) + more


def shortened(text: str) -> str:
    """Quote a text for a message, cut to 40 characters."""
    return repr(text if len(text) <= _SHOWN_CHARACTERS else text[: _SHOWN_CHARACTERS - 3] + "...")


def glimpse(value: object) -> str:
    """Show how any value begins, in at most 60 characters; never write out the whole of it first.

    Parameters
    ----------
    value
        Of any size and nesting, such as a document that was refused.

    Returns
    -------
    str
        One line.

    Examples
    --------
    >>> glimpse({"period": ["5x"]}), glimpse(10**5000)
    ("{'period': ['5x']}", 'a whole number of 16610 bits')
    """
    text = _GLIMPSE.repr(value)
    return text if len(text) <= _GLIMPSE_CHARACTERS else text[: _GLIMPSE_CHARACTERS - 3] + "..."


class _Glimpse(reprlib.Repr):
    """Shows a few members of each level, and of long numbers only their size: Python refuses to write these."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel = 3
        self.maxlist = self.maxtuple = self.maxset = self.maxdict = _GLIMPSE_CHARACTERS // 4
        self.maxstring = self.maxother = _GLIMPSE_CHARACTERS

    def repr_int(self, x: int, level: int) -> str:
        """Write a whole number, or how long it is."""
        if x.bit_length() > _LONGEST_NUMBER_BITS:
            return f"a whole number of {x.bit_length()} bits"
        return super().repr_int(x, level)


_GLIMPSE = _Glimpse()
