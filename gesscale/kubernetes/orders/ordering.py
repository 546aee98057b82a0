"""Writing orders: only as the leader that decided them, only over what was decided on, never twice the same."""

import threading
from collections.abc import Callable
from typing import Any

from gesscale.errors import ClusterError
from gesscale.kubernetes.orders.documents import Document, Documents
from gesscale.kubernetes.resource.autoscaler import StreamAutoscaler
from gesscale.kubernetes.resource.groups import group_of
from gesscale.kubernetes.resource.order import OrderStatus, Strategy, order_of, past_orders
from gesscale.kubernetes.resource.translate import Key


class OrderWriter:
    """Writes ``status.order`` of StreamAutoscalers; for any number of threads.

    Parameters
    ----------
    documents
        The resources.
    term
        The term of our leadership; None while we do not lead.
    """

    def __init__(self, documents: Documents, term: Callable[[], int | None]) -> None:
        self._documents, self._term = documents, term
        self._lock = threading.Lock()
        self._count = 0

    def standing(self, resource: Key) -> OrderStatus | None:
        """Return the order in force; None where there is none."""
        document = self._documents.newest(resource)
        return None if document is None else order_of(document)

    def write(
        self,
        resource: StreamAutoscaler,
        placement: tuple[str, ...],
        *,
        at_s: float,
        term: int,
        over: OrderStatus | None,
        rehearse: bool = False,
    ) -> OrderStatus:
        """Order a placement.

        Parameters
        ----------
        resource
            As it was when this was decided.
        placement
            The nodes, sorted, at least one.
        at_s
            When this was decided, seconds since the epoch.
        term
            Of the leadership under which this was decided.
        over
            The order that stood when this was decided.
        rehearse
            Let the API server check it and keep nothing.

        Returns
        -------
        OrderStatus
            As written; the standing one where it asks for the same already.

        Raises
        ------
        ClusterError
            Where that leadership has ended, spec or order have changed meanwhile, or the API server refuses.
        """
        strategy = Strategy(resource.spec.reconfiguration.strategy)
        if over is not None and (over.placement, over.strategy) == (placement, strategy):
            return over
        order = self._next(at_s, term, placement, strategy)

        def patch_of(document: Document) -> dict[str, Any]:
            self._check(resource, document, term, over)
            past = past_orders(group_of(document, "status"), replaced=True)
            return {
                "order": order.model_dump(
                    mode="json", by_alias=True
                ),  # a null removes what the former order had
                "history": [each.document() for each in past],
            }

        self._documents.change_status((resource.namespace, resource.name), patch_of, rehearse=rehearse)
        return order

    def _check(
        self, resource: StreamAutoscaler, document: Document, term: int, over: OrderStatus | None
    ) -> None:
        said = f"streamautoscaler {resource.namespace}/{resource.name}: nothing is ordered, since"
        found, metadata = order_of(document), document["metadata"]
        decided_on = (resource.metadata.uid, resource.metadata.generation)
        if self._term() != term:
            message = f"{said} the leadership of term {term} has ended"
        elif (metadata.get("uid", ""), metadata.get("generation", 0)) != decided_on:
            message = f"{said} its spec has changed meanwhile; it is decided again"
        elif found is not None and found.term > term:
            message = f"{said} a controller of term {found.term} has taken over from term {term}"
        elif found is not None and (over is None or found.id != over.id):
            message = f"{said} order {found.id} for {', '.join(found.placement)} has come meanwhile"
        else:
            return
        raise ClusterError(message)

    def _next(self, at_s: float, term: int, placement: tuple[str, ...], strategy: Strategy) -> OrderStatus:
        with self._lock:
            self._count += 1
            count = self._count
        return OrderStatus(
            id=f"{term}-{count}",
            term=term,
            placement=placement,
            at_s=int(at_s * 1e6) / 1e6,  # never later than it was decided
            strategy=strategy,
        )
