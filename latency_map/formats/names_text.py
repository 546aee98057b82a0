"""Files that come with a map: the names of nodes that it has only by place or by number."""

from collections import Counter
from collections.abc import Iterable

from gesscale.common.text import shortened
from latency_map.errors import error_at
from latency_map.formats.sheet import Sheet
from latency_map.formats.source import MapSource
from latency_map.names import MAX_NAME_LENGTH, MAX_NODES

_NAMES_OF_SERVERS = ("name", "title", "location", "city")


def read_names(source: MapSource) -> tuple[str, ...]:
    """Read names of nodes, one a line; blank lines are left out.

    Parameters
    ----------
    source
        The text.

    Raises
    ------
    LatencyMapError
        It cannot be read, or there are too many; the message names file and line.
    """
    names: list[str] = []
    for number, line in enumerate(source.lines(), 1):
        name = line.strip()
        if name:
            _check(source, number, (name,), len(names))
            names.append(name)
    return tuple(names)


def read_servers(source: MapSource) -> dict[str, str]:
    """Read the names of nodes from a table with an ``id`` and a ``name`` among its columns.

    Parameters
    ----------
    source
        Its text.

    Returns
    -------
    dict
        Name by id. Where several have the same name, the id follows it: ``Frankfurt 17``.

    Raises
    ------
    LatencyMapError
        It is no such table, an id occurs twice, or there are too many; the message names file and line.
    """
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
        _check(source, row.line, (number, name), len(names))
        names[number] = name or number
    times = Counter(names.values())
    return {number: name if times[name] == 1 else f"{name} {number}" for number, name in names.items()}


def _check(source: MapSource, line: int, names: Iterable[str], count: int) -> None:
    if count == MAX_NODES:
        raise error_at(source.name, f"line {line}", f"expected at most {MAX_NODES} names, got more")
    long = next((name for name in names if len(name) > MAX_NAME_LENGTH), None)
    if long is not None:
        problem = f"expected a name of at most {MAX_NAME_LENGTH} characters, got {shortened(long)}"
        raise error_at(source.name, f"line {line}", problem)
