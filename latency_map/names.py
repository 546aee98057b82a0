"""Which names the nodes of a latency map may have."""

from collections.abc import Sequence

from gesscale.common.text import shortened
from latency_map.errors import LatencyMapError

#: Most nodes of one map: its matrix then takes 200 MB.
MAX_NODES = 5000

#: Most characters of a name, as of a node of Kubernetes.
MAX_NAME_LENGTH = 253


def find_name_fault(names: Sequence[str]) -> tuple[int, str] | None:
    """Find the first name that no latency map can have."""
    if not 1 <= len(names) <= MAX_NODES:
        return 0, f"expected 1 to {MAX_NODES} nodes, got {len(names)}"
    seen: set[str] = set()
    wanted = f"expected a node name of printable characters, at most {MAX_NAME_LENGTH}, without blanks around it"
    for position, name in enumerate(names):
        if not 1 <= len(name) <= MAX_NAME_LENGTH or name != name.strip() or not name.isprintable():
            return position, f"{wanted}, got {shortened(name)}"
        if name in seen:
            return position, f"expected every node once, got {name!r} twice; remove or rename one"
        seen.add(name)
    return None


def check_names(names: Sequence[str]) -> None:
    """Refuse names that no latency map can have.

    Raises
    ------
    LatencyMapError
        There is none or there are too many, one is empty, too long, not printable or has blanks around it, or
        one occurs twice.
    """
    fault = find_name_fault(names)
    if fault:
        position, problem = fault
        raise LatencyMapError(f"node {position + 1} of the latency map: {problem}")
