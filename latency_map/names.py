"""Valid names of the nodes of a latency map."""

from collections.abc import Iterable, KeysView, Sequence, Set

from gesscale.common.errors import Problem
from latency_map.errors import LatencyMapError, error_of

#: Largest number of nodes of a map; its matrix then takes 200 MB.
MAX_NODES = 5000

#: Largest length of a name, as of a node of Kubernetes.
MAX_NAME_LENGTH = 253


def find_name_fault(names: Sequence[str]) -> tuple[int, Problem] | None:
    """Return the position and the problem of the first invalid name; None if all are valid."""
    if not 1 <= len(names) <= MAX_NODES:
        return 0, Problem("map-size-invalid", {"limit": MAX_NODES, "got": len(names)})
    seen: set[str] = set()
    for position, name in enumerate(names):
        if not isinstance(name, str):
            return position, Problem("map-name-invalid", {"limit": MAX_NAME_LENGTH, "name": f"{name!r:.80}"})
        if not 1 <= len(name) <= MAX_NAME_LENGTH or name != name.strip() or not name.isprintable():
            return position, Problem("map-name-invalid", {"limit": MAX_NAME_LENGTH, "name": name})
        if name in seen:
            return position, Problem("map-node-duplicate", {"name": name})
        seen.add(name)
    return None


def check_names(names: Iterable[str]) -> tuple[str, ...]:
    """Return names as a tuple, and reject invalid ones.

    Raises
    ------
    LatencyMapError
        There is none or there are too many, one is empty, too long, not printable or has blanks around it, or
        one occurs twice; or they have no order, as in a set.
    """
    if isinstance(names, Set) and not isinstance(names, KeysView):
        raise LatencyMapError("map-names-unordered")
    names = tuple(names)
    if fault := find_name_fault(names):
        position, problem = fault
        raise error_of(problem, place=f"node {position + 1}")
    return names
