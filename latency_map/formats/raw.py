"""What every reader gives: names and delays as the file has them, and where each of them stands."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from latency_map.delays import Delays
from latency_map.errors import error_at
from latency_map.kinds import DelayKind, DelayUnit
from latency_map.limits import MapLimits
from latency_map.names import find_name_fault

Place = Callable[[int, int], str]
"""From row and column of the matrix, counted from 0, to words such as ``line 3, column 4``; "" if unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RawDelays:
    """Delays as a file has them.

    Attributes
    ----------
    names
        The n nodes.
    values
        Shape ``(n, n)``, row to column, in the file's unit; NaN where missing. The import makes its round trips of
        it in place: a second matrix of that size is not held.
    place
        Where a delay stands in the file.
    unit, kind
        What the file itself says of the delays; None where it does not.
    stated_at
        Where it says so, for messages.
    measured_at_s
        When they were measured, in seconds since the epoch; None where the file does not say.
    notes
        What the reader took for what, for people.
    warnings
        What to be careful with, for people.
    """

    names: tuple[str, ...]
    values: Delays
    place: Place
    unit: DelayUnit | None = None
    kind: DelayKind | None = None
    stated_at: str = ""
    measured_at_s: float | None = None
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SideFiles:
    """What belongs to a file and is not in it.

    Attributes
    ----------
    names
        The nodes of a matrix that has none, in its order; None to make them up.
    servers
        Names of nodes by the id that the file has for them; None where ids are names.
    probed_from
        The node that sent the pings of a file that does not name it; None where it does.
    """

    names: tuple[str, ...] | None = None
    servers: dict[str, str] | None = None
    probed_from: str | None = None


NO_SIDE_FILES = SideFiles()


def check_file_names(source: str, names: Sequence[str], limits: MapLimits | None = None) -> None:
    """Refuse names that no latency map can have, naming the file.

    Parameters
    ----------
    source
        The file.
    names
        The nodes.
    limits
        How many they may be; None where they were counted as they came.

    Raises
    ------
    LatencyMapError
        There is none or there are too many, one is empty or not printable, or one occurs twice.
    """
    if limits and len(names) > limits.nodes:
        raise error_at(source, "", limits.too_many_nodes(str(len(names))))
    fault = find_name_fault(names)
    if fault:
        raise error_at(source, "", fault[1])


def made_up_names(count: int) -> tuple[str, ...]:
    """Return names for nodes that have none: n001, n002 and so on, as wide as the last needs."""
    width = max(3, len(str(count)))
    return tuple(f"n{number:0{width}}" for number in range(1, count + 1))
