"""What readers take and give: files beside the map; names, and delays as the file has them with their places."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from gesscale.common.text import shortened
from latency_map.delays import Delays
from latency_map.errors import error_at
from latency_map.formats.sheet import Sheet
from latency_map.formats.source import MapSource, read_source
from latency_map.kinds import DelayKind, DelayUnit
from latency_map.limits import DEFAULT_LIMITS, MapLimits
from latency_map.names import find_name_fault

Place = Callable[[int, int], str]
"""From row and column of the matrix, counted from 0, to words such as ``line 3, column 4``; "" if unknown."""

_NAMES_OF_SERVERS = ("name", "title", "location", "city")


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
    servers
        Names of nodes by the id that the file has for them; None where ids are names.
    probed_from
        The node that sent the pings of a file that does not name it; None where it does.
    """

    names: tuple[str, ...] | None = None
    servers: dict[str, str] | None = None
    probed_from: str | None = None


NO_SIDE_FILES = SideFiles()


def read_side_files(
    *,
    names: Path | str | None = None,
    servers: Path | str | None = None,
    probed_from: str | None = None,
    limits: MapLimits = DEFAULT_LIMITS,
) -> SideFiles:
    """Read what belongs to a file and is not in it.

    Parameters
    ----------
    names
        A file with the name of a node on every line, in the order of the matrix.
    servers
        A table (CSV) with an ``id`` and a ``name`` among its columns. Where several ids have the same name, the id
        follows it: ``Frankfurt 17``.
    probed_from
        The node that sent the pings.
    limits
        How large the map may be.

    Returns
    -------
    SideFiles
        For `read_survey`.

    Raises
    ------
    LatencyMapError
        A file cannot be read, or is no such file.
    """
    return SideFiles(
        names=None if names is None else _read_names(read_source(names, limits)),
        servers=None if servers is None else _read_servers(read_source(servers, limits)),
        probed_from=probed_from,
    )


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


def _read_names(source: MapSource) -> tuple[str, ...]:
    return tuple(name for line in source.lines() if (name := line.strip()))


def _read_servers(source: MapSource) -> dict[str, str]:
    sheet = Sheet(source)
    header = sheet.first()
    lowered = [cell.lower() for cell in header.cells]
    label = next((label for label in _NAMES_OF_SERVERS if label in lowered), None)
    if "id" not in lowered or label is None:
        problem = f"expected a heading with id and name, got {shortened(','.join(header.cells))}"
        raise sheet.error(header, 0, problem)
    id_column, name_column = lowered.index("id"), lowered.index(label)
    names: dict[str, str] = {}
    for row in sheet.rows():
        if len(row.cells) <= max(id_column, name_column):
            problem = f"expected {len(header.cells)} cells as in the heading, got {len(row.cells)}"
            raise sheet.error(row, len(row.cells), problem)
        number, name = row.cells[id_column], row.cells[name_column]
        if number in names:
            raise sheet.error(row, id_column, f"expected every id once, got {shortened(number)} again")
        names[number] = name or number
    times = Counter(names.values())
    return {number: name if times[name] == 1 else f"{name} {number}" for number, name in names.items()}
