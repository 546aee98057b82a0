"""Knowledge whose orders are those that stand in the resources, so that every controller knows the same.

An order can be known to the cluster alone: its controller died before it could tell of it, the answer to the write was
lost, or another controller was a moment faster.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from gesscale.decision import Decision
from gesscale.kubernetes.resource.order import Order
from gesscale.ports import Knowledge, KnowledgeStore, Reconfiguration


@dataclass(slots=True)
class OrderKnowledge:
    """A `gesscale.ports.KnowledgeStore`: the standing orders, and what another one keeps.

    Attributes
    ----------
    inner
        Where the rest is kept.
    standing
        Returns the orders that stand, by operator.
    """

    inner: KnowledgeStore
    standing: Callable[[], Mapping[str, Order | None]]
    _heard_at_s: dict[str, float] = field(default_factory=dict, init=False)
    _downtime_s: dict[str, float] = field(default_factory=dict, init=False)

    def recall(self, now_s: float) -> Knowledge:
        """Return what the other one knows, and of each operator the order that stands."""
        orders = {name: order for name, order in self.standing().items() if order is not None}
        ids = {order.id for order in orders.values()}
        # One that is dated later than now, by a clock that ran ahead, counts from when it was first seen.
        self._heard_at_s = {
            order.id: self._heard_at_s.get(order.id, min(order.at.timestamp(), now_s))
            for order in orders.values()
        }
        self._downtime_s = {each: found for each, found in self._downtime_s.items() if each in ids}
        known = {name: (self._reconfiguration(name, order),) for name, order in orders.items()}
        return replace(self.inner.recall(now_s), reconfigurations=known)

    def settle(self, reconfiguration: Reconfiguration) -> None:
        """Note the measured downtime of the order that stands; the report writes it into the resource."""
        order = self.standing().get(reconfiguration.operator)
        if order is not None and reconfiguration.downtime_s is not None:
            self._downtime_s[order.id] = reconfiguration.downtime_s

    def remember(self, decision: Decision) -> None:
        """Keep a decision."""
        self.inner.remember(decision)

    def close(self) -> None:
        """Let go of the file, if there is one."""
        self.inner.close()

    def _reconfiguration(self, name: str, order: Order) -> Reconfiguration:
        told_s = order.downtime_seconds
        return Reconfiguration(
            at_s=self._heard_at_s[order.id],
            operator=name,
            placement=order.placement,
            downtime_s=self._downtime_s.get(order.id) if told_s is None else told_s,
        )
