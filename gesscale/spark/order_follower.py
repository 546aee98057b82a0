"""Follows orders in a driver: the watch of its StreamAutoscaler, the reconciler, and what they act on."""

import json
import logging
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gesscale.errors import GesscaleError
from gesscale.spark.executors import ExecutorWatch
from gesscale.spark.first_placement import (
    AUTOSCALER,
    BASE_FILE,
    CONTAINER_SETTING,
    FOLDER,
    NAMESPACE,
    ORDER,
    TEMPLATE_FILE,
    read_base_template,
)
from gesscale.spark.operator_state import OperatorState
from gesscale.spark.orders import OrderReader, OrderWatch
from gesscale.spark.pod_template import PodPlacement, executor_template
from gesscale.spark.pods import AppPods
from gesscale.spark.reconciler import Reconciler
from gesscale.spark.restarting import RestartableQuery
from gesscale.spark.scheduler import TEMPLATE_SETTING, Scheduler

_LOG = logging.getLogger("gesscale.spark")


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderFollower:
    """A driver that obeys.

    Attributes
    ----------
    orders
        Where its orders come from.
    reconciler
        What makes them so.
    """

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
            "ignored_orders": self.orders.ignored,
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
    """Begin to obey; None where there is no StreamAutoscaler or nothing to steer, which is logged.

    Parameters
    ----------
    spark
        The session.
    state, watch
        Of its operator.
    autoscaler, namespace
        The StreamAutoscaler; by default the one of `gesscale.spark.place`.
    restart
        The query, where it can be restarted.
    """
    if autoscaler is None and not _was_placed(spark):
        return None
    try:
        order_follower = _put_together(spark, state, watch, autoscaler, namespace, restart)
    except Exception as error:  # noqa: BLE001 - the contract: the query runs, steered or not
        text = str(error) if isinstance(error, GesscaleError) else f"{type(error).__name__}: {error}"
        _LOG.warning("operator %s: not steered: %s", state.settings.operator, text[:500])
        return None
    if order_follower is not None:
        order_follower.orders.start()
        order_follower.reconciler.start()
    return order_follower


def _was_placed(spark: Any) -> bool:
    try:
        return bool(spark.sparkContext.getConf().get(AUTOSCALER))
    except Exception:  # noqa: BLE001 - Spark Connect has no context
        return False


def _put_together(
    spark: Any,
    state: OperatorState,
    watch: ExecutorWatch,
    autoscaler: str | None,
    namespace: str | None,
    restart: RestartableQuery | None,
) -> OrderFollower | None:
    scheduler = Scheduler(spark)
    master = scheduler.setting("spark.master")
    if not master.startswith("k8s://"):
        _LOG.warning(
            "operator %s: the master is %s, not Kubernetes: there is nothing to steer, the query is only watched",
            state.settings.operator, master or "unknown",
        )  # fmt: skip
        return None
    from gesscale.kubernetes.api.credentials import connect
    from gesscale.kubernetes.api.faults import THE_DRIVER

    connection = connect(asker=THE_DRIVER)
    name = autoscaler or scheduler.setting(AUTOSCALER)
    own_space = scheduler.setting("spark.kubernetes.namespace") or "default"
    space = namespace or scheduler.setting(NAMESPACE) or own_space
    book = OrderReader()
    reconciler = Reconciler(
        orders=lambda: book.order,
        spark=scheduler,
        pods=AppPods(connection, namespace=own_space, application=scheduler.application),
        use_placement=_template_writer(scheduler, name),
        watch=watch,
        clock_s=time.time,
        restart=restart,
        obeyed=scheduler.setting(ORDER),
    )
    orders = OrderWatch(connection, namespace=space, name=name, book=book, on_order=reconciler.wake)
    state.notify_of_batch_ends(reconciler.batch_ended)
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
