"""What the controller watches: the resources, nodes and pods, and how far what it sees can be relied on."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from gesscale.formatting import format_duration
from gesscale.kubernetes.api.connection import Connection
from gesscale.kubernetes.api.lease import steady_now_s
from gesscale.kubernetes.api.resources import NODES, PODS, STREAM_AUTOSCALERS
from gesscale.kubernetes.api.watching import Cache, Timing, View
from gesscale.kubernetes.placement.applications import ClusterIndex
from gesscale.kubernetes.placement.nodes import NodeRecord, read_node
from gesscale.kubernetes.placement.pods import PodRecord, read_pod

#: A watch that breaks is opened again within seconds; only one that stays away is worth a word.
STALE_AT_MOST_S = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheStatus:
    """How far the view of one kind of objects can be relied on."""

    #: The kind, such as ``pods``.
    resource: str
    #: Whether all of them were listed once.
    listed: bool
    #: For how long changes may have been missed; None while none can have been.
    stale_s: float | None = None
    #: Why; empty where nothing is wrong.
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterView:
    """What was watched, at one instant."""

    #: When, by the clock of the views' own ages; one that never jumps.
    at_s: float
    nodes: View[NodeRecord]
    pods: View[PodRecord]
    #: What people say: an operator that was paused must not be scaled by what was said before.
    resources: View[dict[str, Any]]
    #: Nodes and pods, arranged; the same one until they change.
    index: ClusterIndex

    @property
    def problem(self) -> str:
        """Why nothing may be decided on it; empty where it may."""
        kinds: tuple[tuple[str, View[Any]], ...] = (
            ("nodes of the cluster", self.nodes),
            ("pods of the cluster", self.pods),
            ("resources", self.resources),
        )
        for kind, view in kinds:
            if not view.listed:
                return f"the {kind} are not known yet: {view.problem}"
            stale_s = _stale_s(view, self.at_s) or 0.0
            if stale_s > STALE_AT_MOST_S:
                return f"what is known of the {kind} is {format_duration(stale_s)} old: {view.problem}"
        return ""


class Watches:
    """Three caches, kept up to date by threads of their own.

    Parameters
    ----------
    namespace
        Whose StreamAutoscalers are watched; None for all.
    """

    def __init__(
        self,
        connection: Connection,
        namespace: str | None,
        on_change: Callable[[], None],
        now_s: Callable[[], float] = steady_now_s,
    ) -> None:
        timing = Timing(now_s=now_s)
        self._now_s = now_s
        self._resources = Cache(
            connection, STREAM_AUTOSCALERS, dict, namespace=namespace, on_change=on_change, timing=timing
        )
        self._nodes = Cache(connection, NODES, read_node, timing=timing)
        self._pods = Cache(connection, PODS, read_pod, timing=timing)
        self._index = ClusterIndex({}, {})
        self._all: tuple[Cache[Any], ...] = (self._resources, self._nodes, self._pods)

    @property
    def listed(self) -> bool:
        """Whether the StreamAutoscalers are known."""
        return self._resources.snapshot().listed

    def documents(self) -> Mapping[str, dict[str, Any]]:
        """Return the StreamAutoscalers by ``namespace/name``."""
        return self._resources.snapshot().objects

    def look(self) -> ClusterView:
        """Return all that is watched."""
        nodes, pods, index = self._nodes.snapshot(), self._pods.snapshot(), self._index
        if index.nodes is not nodes.objects or index.pods is not pods.objects:
            index = self._index = ClusterIndex(nodes.objects, pods.objects)
        return ClusterView(
            at_s=self._now_s(), nodes=nodes, pods=pods, resources=self._resources.snapshot(), index=index
        )

    def statuses(self) -> tuple[CacheStatus, ...]:
        """Return how far each kind can be relied on."""
        now_s = self._now_s()
        return tuple(
            CacheStatus(
                resource=cache.resource.plural, listed=view.listed, stale_s=_stale_s(view, now_s), problem=view.problem
            )
            for cache in self._all
            for view in (cache.snapshot(),)
        )

    def start(self) -> None:
        """Begin to watch."""
        for cache in self._all:
            cache.start()

    def stop(self) -> None:
        """End the threads."""
        for cache in self._all:
            cache.stop()


def _stale_s(view: View[Any], now_s: float) -> float | None:
    return None if view.stale_since_s is None else max(0.0, now_s - view.stale_since_s)
