"""Orders from one StreamAutoscaler: read, watched for ever, carried out; never a reason for the query to fail."""

import json
import logging
import random
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from gesscale.common.errors import GesscaleError, InputError
from gesscale.spark.executors import ExecutorWatch
from gesscale.spark.kubernetes_api import ApiServer, connect
from gesscale.spark.operator_state import OperatorState
from gesscale.spark.placing import (
    AUTOSCALER,
    BASE_FILE,
    CONTAINER_SETTING,
    FOLDER,
    NAMESPACE,
    ORDER,
    TEMPLATE_FILE,
    read_base_template,
)
from gesscale.spark.pod_template import PodPlacement, executor_template
from gesscale.spark.reconciler import Reconciler
from gesscale.spark.restarting import RestartableQuery
from gesscale.spark.scheduler import TEMPLATE_SETTING, Scheduler
from gesscale.wire import OrderDocument, group_of, read_order, text_of

_LOG = logging.getLogger("gesscale.spark")
_FIRST_WAIT_S, _LONGEST_WAIT_S = 1.0, 60.0
_WATCH_S = 240.0
_GONE = 410


@dataclass(slots=True)
class OrderReader:
    """Which order holds; pure, and for one thread.

    An order of a lower rank than the one that holds is ignored: it comes from a controller that has lost its
    leadership, or from a cache that lags. A resource that was deleted and made again begins again.
    """

    #: The one that holds; None before the first.
    order: OrderDocument | None = None
    #: How many were broken or late.
    ignored: int = 0
    _uid: str | None = None
    _said: set[str] = field(default_factory=set)

    def read(self, resource: Mapping[str, Any]) -> str:
        """Take the order of a whole StreamAutoscaler, if it is a newer one."""
        uid = text_of(group_of(resource, "metadata"), "uid")
        if uid != self._uid:
            self._uid, self.order = uid, None
        value = group_of(resource, "status").get("order")
        if value is None:
            return ""
        try:
            order = read_order(value)
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
    """Follows one StreamAutoscaler on a daemon thread; needs the verbs get and watch on this one object."""

    def __init__(
        self, server: ApiServer, *, namespace: str, name: str, reader: OrderReader, on_order: Callable[[], None]
    ) -> None:
        self._server, self._namespace, self._name = server, namespace, name
        self.reader, self._on_order = reader, on_order
        self._stopping = threading.Event()
        self.failures = 0
        self.problem = ""
        """Why orders cannot be read now; empty where they can."""
        self._said = ""
        self._wait_s = _FIRST_WAIT_S
        self._thread = threading.Thread(target=self._follow_for_ever, name="gesscale-orders", daemon=True)

    def start(self) -> None:
        """Begin to follow."""
        self._thread.start()

    def stop(self, *, within_s: float = 0.0) -> None:
        """Stop soon, and wait for it so long; a watch that hears nothing is left to its daemon thread."""
        self._stopping.set()
        self._thread.join(within_s)

    def _follow_for_ever(self) -> None:
        while not self._stopping.is_set():
            try:
                for _ in self._read_once():
                    self._recovered()
                wait_s = _FIRST_WAIT_S
            except Exception as error:  # noqa: BLE001 - the contract: nothing here ends the thread or the query
                self._failed(error)
                wait_s = self._wait_s * random.uniform(0.5, 1.0)  # noqa: S311 - drivers are not to ask in step
                self._wait_s = min(2 * self._wait_s, _LONGEST_WAIT_S)
            self._stopping.wait(wait_s)

    def _read_once(self) -> Iterator[None]:
        """Get the object, then follow its changes until the server calls the version too old; yield once it does."""
        found = self._server.autoscaler(self._namespace, self._name)
        self._take(found)
        version = str(found["metadata"]["resourceVersion"])
        while not self._stopping.is_set():
            for event in self._server.autoscaler_events(self._namespace, self._name, version, _WATCH_S):
                if event is None:
                    yield
                    continue
                kind, resource = event.get("type"), event.get("object") or {}
                if kind == "ERROR":
                    return  # most often 410: read it again
                version = str(resource["metadata"]["resourceVersion"])
                if kind in {"ADDED", "MODIFIED"}:
                    self._take(resource)
                if self._stopping.is_set():
                    return
            self._stopping.wait(_FIRST_WAIT_S)  # a proxy may end every watch at once

    def _take(self, resource: Mapping[str, Any]) -> None:
        held = self.reader.order
        if said := self.reader.read(resource):
            _LOG.warning("StreamAutoscaler %s/%s: %s", self._namespace, self._name, said)
        if self.reader.order is not None and self.reader.order != held:
            self._on_order()

    def _recovered(self) -> None:
        if self.problem:
            _LOG.warning("StreamAutoscaler %s/%s: orders can be read again", self._namespace, self._name)
        self.problem, self._said, self._wait_s = "", "", _FIRST_WAIT_S

    def _failed(self, error: Exception) -> None:
        status = getattr(error, "status", None)
        if status == _GONE:
            return  # nothing is wrong: the version was too old
        self.failures += 1
        self.problem = _sentence(error)
        kind = f"{type(error).__name__} {status}"
        if kind != self._said:
            self._said = kind
            _LOG.warning(
                "StreamAutoscaler %s/%s: orders cannot be read: %s; executors stay as they are, it is tried again",
                self._namespace, self._name, self.problem,
            )  # fmt: skip


def _sentence(error: Exception) -> str:
    if getattr(error, "status", None) == 403:
        return (
            "the driver's ServiceAccount may not read it: its Role needs get and watch on this one object, "
            f"see docs/howto/spark_on_kubernetes.md ({error})"
        )[:500]
    text = str(error) if isinstance(error, GesscaleError) else f"{type(error).__name__}: {error}"
    return text[:500]


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderFollower:
    """A driver that obeys: where its orders come from, and what makes them so."""

    orders: OrderWatch
    reconciler: Reconciler

    def stop(self) -> None:
        """Stop both threads soon."""
        self.orders.stop()
        self.reconciler.stop()

    def document(self) -> dict[str, Any]:
        """Return where things stand, as JSON values."""
        return {
            **self.reconciler.document(),
            "ignored_orders": self.orders.reader.ignored,
            "failures": self.orders.failures + self.reconciler.failures,
            "problem": self.orders.problem,
        }


def follow_orders(
    spark: Any,
    state: OperatorState,
    watch: ExecutorWatch,
    *,
    autoscaler: str | None,
    namespace: str | None,
    restart: RestartableQuery | None,
) -> OrderFollower | None:
    """Begin to obey; None where there is no StreamAutoscaler or nothing to steer, which is logged."""
    try:
        if autoscaler is None and not spark.sparkContext.getConf().get(AUTOSCALER):
            return None
    except Exception:  # noqa: BLE001 - what is no session of a driver has no context
        return None
    operator = state.settings.operator
    try:
        scheduler = Scheduler(spark)
        master = scheduler.setting("spark.master")
        if not master.startswith("k8s://"):
            _LOG.warning(
                "operator %s: the master is %s, not Kubernetes: there is nothing to steer, the query is only watched",
                operator, master or "unknown",
            )  # fmt: skip
            return None
        server = connect()
        name = autoscaler or scheduler.setting(AUTOSCALER)
        own_space = scheduler.setting("spark.kubernetes.namespace") or "default"
        space = namespace or scheduler.setting(NAMESPACE) or own_space
        reader = OrderReader()
        reconciler = Reconciler(
            orders=lambda: reader.order,
            spark=scheduler,
            list_pods=partial(server.executor_pods, own_space, scheduler.application),
            delete_pod=partial(server.delete_pod, own_space),
            use_placement=_template_writer(scheduler, name),
            watch=watch,
            clock_s=time.time,
            restart=restart,
            obeyed=scheduler.setting(ORDER),
        )
    except Exception as error:  # noqa: BLE001 - the contract: the query runs, steered or not
        _LOG.warning("operator %s: not steered: %s", operator, _sentence(error))
        return None
    orders = OrderWatch(server, namespace=space, name=name, reader=reader, on_order=reconciler.wake)
    state.notify_of_batch_ends(reconciler.batch_ended)
    orders.start()
    reconciler.start()
    return OrderFollower(orders=orders, reconciler=reconciler)


def _template_writer(scheduler: Scheduler, autoscaler: str) -> Callable[[PodPlacement], None]:
    """Return what lets the next executors follow a placement: the user's own template is kept below it."""
    placed = scheduler.setting(FOLDER)
    folder = Path(placed or tempfile.mkdtemp(prefix="gesscale-"))
    base = (
        json.loads((folder / BASE_FILE).read_text("utf-8"))
        if placed
        else read_base_template(scheduler.setting(TEMPLATE_SETTING))
    )
    container = scheduler.setting(CONTAINER_SETTING) or None

    def use(placement: PodPlacement) -> None:
        template = executor_template(base, placement, autoscaler=autoscaler, container=container)
        scheduler.use_template(folder / TEMPLATE_FILE, template)

    return use
