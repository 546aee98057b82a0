"""Applies an order incrementally on a daemon thread of the driver, by the steps that `reconcile` computes."""

import logging
import threading
from collections.abc import Callable, Sequence
from typing import Any

from gesscale.common.counted_warnings import CountedWarnings
from gesscale.spark.executors import ExecutorWatch
from gesscale.spark.pod_template import PodPlacement
from gesscale.spark.query_restart import RestartableQuery
from gesscale.spark.reconcile_actions import Actions, ExecutorPod, reconcile
from gesscale.spark.scheduler import Scheduler
from gesscale.wire import OrderDocument, Strategy

_LOG = logging.getLogger("gesscale.spark")
_IDLE_INTERVAL_S, _ACTIVE_INTERVAL_S, _RETRY_INTERVAL_S = 10.0, 0.5, 5.0
_PODS_INTERVAL_S, _SLOW_PODS_INTERVAL_S, _SLOW_AFTER_S = 2.0, 15.0, 60.0
_SETTLED_PODS_INTERVAL_S = 60.0
#: How long Spark may take to create the pods of an order.
_POD_CREATION_S = 10.0
#: Longest wait for the end of a batch before executors are removed; they finish their tasks in any case.
_BATCH_END_TIMEOUT_S = 60.0
#: How long a restart waits for all executors of its placement before it uses the present ones.
_EXECUTORS_TIMEOUT_S = 120.0


class Reconciler:
    """Applies the newest order.

    Parameters
    ----------
    orders
        Returns the current order; None before the first one.
    applied_order
        Id of the order that the session was created for; it needs no restart.
    """

    def __init__(
        self,
        *,
        orders: Callable[[], OrderDocument | None],
        spark: Scheduler,
        list_pods: Callable[[], Sequence[ExecutorPod]],
        delete_pod: Callable[[str, bool], None],
        executor_refusal: Callable[[], str],
        use_placement: Callable[[PodPlacement], None],
        watch: ExecutorWatch,
        clock_s: Callable[[], float],
        restart: RestartableQuery | None = None,
        applied_order: str = "",
    ) -> None:
        self._orders, self._spark = orders, spark
        self._list_pods, self._delete_pod, self._executor_refusal = list_pods, delete_pod, executor_refusal
        self._use_placement, self._watch, self._clock_s = use_placement, watch, clock_s
        self._restart, self._restarted_for = restart, applied_order
        self._order: OrderDocument | None = None
        self._order_began_at_s = 0.0
        self._actions: Actions | None = None
        self._leaving: frozenset[str] = frozenset()
        self._removal_due_since_s: float | None = None
        self._pods_listed_s = float("-inf")
        self._at_batch_boundary = False
        self._wake, self._stopping = threading.Event(), threading.Event()
        self._warn = CountedWarnings(_LOG).warn
        self.failures = 0
        self.refusal = ""
        """Why the API server refuses further executors; empty if it does not."""

    def start(self) -> None:
        """Start the thread."""
        threading.Thread(target=self._run, name="gesscale-reconciler", daemon=True).start()

    def stop(self) -> None:
        """Stop after the current step."""
        self._stopping.set()
        self._wake.set()

    def wake(self) -> None:
        """Take the next step now, because there is a new order."""
        self._wake.set()

    def batch_ended(self) -> None:
        """Note the end of a batch, the safe point for removing executors."""
        self._at_batch_boundary = True
        if self._removal_due_since_s is not None:
            self._wake.set()

    def document(self) -> dict[str, Any]:
        """Return the state of the order as JSON values."""
        order, actions = self._order, self._actions
        return {
            "order": order.id if order else None,
            "placement": list(order.placement) if order else None,
            "settled": actions is not None and actions.is_settled and not self._leaving,
            "missing": list(actions.missing) if actions else [],
            "leaving": sorted({*(actions.surplus if actions else ()), *self._leaving}),
        }

    def step(self) -> float:
        """Take one step; return the seconds until the next one."""
        order = self._orders()
        if order is None or self._is_unsupported(order):
            return _IDLE_INTERVAL_S
        if order != self._order:
            self._begin(order)
        actions = self._plan(order, may_remove=False)
        self._request_missing(order, actions)
        self._remove_lost(order, actions)
        if self._restart is not None and self._restart_is_due(self._restart, order, actions):
            self._restarted_for = order.id
            self._restart.restart(order.id, lambda: self._remove_surplus(order))
        elif actions.surplus and not actions.missing and self._may_remove():
            self._remove(order)
        is_idle = actions.is_settled and not self._leaving and self._all_have_worked()
        return _IDLE_INTERVAL_S if is_idle else _ACTIVE_INTERVAL_S

    def _is_unsupported(self, order: OrderDocument) -> bool:
        if self._restart is not None or order.strategy is not Strategy.RESTART or order.id == self._restarted_for:
            return False
        self._warn("restart-unsupported", order=order.id)
        return True

    def _begin(self, order: OrderDocument) -> None:
        self._use_placement(PodPlacement(order=order.id, nodes=order.placement))
        self._order, self._order_began_at_s, self._actions = order, self._clock_s(), None
        self._removal_due_since_s, self._pods_listed_s = None, float("-inf")
        nodes, lost = ",".join(order.placement), ",".join(order.lost)
        _LOG.info("new order order=%s nodes=%s lost=%s strategy=%s", order.id, nodes, lost or "none", order.strategy)

    def _plan(self, order: OrderDocument, *, may_remove: bool) -> Actions:
        members = self._watch.now(max_age_s=0).members
        self._leaving &= frozenset(each.id for each in members)
        without_pods = reconcile(order.id, order.placement, members, lost=order.lost, leaving=self._leaving)
        self._actions = reconcile(
            order.id,
            order.placement,
            members,
            lost=order.lost,
            leaving=self._leaving,
            pods=self._pods_if_due(without_pods),
            may_remove=may_remove,
        )
        return self._actions

    def _pods_if_due(self, actions: Actions) -> Sequence[ExecutorPod]:
        now_s = self._clock_s()
        is_slow = now_s - self._order_began_at_s > _SLOW_AFTER_S
        every_s = _SLOW_PODS_INTERVAL_S if is_slow else _PODS_INTERVAL_S
        if now_s - self._pods_listed_s < (every_s if actions.missing else _SETTLED_PODS_INTERVAL_S):
            return ()
        self._pods_listed_s = now_s
        try:
            pods = self._list_pods()
            self._note_refusal(actions, pods, order_age_s=now_s - self._order_began_at_s)
            return pods
        except Exception as error:  # noqa: BLE001 - executors can be added and removed without the pods
            self._fail("executor-pods-unreadable", error)
            return ()

    def _note_refusal(self, actions: Actions, pods: Sequence[ExecutorPod], *, order_age_s: float) -> None:
        """Ask the API server for a refusal while Spark creates no pod, and after one until it would accept one."""
        are_created = sum(not pod.is_terminating for pod in pods) >= actions.total
        if are_created and actions.missing:
            self.refusal = ""
        elif self.refusal or (order_age_s > _POD_CREATION_S and not are_created):
            self.refusal = self._executor_refusal()
            if self.refusal:
                self._warn("executor-refused", cause=self.refusal)

    def _request_missing(self, order: OrderDocument, actions: Actions) -> None:
        """Request the missing executors; delete pending pods that would take their place."""
        for pod in actions.delete_pods:
            _LOG.info("deleting a pending pod that does not match the order order=%s pod=%s", order.id, pod)
            self._delete(pod, at_once=False)
        self._spark.request_total(actions.total)

    def _remove_lost(self, order: OrderDocument, actions: Actions) -> None:
        """Remove the executors on lost nodes: Spark runs their tasks again elsewhere, without its timeout of 120 s."""
        if actions.kill:
            self._leaving |= frozenset(actions.kill)
            self._watch.mark_leaving(self._leaving)
            self._spark.kill(actions.kill)
            _LOG.info("killing order=%s executors=%s lost=%s", order.id, ",".join(actions.kill), ",".join(order.lost))
        for pod in actions.force_delete:
            _LOG.info("deleting the pod of a lost node order=%s pod=%s", order.id, pod)
            self._delete(pod, at_once=True)

    def _delete(self, pod: str, *, at_once: bool) -> None:
        try:
            self._delete_pod(pod, at_once)
        except Exception as error:  # noqa: BLE001 - retried in the next step; the query must not be affected
            self._fail("pod-not-deleted", error, pod=pod)

    def _may_remove(self) -> bool:
        """Return whether executors may be removed now: at a batch boundary, or after a timeout."""
        now_s = self._clock_s()
        if self._removal_due_since_s is None:
            self._removal_due_since_s, self._at_batch_boundary = now_s, False
        timed_out = now_s - self._removal_due_since_s > _BATCH_END_TIMEOUT_S
        return timed_out or self._at_batch_boundary or self._spark.is_between_batches()

    def _remove(self, order: OrderDocument) -> None:
        actions = self._plan(order, may_remove=True)
        if not actions.decommission:
            return
        self._spark.request_total(actions.total)  # first, otherwise Spark replaces the removed executors
        self._leaving |= frozenset(actions.decommission)
        self._watch.mark_leaving(self._leaving)
        self._spark.decommission(actions.decommission)
        self._removal_due_since_s = None
        _LOG.info("decommissioning order=%s executors=%s", order.id, ",".join(actions.decommission))

    def _restart_is_due(self, restart: RestartableQuery, order: OrderDocument, actions: Actions) -> bool:
        if order.strategy is not Strategy.RESTART or order.id == self._restarted_for:
            return False
        if not actions.missing:
            return True
        if self._clock_s() - self._order_began_at_s < _EXECUTORS_TIMEOUT_S:
            return False
        if self._live_replicas() == restart.replicas:
            self._warn("executors-not-started", order=order.id, nodes=list(actions.missing))
            return False
        return True

    def _remove_surplus(self, order: OrderDocument) -> int:
        self._remove(order)
        return self._live_replicas()

    def _live_replicas(self) -> int:
        members = self._watch.now(max_age_s=0).members
        return max(1, sum(each.id not in self._leaving for each in members))

    def _all_have_worked(self) -> bool:
        return all(each.has_worked for each in self._watch.now(max_age_s=_ACTIVE_INTERVAL_S).members)

    def _run(self) -> None:
        while not self._stopping.is_set():
            wait_s = _RETRY_INTERVAL_S
            try:
                if self._spark.is_stopped:
                    return
                wait_s = self.step()
            except Exception as error:  # noqa: BLE001 - the query must run, scaled or not
                self._fail("order-not-applied", error)
            self._wake.wait(wait_s)
            self._wake.clear()

    def _fail(self, code: str, error: Exception, **fields: Any) -> None:
        self.failures += 1
        self._warn(code, **fields, cause=f"{type(error).__name__}: {str(error)[:300]}")
