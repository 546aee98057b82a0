"""What readers take and give: files beside the map; names, and delays as the file has them with their places."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from latency_map.delays import Delays
from latency_map.errors import error_at
from latency_map.formats.source import read_source
from latency_map.kinds import DelayKind, DelayUnit
from latency_map.limits import DEFAULT_LIMITS, MapLimits
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
        it in place.
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
    probed_from
        The node that sent the pings of a file that does not name it; None where it does.
    """

    names: tuple[str, ...] | None = None
    probed_from: str | None = None


NO_SIDE_FILES = SideFiles()


def read_names(file: Path | str, limits: MapLimits = DEFAULT_LIMITS) -> tuple[str, ...]:
    """Read names of nodes for `SideFiles`, one on every line; raises LatencyMapError where it cannot be read."""
    return tuple(name for line in read_source(file, limits).lines() if (name := line.strip()))


def check_file_names(source: str, names: Sequence[str], limits: MapLimits | None = None) -> None:
    """Refuse names that no latency map can have, naming the file; without limits where they were counted already.

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
