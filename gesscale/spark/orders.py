"""Orders from one StreamAutoscaler: read, watched for ever, and never a reason for the query to fail."""

import json
import logging
import random
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gesscale.errors import GesscaleError, InputError
from gesscale.kubernetes.resource.groups import group_of, text_of
from gesscale.kubernetes.resource.order import OrderStatus, parse_order

if TYPE_CHECKING:
    from gesscale.kubernetes.api.connection import Connection

_LOG = logging.getLogger("gesscale.spark")
_FIRST_WAIT_S = 1.0
_WATCH_S = 240.0


@dataclass(slots=True)
class OrderReader:
    """Which order holds; pure, and for one thread.

    An order of a lower rank than the one that holds is ignored: it comes from a controller that has lost its
    leadership, or from a cache that lags. A resource that was deleted and made again begins again.

    Attributes
    ----------
    order
        The one that holds; None before the first.
    ignored
        How many were broken or late.
    """

    order: OrderStatus | None = None
    ignored: int = 0
    _uid: str | None = None
    _said: set[str] = field(default_factory=set)

    def read(self, resource: Mapping[str, Any]) -> str:
        """Take the order of a StreamAutoscaler, if it is a newer one.

        Parameters
        ----------
        resource
            The whole object, as its JSON says it.

        Returns
        -------
        str
            A sentence about what was ignored, the first time; else empty.
        """
        uid = text_of(group_of(resource, "metadata"), "uid")
        if uid != self._uid:
            self._uid, self.order = uid, None
        value = group_of(resource, "status").get("order")
        if value is None:
            return ""
        try:
            order = parse_order(value)
        except InputError as error:
            return self._ignore(f"{error}; it is ignored")
        if self.order is not None and order.rank < self.order.rank:
            return self._ignore(f"order {order.id} is older than {self.order.id}, which holds; it is ignored")
        self.order = order
        return ""

    def _ignore(self, sentence: str) -> str:
        if sentence in self._said:
            return ""
        self.ignored += 1
        if len(self._said) < 100:
            self._said.add(sentence)
        return sentence


class OrderWatch:
    """Follows one StreamAutoscaler on a daemon thread; needs the verbs get and watch on this one object.

    Parameters
    ----------
    connection
        The API server.
    namespace, name
        The object.
    book
        Where orders are kept; others only read it.
    on_order
        Called on the watching thread when another order holds.
    """

    def __init__(
        self,
        connection: "Connection",
        *,
        namespace: str,
        name: str,
        book: OrderReader,
        on_order: Callable[[], None],
    ) -> None:
        self._connection, self._namespace, self._name = connection, namespace, name
        self._book, self._on_order = book, on_order
        self._stopping = threading.Event()
        self._problem = self._said = ""
        self.failures = 0
        self._thread = threading.Thread(target=self._follow_for_ever, name="gesscale-orders", daemon=True)

    @property
    def ignored(self) -> int:
        """Return how many orders were ignored."""
        return self._book.ignored

    @property
    def problem(self) -> str:
        """Return why orders cannot be read now; empty where they can."""
        return self._problem

    def start(self) -> None:
        """Begin to follow."""
        self._thread.start()

    def stop(self, *, within_s: float = 0.0) -> None:
        """Stop soon, and wait for it so long; a watch that hears nothing is left to its daemon thread."""
        self._stopping.set()
        self._thread.join(within_s)

    def _follow_for_ever(self) -> None:
        from gesscale.kubernetes.api.backoff import Backoff

        backoff = Backoff(random=random.random, first_s=_FIRST_WAIT_S)
        while not self._stopping.is_set():
            wait_s = _FIRST_WAIT_S
            try:
                for _ in self._read_once():
                    backoff.succeeded()
                    self._recovered()
            except Exception as error:  # noqa: BLE001 - the contract: nothing here ends the thread or the query
                self._failed(error)
                wait_s = backoff.after_fault_s(getattr(error, "retry_after_s", None))
            self._stopping.wait(wait_s)

    def _read_once(self) -> Iterator[None]:
        """Get the object, then follow its changes until the server calls the version too old; yield once it does."""
        from gesscale.kubernetes.api.resources import STREAM_AUTOSCALERS

        found = self._connection.get(STREAM_AUTOSCALERS, self._name, namespace=self._namespace)
        self._take(found)
        version = str(found["metadata"]["resourceVersion"])
        while not self._stopping.is_set():
            lines = self._connection.watch(
                STREAM_AUTOSCALERS,
                namespace=self._namespace,
                field_selector=f"metadata.name={self._name}",
                resource_version=version,
                lasts_s=_WATCH_S,
            )
            yield
            for line in lines:
                event = json.loads(line)
                kind, resource = event.get("type"), event.get("object") or {}
                if kind == "ERROR":
                    return  # most often 410: read it again
                version = str(resource["metadata"]["resourceVersion"])
                if kind in {"ADDED", "MODIFIED"}:
                    self._take(resource)
                if self._stopping.is_set():
                    lines.close()
            self._stopping.wait(_FIRST_WAIT_S)  # a proxy may end every watch at once

    def _take(self, resource: Mapping[str, Any]) -> None:
        held = self._book.order
        said = self._book.read(resource)
        if said:
            _LOG.warning("StreamAutoscaler %s/%s: %s", self._namespace, self._name, said)
        if self._book.order is not None and self._book.order != held:
            self._on_order()

    def _recovered(self) -> None:
        if self._problem:
            _LOG.warning("StreamAutoscaler %s/%s: orders can be read again", self._namespace, self._name)
        self._problem = self._said = ""

    def _failed(self, error: Exception) -> None:
        if getattr(error, "expired", False):
            return  # nothing is wrong: the version was too old
        self.failures += 1
        self._problem = _sentence(error)
        kind = f"{type(error).__name__} {getattr(error, 'status', '')}"
        if kind != self._said:
            self._said = kind
            _LOG.warning(
                "StreamAutoscaler %s/%s: orders cannot be read: %s; executors stay as they are, it is tried again",
                self._namespace, self._name, self._problem,
            )  # fmt: skip


def _sentence(error: Exception) -> str:
    if getattr(error, "status", None) == 403:
        return (
            "the driver's ServiceAccount may not read it: its Role needs get and watch on this one object, "
            f"see docs/howto/spark_on_kubernetes.md ({error})"
        )[:500]
    text = str(error) if isinstance(error, GesscaleError) else f"{type(error).__name__}: {error}"
    return text[:500]
