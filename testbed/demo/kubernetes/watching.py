"""What is seen of the demo from outside: events, orders, executors and batches, as they come."""

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from typing import Any

from gesscale.errors import ClusterError, MetricsUnavailableError
from gesscale.monitor.fetch import fetch
from gesscale.monitor.records import parse_document, to_batches
from testbed.demo.kubernetes.stage import KubernetesStage
from testbed.demo.record import Record, Rescale

_TIMEOUT_S = 5.0
_MOST_BYTES = 4 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """An executor that an order brought, seconds from the order.

    Attributes
    ----------
    bound_s
        Until its pod was bound to the node; whole seconds, as Kubernetes reports them.
    registered_s
        Until the driver had it.
    first_task_s
        Until its first task had begun; None where it had none.
    """

    order: str
    node: str
    bound_s: float | None
    registered_s: float
    first_task_s: float | None


@dataclass(slots=True)
class Witness:
    """Asks the API server and the driver again and again, and says what is new.

    Attributes
    ----------
    stage
        What is watched.
    say
        Prints a line for each thing that is new.
    record
        The batches that the driver has reported; it begins with the first.
    placement
        Nodes of the executors that live now; None before the driver reported.
    """

    stage: KubernetesStage
    say: Callable[[str], None]
    record: Record = field(default_factory=lambda: Record(began_at_s=0.0))
    orders: dict[str, dict[str, Any]] = field(default_factory=dict)
    executors: dict[str, dict[str, Any]] = field(default_factory=dict)
    bound_at_s: dict[str, float] = field(default_factory=dict)
    placement: tuple[str, ...] | None = None
    driver_phase: str = ""
    _url: str = ""
    _seen_events: set[tuple[str, str]] = field(default_factory=set)

    def look(self) -> None:
        """Look once; whoever does not answer this time is asked again."""
        try:
            self._look_at_events()
            self._look_at_order()
            self._look_at_pods()
        except ClusterError:
            return
        try:
            self._look_at_driver()
        except MetricsUnavailableError:
            return

    def ordered(self) -> list[dict[str, Any]]:
        """Return the orders, oldest first."""
        return sorted(self.orders.values(), key=lambda order: str(order["at"]))

    def rescales(self) -> list[Rescale]:
        """Return what each order changed, but for the first, which is where the executors began."""
        first_task_s = defaultdict(list)
        for arrival in self.arrivals():
            if arrival.first_task_s is not None:
                first_task_s[arrival.order].append(arrival.first_task_s)
        return [
            Rescale(
                at_s=datetime.fromisoformat(after["at"]).timestamp(),
                added=tuple(node for node in after["placement"] if node not in before["placement"]),
                removed=tuple(node for node in before["placement"] if node not in after["placement"]),
                replicas=len(after["placement"]),
                first_task_s=tuple(first_task_s[after["id"]]),
                why=f"order {after['id']}",
            )
            for before, after in pairwise(self.ordered())
        ]

    def arrivals(self) -> Iterator[Arrival]:
        """Yield how long each executor took that an order had started."""
        for identity, each in self.executors.items():
            order = self.orders.get(each.get("order") or "")
            if order is None or not each.get("added_at_s"):
                continue
            at_s = datetime.fromisoformat(order["at"]).timestamp()
            bound, worked = self.bound_at_s.get(identity), each.get("first_task_at_s")
            yield Arrival(
                order=order["id"],
                node=each["node"],
                bound_s=None if bound is None else max(0.0, bound - at_s),
                registered_s=each["added_at_s"] - at_s,
                first_task_s=None if worked is None else worked - at_s,
            )

    def _look_at_events(self) -> None:
        for event in self.stage.document("events")["items"]:
            about = event.get("involvedObject") or {}
            key = (event["metadata"]["uid"], event.get("message", ""))
            if about.get("kind") == "StreamAutoscaler" and key not in self._seen_events:
                self._seen_events.add(key)
                self.say(f"event {event['type']} {event['reason']}: {event['message']}")

    def _look_at_order(self) -> None:
        found = self.stage.document("streamautoscaler", self.stage.operator.name)
        order = (found.get("status") or {}).get("order")
        if order and order["id"] not in self.orders:
            self.orders[order["id"]] = order
            self.say(f"order {order['id']}: executors on {', '.join(order['placement'])}")

    def _look_at_pods(self) -> None:
        for pod in self.stage.document("pods")["items"]:
            labels = pod["metadata"].get("labels") or {}
            if labels.get("spark-role") == "driver":
                self.driver_phase = (pod.get("status") or {}).get("phase", "")
                address = (pod.get("status") or {}).get("podIP")
                self._url = f"http://{address}:{self.stage.operator.metrics_port}" if address else ""
            identity = labels.get("spark-exec-id")
            if identity is None or identity in self.bound_at_s:
                continue
            for condition in (pod.get("status") or {}).get("conditions") or ():
                if condition["type"] == "PodScheduled" and condition["status"] == "True":
                    self.bound_at_s[identity] = datetime.fromisoformat(
                        condition["lastTransitionTime"]
                    ).timestamp()

    def _look_at_driver(self) -> None:
        if not self._url:
            return
        newest = max(self.record.batches, default=-1)
        body = fetch(f"{self._url}/batches?after={newest}", timeout_s=_TIMEOUT_S, max_bytes=_MOST_BYTES)
        document = parse_document(body, self.stage.operator.name)
        batches = to_batches(document.batches, {}, ahead_s=0.0)[0]
        if batches and not self.record.batches:
            self.record.began_at_s = min(batch.ended_at_s - batch.seconds for batch in batches)
        self.record.see(tuple(batches))
        replicas = json.loads(fetch(f"{self._url}/replicas", timeout_s=_TIMEOUT_S, max_bytes=_MOST_BYTES))
        for each in replicas["executors"]:
            self._keep_executor(each)
        placement = tuple(replicas["hosts"] or ())
        if placement != self.placement:
            self.placement = placement
            self.say(f"executors live on {', '.join(placement) or 'no node'}")

    def _keep_executor(self, each: Mapping[str, Any]) -> None:
        known = self.executors.get(each["id"], {})
        if each.get("first_task_at_s") and not known.get("first_task_at_s"):
            self.say(f"executor {each['id']} on {each['node']} has its first task")
        self.executors[each["id"]] = {**each, "order": known.get("order") or each.get("order")}
