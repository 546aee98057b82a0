"""Room that was promised: executors that are ordered and not bound yet, of all workflows of one controller.

Two workflows that are stepped at once must not both order the last room of a node.
"""

import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from gesscale.kubernetes.placement.nodes import Room
from gesscale.kubernetes.resource.translate import Key


class Reservations:
    """Kept by namespace and name of the resource; for any number of threads."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._reserved: dict[Key, tuple[frozenset[str], Room]] = {}

    def keep(self, resource: Key, nodes: Iterable[str], takes: Room) -> None:
        """Say on which nodes executors of a resource are still awaited; none to forget it."""
        awaited = frozenset(nodes)
        with self._lock:
            if awaited:
                self._reserved[resource] = awaited, takes
            else:
                self._reserved.pop(resource, None)

    def keep_only(self, resources: Iterable[Key]) -> None:
        """Forget resources that are no longer there."""
        kept = set(resources)
        with self._lock:
            self._reserved = {key: reservation for key, reservation in self._reserved.items() if key in kept}

    def of_others(self, resource: Key | None) -> dict[str, Room]:
        """Return by node what is promised to others than this resource; None for what is promised to all."""
        with self._lock:
            reserved = [reservation for key, reservation in self._reserved.items() if key != resource]
        total: dict[str, Room] = {}
        for nodes, takes in reserved:
            for node in nodes:
                total[node] = total.get(node, Room()) + takes
        return total

    @contextmanager
    def reserving(self, resource: Key, nodes: Iterable[str], takes: Room) -> Iterator[Mapping[str, Room]]:
        """Promise nodes to a resource under the lock; an error within takes the promise back."""
        with self._lock:
            before = self._reserved.get(resource)
            self.keep(resource, nodes, takes)
            try:
                yield self.of_others(resource)
            except BaseException:
                self.keep(resource, *(before or ((), takes)))
                raise
