"""Knowledge in which no standing order is missing.

An order can be known to the cluster alone: its controller died before it could write it down, the answer to the write
was lost, or another controller was a moment faster. As long as such an order has not settled, nothing else may be
ordered, and nothing is lost that it does not ask for.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from gesscale.decision import Decision
from gesscale.kubernetes.orders import Order
from gesscale.ports import Knowledge, KnowledgeStore, Reconfiguration


@dataclass(slots=True)
class OrderKnowledge:
    """A `gesscale.ports.KnowledgeStore` that adds what the standing orders say to another one.

    Attributes
    ----------
    inner
        Where the rest is kept.
    """

    inner: KnowledgeStore
    _orders: dict[str, tuple[str, Reconfiguration]] = field(default_factory=dict, init=False)

    def hear(self, orders: Mapping[str, Order | None], now_s: float) -> None:
        """Take note of the orders that stand, by operator, before a step."""
        for name, order in orders.items():
            known = self._orders.get(name)
            if order is None:
                self._orders.pop(name, None)
            elif known is None or known[0] != order.id:
                # One that is dated later than now, by a clock that ran ahead, would not be known until then.
                at_s = min(order.at.timestamp(), now_s)
                change = Reconfiguration(at_s=at_s, operator=name, placement=order.placement)
                self._orders[name] = order.id, change

    def recall(self, now_s: float) -> Knowledge:
        """Return what the other one knows, and before it each order of which that knows nothing."""
        known = self.inner.recall(now_s)
        changes = dict(known.reconfigurations)
        for name, (_, change) in self._orders.items():
            latest = known.latest(name)
            if latest is None or (latest.at_s < change.at_s and latest.placement != change.placement):
                changes[name] = (change, *changes.get(name, ()))
        return replace(known, reconfigurations=changes)

    def settle(self, reconfiguration: Reconfiguration) -> None:
        """Keep the measured downtime of a change, whoever knows of it."""
        name = reconfiguration.operator
        if name in self._orders and self._orders[name][1].at_s == reconfiguration.at_s:
            self._orders[name] = self._orders[name][0], reconfiguration
        else:
            self.inner.settle(reconfiguration)

    def remember(self, decision: Decision) -> None:
        """Keep a decision."""
        self.inner.remember(decision)

    def adopt(self, known: Knowledge) -> None:
        """Take over what another store knew."""
        self.inner.adopt(known)

    def close(self) -> None:
        """Let go of the file, if there is one."""
        self.inner.close()
