"""Watches of the controller: StreamAutoscalers, nodes and pods, and how current they are."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from gesscale.common.errors import Problem
from gesscale.kubernetes.api.connection import Connection
from gesscale.kubernetes.api.lease import steady_now_s
from gesscale.kubernetes.api.resources import NODES, PODS, STREAM_AUTOSCALERS
from gesscale.kubernetes.api.watch_cache import Cache, Timing, View
from gesscale.kubernetes.placement.applications import ClusterIndex
from gesscale.kubernetes.placement.nodes import NodeRecord, read_node
from gesscale.kubernetes.placement.pods import PodRecord, read_pod

#: Views older than this are stale. A broken watch reopens within seconds and is not reported.
MAX_STALE_S = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheStatus:
    """How current the view of one kind of objects is."""

    #: The kind, such as ``pods``.
    resource: str
    #: Whether all of them were listed once.
    listed: bool
    #: For how long changes may have been missed; None while the view is current.
    stale_s: float | None = None
    #: The reason; None while the view is current.
    problem: Problem | None = None

    @property
    def failure(self) -> Problem | None:
        """Problem that prevents decisions by this view; None if it is complete and recent."""
        fields = {"resource": self.resource, "cause": str(self.problem or "")}
        if not self.listed:
            return Problem("cache-not-listed", fields)
        if self.stale_s is not None and self.stale_s > MAX_STALE_S:
            return Problem("cache-stale", {**fields, "age_s": self.stale_s})
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterView:
    """The watched objects at one instant."""

    #: When, by the steady clock that dates the views.
    at_s: float
    nodes: View[NodeRecord]
    pods: View[PodRecord]
    #: The StreamAutoscalers; they must be current too, so that a paused operator is not scaled.
    resources: View[dict[str, Any]]
    #: Nodes and pods, indexed; the same object until they change.
    index: ClusterIndex

    @property
    def problem(self) -> Problem | None:
        """Problem that prevents decisions; None if all views are complete and recent."""
        views: tuple[tuple[str, View[Any]], ...] = (
            (NODES.plural, self.nodes),
            (PODS.plural, self.pods),
            (STREAM_AUTOSCALERS.plural, self.resources),
        )
        return next(filter(None, (_status(kind, view, self.at_s).failure for kind, view in views)), None)


class Watches:
    """Three caches, each kept current by a thread.

    Parameters
    ----------
    namespace
        Only its StreamAutoscalers are watched; None for all namespaces.
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
        self._nodes = Cache(connection, NODES, read_node, on_change=on_change, timing=timing)
        self._pods = Cache(connection, PODS, read_pod, timing=timing)
        self._index = ClusterIndex({}, {})
        self._all: tuple[Cache[Any], ...] = (self._resources, self._nodes, self._pods)

    @property
    def listed(self) -> bool:
        """Whether the StreamAutoscalers were listed once."""
        return self._resources.snapshot().listed

    def documents(self) -> Mapping[str, dict[str, Any]]:
        """Return the StreamAutoscalers by ``namespace/name``."""
        return self._resources.snapshot().objects

    def snapshot(self) -> ClusterView:
        """Return all watched objects."""
        nodes, pods, index = self._nodes.snapshot(), self._pods.snapshot(), self._index
        if index.nodes is not nodes.objects or index.pods is not pods.objects:
            index = self._index = ClusterIndex(nodes.objects, pods.objects)
        return ClusterView(
            at_s=self._now_s(), nodes=nodes, pods=pods, resources=self._resources.snapshot(), index=index
        )

    def statuses(self) -> tuple[CacheStatus, ...]:
        """Return how current each kind is."""
        now_s = self._now_s()
        return tuple(_status(cache.resource.plural, cache.snapshot(), now_s) for cache in self._all)

    def start(self) -> None:
        """Start all watches."""
        for cache in self._all:
            cache.start()

    def stop(self) -> None:
        """Stop all watches."""
        for cache in self._all:
            cache.stop()


def _status(kind: str, view: View[Any], now_s: float) -> CacheStatus:
    stale_s = None if view.stale_since_s is None else max(0.0, now_s - view.stale_since_s)
    return CacheStatus(resource=kind, listed=view.listed, stale_s=stale_s, problem=view.problem)
