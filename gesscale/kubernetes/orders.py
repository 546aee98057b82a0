"""Orders: the resources as seen last, the writing of status.order, and what is known of it."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from gesscale.errors import ClusterError
from gesscale.kubernetes.api.connection import Connection
from gesscale.kubernetes.api.faults import ApiError
from gesscale.kubernetes.api.resources import STREAM_AUTOSCALERS
from gesscale.kubernetes.resource.autoscaler import StreamAutoscaler
from gesscale.kubernetes.resource.order import OrderStatus, order_of, past_orders
from gesscale.kubernetes.resource.translate import Key
from gesscale.model.decision import Decision
from gesscale.model.order import Order
from gesscale.ports import Knowledge, KnowledgeStore
from gesscale.wire import Strategy, group_of, text_of

Document = Mapping[str, Any]
_TRIES = 3
_MOST_DIGITS = 100


class Documents:
    """Reads and writes the statuses of StreamAutoscalers; for any number of threads."""

    def __init__(self, requests: Connection, watched: Callable[[], Mapping[str, Document]]) -> None:
        self._requests, self._watched = requests, watched
        self._lock = threading.Lock()
        self._written: dict[Key, Document] = {}

    def newest(self, resource: Key) -> Document | None:
        """Return a resource as it was seen or written last; None where it is gone."""
        watched = self._watched().get("/".join(resource))
        with self._lock:
            written = self._written.get(resource)
            if written is None:
                return watched
            if watched is not None and _uid(watched) == _uid(written) and _version(watched) < _version(written):
                return written
            del self._written[resource]  # the watch has caught up
        return watched

    def change_status(
        self, resource: Key, patch_of: Callable[[Document], Mapping[str, Any] | None], *, rehearse: bool = False
    ) -> None:
        """Change a status over the very version that the change was made for.

        Parameters
        ----------
        patch_of
            Returns the merge patch for a document, None for no change. Asked again, of the newest document,
            where somebody else was first; what it raises ends the attempt.

        Raises
        ------
        ClusterError
            Where the resource is gone or the API server refuses.
        """
        namespace, name = resource
        document = self.newest(resource)
        for tries_left in reversed(range(_TRIES)):
            if document is None:
                raise ClusterError(f"streamautoscaler {'/'.join(resource)} does not exist any more")
            status = patch_of(document)
            if not status:
                return
            body = {"metadata": {"resourceVersion": document["metadata"]["resourceVersion"]}, "status": dict(status)}
            try:
                answer = self._requests.patch(
                    STREAM_AUTOSCALERS, name, body, namespace=namespace, subresource="status", dry_run=rehearse
                )
            except ApiError as fault:
                if not fault.conflict or not tries_left:
                    raise
                document = self._read_again(resource)
            else:
                if not rehearse:
                    self._keep(resource, answer)
                return

    def _keep(self, resource: Key, document: Document) -> None:
        watched = self._watched()
        with self._lock:
            self._written = {key: each for key, each in self._written.items() if "/".join(key) in watched}
            known = self._written.get(resource)
            if known is None or _uid(known) != _uid(document) or _version(known) < _version(document):
                self._written[resource] = document

    def _read_again(self, resource: Key) -> Document | None:
        """Read a resource by a list of one: the right to list all is had for the watch, to get is another."""
        namespace, name = resource
        pages = self._requests.pages(STREAM_AUTOSCALERS, namespace=namespace, field_selector=f"metadata.name={name}")
        return next((item for page in pages for item in page.get("items") or ()), None)


def _uid(document: Document) -> str:
    return text_of(group_of(document, "metadata"), "uid")


def _version(document: Document) -> int:
    """Return a resourceVersion as a number, by which two versions of one object compare (KEP-5504)."""
    text = text_of(group_of(document, "metadata"), "resourceVersion")
    return int(text) if text.isdecimal() and len(text) <= _MOST_DIGITS else -1


class OrderWriter:
    """Writes ``status.order`` of StreamAutoscalers; for any number of threads.

    Parameters
    ----------
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
        at_s
            When this was decided, seconds since the epoch.

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
                "order": order.model_dump(mode="json", by_alias=True),  # a null removes what the former order had
                "history": [each.document() for each in past],
            }

        self._documents.change_status((resource.namespace, resource.name), patch_of, rehearse=rehearse)
        return order

    def _check(self, resource: StreamAutoscaler, document: Document, term: int, over: OrderStatus | None) -> None:
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


@dataclass(slots=True)
class OrderKnowledge:
    """A `gesscale.ports.KnowledgeStore`: the standing orders, and what another one keeps."""

    #: Where the rest is kept.
    inner: KnowledgeStore
    #: Returns the orders that stand, by operator.
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
