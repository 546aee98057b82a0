"""Reservations: room for executors that are ordered and not bound yet, of all workflows of one controller.

Two workflows that are stepped concurrently must not both order the last free room of a node.
"""

import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from gesscale.kubernetes.placement.nodes import Room
from gesscale.kubernetes.resource.translate import Key


class Reservations:
    """Reservations by namespace and name of the resource; thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._reserved: dict[Key, tuple[frozenset[str], Room]] = {}

    def reserve(self, resource: Key, nodes: Iterable[str], requests: Room) -> None:
        """Set the nodes on which executors of a resource are still expected; none removes the reservation."""
        expected = frozenset(nodes)
        with self._lock:
            if expected:
                self._reserved[resource] = expected, requests
            else:
                self._reserved.pop(resource, None)

    def keep_only(self, resources: Iterable[Key]) -> None:
        """Remove the reservations of all other resources."""
        kept = set(resources)
        with self._lock:
            self._reserved = {key: reservation for key, reservation in self._reserved.items() if key in kept}

    def of_others(self, resource: Key | None) -> dict[str, Room]:
        """Return the reserved room by node, without this resource's own; None for all of it."""
        with self._lock:
            reserved = [reservation for key, reservation in self._reserved.items() if key != resource]
        total: dict[str, Room] = {}
        for nodes, requests in reserved:
            for node in nodes:
                total[node] = total.get(node, Room()) + requests
        return total

    @contextmanager
    def claim(self, resource: Key, nodes: Iterable[str], requests: Room) -> Iterator[Mapping[str, Room]]:
        """Reserve nodes for a resource under the lock; an exception restores the previous reservation."""
        with self._lock:
            before = self._reserved.get(resource)
            self.reserve(resource, nodes, requests)
            try:
                yield self.of_others(resource)
            except BaseException:
                self.reserve(resource, *(before or ((), requests)))
                raise
