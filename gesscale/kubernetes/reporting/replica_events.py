"""Events of nodes that leave, and of replicas that are lost and replaced."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from gesscale.formatting import format_duration
from gesscale.kubernetes.api.events import EventDraft, EventType, Incident
from gesscale.plan.replica_kinds import ReplicaKinds


@dataclass(slots=True)
class ReplicaEvents:
    """Follows the replicas of one operator from step to step."""

    _before: ReplicaKinds = field(default_factory=ReplicaKinds, init=False)
    _lost_at_s: dict[str, float] = field(default_factory=dict, init=False)

    def of(self, replicas: ReplicaKinds, now_s: float) -> tuple[EventDraft, ...]:
        """Return the events since the step before."""
        if replicas.running is None:
            return ()
        events = tuple(self._events(replicas, now_s))
        self._before = replicas
        return events

    def _events(self, replicas: ReplicaKinds, now_s: float) -> Iterator[EventDraft]:
        before, left, ordered = self._before, replicas.left, set(replicas.ordered or ())
        running = set(replicas.running or ())
        for node in sorted(left.keys() - before.left.keys()):
            yield EventDraft(EventType.WARNING, Incident.NODE_LEFT, f"{node}: {left[node]}")
        ran = set(before.running or ()) & set(before.ordered or ())
        for node in sorted((ran - running) & (ordered | left.keys())):
            self._lost_at_s[node] = now_s
            message = f"the replica on {node} is lost: {left.get(node, 'its executor has ended')}"
            yield EventDraft(EventType.WARNING, Incident.REPLICA_LOST, message)
        present = running if replicas.working is None else set(replicas.working)
        if self._lost_at_s and ordered and ordered <= present - left.keys():
            lost, took_s = ", ".join(sorted(self._lost_at_s)), now_s - min(self._lost_at_s.values())
            self._lost_at_s.clear()
            message = (
                f"{len(ordered)} of {len(ordered)} replicas work, {format_duration(took_s)} after the loss on {lost}"
            )
            yield EventDraft(EventType.NORMAL, Incident.REPLICA_REPLACED, message)
