"""Observes a query on Kubernetes from outside: its orders, batches and executors."""

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from gesscale.errors import ClusterError, MetricsUnavailableError
from gesscale.model.decision import Decision
from gesscale.monitor.records import parse_document, to_batches
from testbed.live.kubernetes import KubernetesApplication
from testbed.live.record import Record, Rescale, rescale_of

_SAME_INSTANT_S = 0.001


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenOrder:
    """An order in the status of the resource."""

    at_s: float
    placement: tuple[str, ...]


@dataclass(slots=True)
class KubernetesObserver:
    """Polls the API server and the driver, and logs news."""

    application: KubernetesApplication
    #: Prints a line.
    log: Callable[[str], None]
    #: The batches that the driver has reported; its zero is the start of the first one.
    record: Record = field(default_factory=lambda: Record(began_at_s=0.0))
    #: By number of the batch, the nodes whose replicas processed rows of it.
    worked: dict[int, frozenset[str]] = field(default_factory=dict)
    #: By id.
    orders: dict[str, SeenOrder] = field(default_factory=dict)
    #: The driver's documents of its executors, by id.
    executors: dict[str, dict[str, Any]] = field(default_factory=dict)
    #: Nodes of the live executors; None before the driver's first report.
    placement: tuple[str, ...] | None = None
    #: Phase of the driver's pod; empty before there is one.
    driver_phase: str = ""
    _driver_address: str = ""

    def poll(self) -> None:
        """Poll once; errors are ignored, as the next poll tries again."""
        with suppress(ClusterError):
            self._poll_orders()
        try:
            self._poll_batches()
            self._poll_executors()
        except MetricsUnavailableError:
            with suppress(ClusterError):
                self._poll_driver()

    def ordered(self) -> list[SeenOrder]:
        """Return the orders, oldest first."""
        return sorted([*self.orders.values()], key=lambda order: order.at_s)

    def in_force(self, at_s: float) -> frozenset[str]:
        """Return the placement of the order in force at an instant; empty before the first."""
        placements = [order.placement for order in self.ordered() if order.at_s <= at_s]
        return frozenset(placements[-1] if placements else ())

    def rescale_of(self, decision: Decision) -> Rescale:
        """Return the change that a decision ordered, with the first tasks on its nodes."""
        ids = {name for name, each in self.orders.items() if abs(each.at_s - decision.at_s) < _SAME_INSTANT_S}
        first_tasks_s = tuple(
            each["first_task_at_s"] - decision.at_s
            for each in self.executors.values()
            if each.get("order") in ids and each.get("first_task_at_s")
        )
        return replace(rescale_of(decision), first_task_s=first_tasks_s)

    def _poll_orders(self) -> None:
        status = self.application.document("streamautoscaler", self.application.operator.name).get("status") or {}
        for order in (*(status.get("history") or ()), status.get("order")):
            if order and order["id"] not in self.orders:
                at_s, placement = datetime.fromisoformat(order["at"]).timestamp(), tuple(order["placement"])
                self.orders[order["id"]] = SeenOrder(at_s=at_s, placement=placement)
                self.log(f"order {order['id']}: executors on {', '.join(placement)}")

    def _poll_driver(self) -> None:
        status = self.application.driver()["status"]
        self.driver_phase = status.get("phase", "")
        self._driver_address = status.get("podIP", "")

    def _poll_batches(self) -> None:
        newest = max(self.record.batches, default=-1)
        body = self.application.ask_driver(f"batches?after={newest}", self._driver_address)
        parsed = to_batches(parse_document(body, self.application.operator.name).batches, {})
        if parsed.batches and not self.record.batches:
            self.record.began_at_s = min(batch.began_s for batch in parsed.batches)
        self.record.add_batches(tuple(parsed.batches))
        for batch in parsed.batches:
            work: Mapping[str, Any] = parsed.work.get(batch.ended_at_s, {})
            self.worked[batch.batch_id] = frozenset(node for node, each in work.items() if each.rows > 0)

    def _poll_executors(self) -> None:
        replicas = json.loads(self.application.ask_driver("replicas", self._driver_address))
        for each in replicas["executors"]:
            known = self.executors.get(each["id"], {})
            self.executors[each["id"]] = {**each, "order": known.get("order") or each.get("order")}
        placement = tuple(replicas["hosts"] or ())
        if placement != self.placement:
            self.placement = placement
            self.log(f"live executors on {', '.join(placement) or 'no node'}")
