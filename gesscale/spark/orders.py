"""Follows the orders of a StreamAutoscaler and applies them; a failure never affects the query."""

import json
import logging
import random
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any

from gesscale.common.counted_warnings import CountedWarnings
from gesscale.common.errors import GesscaleError, InputError, Problem
from gesscale.common.logs import log_problem
from gesscale.spark.executors import ExecutorWatch
from gesscale.spark.kubernetes_api import ApiServer, connect
from gesscale.spark.operator_state import OperatorState
from gesscale.spark.pod_template import PodPlacement, executor_template
from gesscale.spark.query_restart import RestartableQuery
from gesscale.spark.reconciler import Reconciler
from gesscale.spark.scheduler import TEMPLATE_SETTING, Scheduler
from gesscale.spark.session_setup import (
    AUTOSCALER,
    BASE_FILE,
    CONTAINER_SETTING,
    FOLDER,
    FOLLOWED,
    NAMESPACE,
    ORDER,
    TEMPLATE_FILE,
    read_base_template,
)
from gesscale.spark.versions import acting_problem
from gesscale.wire import LEADER_GONE_S, OrderDocument, group_of, read_order, text_of

_LOG = logging.getLogger("gesscale.spark")
_MIN_WAIT_S, _MAX_WAIT_S = 1.0, 60.0
_WATCH_S = 240.0


@dataclass(slots=True)
class OrderReader:
    """Keeps the current order. Pure, for one thread.

    An order of lower rank than the current one is ignored: it comes from a controller that lost its leadership, or from
    a stale cache. So is one under another Lease while a controller under the current one's may live: a status names the
    Lease of its writer. A resource that was deleted and created again starts without an order.
    """

    #: The current order; None before the first.
    order: OrderDocument | None = None
    #: Number of invalid and outdated orders.
    ignored: int = 0
    #: A clock that does not jump.
    steady_s: Callable[[], float] = time.monotonic
    _uid: str | None = None
    _version: str = ""
    _led_s: float = float("-inf")
    _ignored_last: Problem | None = None

    def read(self, resource: Mapping[str, Any]) -> Problem | None:
        """Take the order of a StreamAutoscaler if it is newer; return why it was ignored."""
        metadata, status = group_of(resource, "metadata"), group_of(resource, "status")
        uid, version = text_of(metadata, "uid"), text_of(metadata, "resourceVersion")
        if uid != self._uid:
            self._uid, self.order = uid, None
        followed = self.order.lease if self.order is not None else ""
        if version != self._version and text_of(status, "lease") == followed:
            self._led_s = self.steady_s()
        self._version = version
        value = status.get("order")
        if value is None:
            return None
        try:
            order = read_order(value)
        except InputError as error:
            identity = text_of(value, "id") if isinstance(value, Mapping) else ""
            return self._ignore(Problem("order-ignored", {"order": identity, "cause": str(error)}))
        if followed and order.lease != followed:
            if not order.lease or self.steady_s() < self._led_s + LEADER_GONE_S:
                fields = {"order": order.id, "lease": order.lease, "followed": followed}
                return self._ignore(Problem("order-of-other-lease", fields))
        elif self.order is not None and order.rank < self.order.rank:
            return self._ignore(Problem("order-outdated", {"order": order.id, "current": self.order.id}))
        if order != self.order:
            self.order, self._led_s = order, self.steady_s()
        return None

    def _ignore(self, problem: Problem) -> Problem | None:
        if problem != self._ignored_last:  # each event repeats the order
            self.ignored, self._ignored_last = self.ignored + 1, problem
        return problem


class OrderWatch:
    """Watches one StreamAutoscaler on a daemon thread; needs the verbs get and watch on this object."""

    def __init__(
        self, server: ApiServer, *, namespace: str, name: str, reader: OrderReader, on_order: Callable[[], None]
    ) -> None:
        self._server, self._namespace, self._name = server, namespace, name
        self._autoscaler = f"{namespace}/{name}"
        self.reader, self._on_order = reader, on_order
        self._stopping = threading.Event()
        self.failures = 0
        self.problem: Problem | None = None
        """Reason why orders cannot be read now; None if they can."""
        self._logged = ""
        self._warn = CountedWarnings(_LOG).warn
        self._wait_s = _MIN_WAIT_S
        self._thread = threading.Thread(target=self._run, name="gesscale-orders", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self, *, timeout_s: float = 0.0) -> None:
        """Stop, and wait for at most some seconds; a silent watch ends with the process."""
        self._stopping.set()
        self._thread.join(timeout_s)

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                for _ in self._watch_once():
                    self._recovered()
                wait_s = _MIN_WAIT_S
            except Exception as error:  # noqa: BLE001 - nothing may end the thread or the query
                self._failed(error)
                wait_s = self._wait_s * random.uniform(0.5, 1.0)  # noqa: S311 - jitter, so that drivers do not retry at once
                self._wait_s = min(2 * self._wait_s, _MAX_WAIT_S)
            self._stopping.wait(wait_s)

    def _watch_once(self) -> Iterator[None]:
        """Get the object, then watch it until its version expires; yield when each watch is open."""
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
                    return  # usually 410 Gone: get the object again
                version = str(resource["metadata"]["resourceVersion"])
                if kind in {"ADDED", "MODIFIED"}:
                    self._take(resource)
                if self._stopping.is_set():
                    return
            self._stopping.wait(_MIN_WAIT_S)  # in case a proxy ends every watch immediately

    def _take(self, resource: Mapping[str, Any]) -> None:
        before = self.reader.order
        if problem := self.reader.read(resource):
            self._warn(problem.code, autoscaler=self._autoscaler, **problem.fields)
        if self.reader.order is not None and self.reader.order != before:
            self._on_order()

    def _recovered(self) -> None:
        if self.problem is not None:
            _LOG.warning("reading orders succeeds again autoscaler=%s", self._autoscaler)
        self.problem, self._logged, self._wait_s = None, "", _MIN_WAIT_S

    def _failed(self, error: Exception) -> None:
        status = getattr(error, "status", None)
        if status == HTTPStatus.GONE:
            return  # expected: the version has expired
        self.failures += 1
        code = "orders-forbidden" if status == HTTPStatus.FORBIDDEN else "orders-unreadable"
        self.problem = Problem(code, {"autoscaler": self._autoscaler, "cause": _cause(error)})
        kind = f"{type(error).__name__} {status}"
        if kind != self._logged:
            self._logged = kind
            log_problem(_LOG, logging.WARNING, self.problem.code, **self.problem.fields)


def _cause(error: Exception) -> str:
    text = str(error) if isinstance(error, GesscaleError) else f"{type(error).__name__}: {error}"
    return text[:500]


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderFollower:
    """Applies scaling orders in the driver."""

    orders: OrderWatch
    reconciler: Reconciler

    def stop(self) -> None:
        """Stop both threads."""
        self.orders.stop()
        self.reconciler.stop()

    def document(self) -> dict[str, Any]:
        """Return the state of the current order as JSON values."""
        return {
            **self.reconciler.document(),
            "ignored_orders": self.orders.reader.ignored,
            "failures": self.orders.failures + self.reconciler.failures,
            "problem": str(self.orders.problem or ""),
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
    """Start to follow orders; None if there is no StreamAutoscaler or no Kubernetes, which is logged."""
    try:
        if autoscaler is None and not spark.sparkContext.getConf().get(AUTOSCALER):
            return None
    except Exception:  # noqa: BLE001 - not the session of a driver
        return None
    operator = state.settings.operator
    try:
        scheduler = Scheduler(spark)
        if problem := _acting_problem(scheduler, spark):
            log_problem(_LOG, logging.WARNING, problem.code, operator=operator, **problem.fields)
            return None
        server = connect()
        name = autoscaler or scheduler.setting(AUTOSCALER)
        if (followed := scheduler.setting(FOLLOWED)) not in {"", name}:
            fields = {"operator": operator, "autoscaler": name, "followed": followed}
            log_problem(_LOG, logging.WARNING, "autoscalers-several", **fields)
            return None
        scheduler.change_setting(FOLLOWED, name)
        own_namespace = scheduler.setting("spark.kubernetes.namespace") or "default"
        resource_namespace = namespace or scheduler.setting(NAMESPACE) or own_namespace
        reader = OrderReader()
        reconciler = Reconciler(
            orders=lambda: reader.order,
            spark=scheduler,
            list_pods=partial(server.executor_pods, own_namespace, scheduler.application),
            delete_pod=partial(server.delete_pod, own_namespace),
            executor_refusal=partial(server.executor_refusal, own_namespace, scheduler.application),
            use_placement=_template_writer(scheduler, name),
            watch=watch,
            clock_s=time.time,
            restart=restart,
            applied_order=scheduler.setting(ORDER),
        )
    except Exception as error:  # noqa: BLE001 - the query must run, scaled or not
        log_problem(_LOG, logging.WARNING, "orders-not-followed", operator=operator, cause=_cause(error))
        return None
    orders = OrderWatch(server, namespace=resource_namespace, name=name, reader=reader, on_order=reconciler.wake)
    state.on_batch_end(reconciler.batch_ended)
    orders.start()
    reconciler.start()
    return OrderFollower(orders=orders, reconciler=reconciler)


def _acting_problem(scheduler: Scheduler, spark: Any) -> Problem | None:
    master = scheduler.setting("spark.master")
    if not master.startswith("k8s://"):
        return Problem("driver-outside-kubernetes", {"master": master or "unknown"})
    return acting_problem(str(spark.version))


def _template_writer(scheduler: Scheduler, autoscaler: str) -> Callable[[PodPlacement], None]:
    """Return a function that sets the pod template of the next executors, based on the user's template."""
    prepared = scheduler.setting(FOLDER)
    folder = Path(prepared or tempfile.mkdtemp(prefix="gesscale-"))
    base = (
        json.loads((folder / BASE_FILE).read_text("utf-8"))
        if prepared
        else read_base_template(scheduler.setting(TEMPLATE_SETTING))
    )
    container = scheduler.setting(CONTAINER_SETTING) or None

    def use(placement: PodPlacement) -> None:
        template = executor_template(base, placement, autoscaler=autoscaler, container=container)
        scheduler.use_template(folder / TEMPLATE_FILE, template)

    return use
