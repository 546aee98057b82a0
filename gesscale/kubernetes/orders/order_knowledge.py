"""Knowledge whose orders are those in the resources, so that every controller knows the same.

An order can be known to the cluster alone: its controller died before it could report it, the answer to the write was
lost, or another controller was a moment faster.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from gesscale.kubernetes.resource.order import OrderStatus
from gesscale.model.decision import Decision
from gesscale.model.order import Order
from gesscale.ports import Knowledge, KnowledgeStore


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
    standing: Callable[[], Mapping[str, OrderStatus | None]]
    _known: dict[str, OrderStatus] = field(default_factory=dict, init=False)

    def recall(self, now_s: float) -> Knowledge:
        """Return what the other one knows, and of each operator the order that stands.

        An order that is dated later than now, by a clock that ran ahead, counts from when it was first seen.
        """
        standing = {name: order for name, order in self.standing().items() if order is not None}
        self._known = {
            name: known
            if (known := self._known.get(name)) is not None and _same(known, order)
            else order.model_copy(update={"at_s": min(order.at_s, now_s)})
            for name, order in standing.items()
        }
        orders = {name: (order,) for name, order in self._known.items()}
        return replace(self.inner.recall(now_s), orders=orders)

    def settle(self, operator: str, order: Order) -> None:
        """Note how the order that stands ended; the report writes it into the resource."""
        standing = self.standing().get(operator)
        if isinstance(order, OrderStatus) and standing is not None and _same(order, standing):
            self._known[operator] = order

    def remember(self, decision: Decision) -> None:
        """Keep a decision, and note why its order was given."""
        self.inner.remember(decision)
        order = self.standing().get(decision.operator)
        if decision.acted and order is not None:
            why = {"reason": decision.plan.reason.value, "before": len(decision.plan.before)}
            self._known[decision.operator] = order.model_copy(update=why)

    def close(self) -> None:
        """Let go of the file, if there is one."""
        self.inner.close()


def _same(one: OrderStatus, other: OrderStatus) -> bool:
    return (one.id, one.placement) == (other.id, other.placement)
