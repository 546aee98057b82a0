"""Makes an order so, step by step, on a daemon thread of the driver: `reconcile` decides, this carries out."""

import logging
import threading
from collections.abc import Callable, Sequence
from typing import Any

from gesscale.spark.executors import ExecutorWatch
from gesscale.spark.pod_template import PodPlacement
from gesscale.spark.reconcile import Actions, ExecutorPod, reconcile
from gesscale.spark.restarting import RestartableQuery
from gesscale.spark.scheduler import Scheduler
from gesscale.wire import OrderDocument, Strategy

_LOG = logging.getLogger("gesscale.spark")
_SETTLED_S, _BUSY_S, _AFTER_FAILURE_S = 10.0, 0.5, 5.0
_PODS_EVERY_S, _PATIENT_PODS_EVERY_S, _PATIENT_AFTER_S = 2.0, 15.0, 60.0
_ALL_WELL_PODS_EVERY_S = 60.0
#: How long an executor that is to go may wait for the end of a batch; it would finish its task all the same.
_BATCH_END_WITHIN_S = 60.0
#: How long a restart waits for the executors of its placement before it makes do with those that are there.
_ARRIVE_WITHIN_S = 120.0


class Reconciler:
    """Obeys the newest order.

    Parameters
    ----------
    orders
        Returns the order that holds; None where there is none yet.
    """

    def __init__(
        self,
        *,
        orders: Callable[[], OrderDocument | None],
        spark: Scheduler,
        list_pods: Callable[[], Sequence[ExecutorPod]],
        delete_pod: Callable[[str], None],
        use_placement: Callable[[PodPlacement], None],
        watch: ExecutorWatch,
        clock_s: Callable[[], float],
        restart: RestartableQuery | None = None,
        obeyed: str = "",
    ) -> None:
        self._orders, self._spark = orders, spark
        self._list_pods, self._delete_pod = list_pods, delete_pod
        self._use_placement, self._watch, self._clock_s = use_placement, watch, clock_s
        self._restart, self._restarted_for = restart, obeyed
        self._order: OrderDocument | None = None
        self._since_s = 0.0
        self._actions: Actions | None = None
        self._leaving: frozenset[str] = frozenset()
        self._removal_wanted_s: float | None = None
        self._pods_asked_s = float("-inf")
        self._border = False
        self._wake, self._stopping = threading.Event(), threading.Event()
        self._said: set[str] = set()
        self.failures = 0

    def start(self) -> None:
        """Begin to steer."""
        threading.Thread(target=self._reconcile_for_ever, name="gesscale-reconciler", daemon=True).start()

    def stop(self) -> None:
        """Stop after the step that is going on."""
        self._stopping.set()
        self._wake.set()

    def wake(self) -> None:
        """Take the next step now: another order holds."""
        self._wake.set()

    def batch_ended(self) -> None:
        """Note the end of a batch, the moment when an executor goes without being missed."""
        self._border = True
        if self._removal_wanted_s is not None:
            self._wake.set()

    def document(self) -> dict[str, Any]:
        """Return where things stand, as JSON values."""
        order, actions = self._order, self._actions
        return {
            "order": order.id if order else None,
            "placement": list(order.placement) if order else None,
            "settled": actions is not None and actions.is_settled and not self._leaving,
            "missing": list(actions.missing) if actions else [],
            "leaving": sorted({*(actions.surplus if actions else ()), *self._leaving}),
        }

    def step(self) -> float:
        """Take one step; return after how many seconds the next one is due."""
        order = self._orders()
        if order is None or self._is_refused(order):
            return _SETTLED_S
        if self._order is None or order.id != self._order.id:
            self._begin(order)
        actions = self._plan(order, may_remove=False)
        self._add(order, actions)
        if self._restart is not None and self._restart_is_due(self._restart, order, actions):
            self._restarted_for = order.id
            self._restart.restart(order.id, lambda: self._exchange(order))
        elif actions.surplus and not actions.missing and self._may_remove():
            self._remove(order)
        return _SETTLED_S if actions.is_settled and not self._leaving and self._all_have_worked() else _BUSY_S

    def _is_refused(self, order: OrderDocument) -> bool:
        if self._restart is not None or order.strategy is not Strategy.RESTART or order.id == self._restarted_for:
            return False
        self._say(
            f"order {order.id} asks for a restart, which this job cannot do: give "
            "gesscale.spark.attach(..., restart=start_query). Orders of strategy Restart are refused"
        )
        return True

    def _begin(self, order: OrderDocument) -> None:
        self._use_placement(PodPlacement(order=order.id, nodes=order.placement))
        self._order, self._since_s, self._actions = order, self._clock_s(), None
        self._removal_wanted_s, self._pods_asked_s = None, float("-inf")
        _LOG.info("order %s: executors on %s (%s)", order.id, ", ".join(order.placement), order.strategy)

    def _plan(self, order: OrderDocument, *, may_remove: bool) -> Actions:
        members = self._watch.now(fresh_s=0).members
        self._leaving &= frozenset(each.id for each in members)
        plain = reconcile(order.id, order.placement, members, leaving=self._leaving)
        self._actions = reconcile(
            order.id,
            order.placement,
            members,
            leaving=self._leaving,
            pods=self._pods_if_due(plain),
            may_remove=may_remove,
        )
        return self._actions

    def _pods_if_due(self, actions: Actions) -> Sequence[ExecutorPod]:
        now_s = self._clock_s()
        patient = now_s - self._since_s > _PATIENT_AFTER_S
        every_s = _PATIENT_PODS_EVERY_S if patient else _PODS_EVERY_S
        if now_s - self._pods_asked_s < (every_s if actions.missing else _ALL_WELL_PODS_EVERY_S):
            return ()
        self._pods_asked_s = now_s
        try:
            return self._list_pods()
        except Exception as error:  # noqa: BLE001 - without the pods, executors can be added and removed all the same
            self._fail("the executors' pods cannot be read; waiting ones are not withdrawn", error)
            return ()

    def _add(self, order: OrderDocument, actions: Actions) -> None:
        for pod in actions.withdraw:
            _LOG.info("order %s: pod %s waits for a node that is not meant; it is withdrawn", order.id, pod)
            try:
                self._delete_pod(pod)
            except Exception as error:  # noqa: BLE001 - it is tried again, the query must not feel it
                self._fail(f"pod {pod} cannot be withdrawn", error)
        self._spark.request_total(actions.total)

    def _may_remove(self) -> bool:
        """Return whether executors may go now: at a border between batches, or none came for long."""
        now_s = self._clock_s()
        if self._removal_wanted_s is None:
            self._removal_wanted_s, self._border = now_s, False
        late = now_s - self._removal_wanted_s > _BATCH_END_WITHIN_S
        return late or self._border or self._spark.is_between_batches()

    def _remove(self, order: OrderDocument) -> None:
        actions = self._plan(order, may_remove=True)
        if not actions.decommission:
            return
        self._spark.request_total(actions.total)  # first, or Spark would replace who goes
        self._leaving |= frozenset(actions.decommission)
        self._watch.expect_to_leave(self._leaving)
        self._spark.decommission(actions.decommission)
        self._removal_wanted_s = None
        _LOG.info("order %s: executors %s go", order.id, ", ".join(actions.decommission))

    def _restart_is_due(self, restart: RestartableQuery, order: OrderDocument, actions: Actions) -> bool:
        if order.strategy is not Strategy.RESTART or order.id == self._restarted_for:
            return False
        if not actions.missing:
            return True
        if self._clock_s() - self._since_s < _ARRIVE_WITHIN_S:
            return False
        if self._replicas_there() == restart.replicas:
            self._say(f"order {order.id}: no executor came to {', '.join(actions.missing)}; the query goes on as it is")
            return False
        return True

    def _exchange(self, order: OrderDocument) -> int:
        self._remove(order)
        return self._replicas_there()

    def _replicas_there(self) -> int:
        members = self._watch.now(fresh_s=0).members
        return max(1, sum(each.id not in self._leaving for each in members))

    def _all_have_worked(self) -> bool:
        return all(each.has_worked for each in self._watch.now(fresh_s=_BUSY_S).members)

    def _reconcile_for_ever(self) -> None:
        while not self._stopping.is_set():
            wait_s = _AFTER_FAILURE_S
            try:
                if self._spark.is_stopped:
                    return
                wait_s = self.step()
            except Exception as error:  # noqa: BLE001 - the contract: the query runs, steered or not
                self._fail("an order could not be carried out; it is tried again", error)
            self._wake.wait(wait_s)
            self._wake.clear()

    def _fail(self, what: str, error: Exception) -> None:
        self.failures += 1
        self._say(f"{what} ({type(error).__name__}: {str(error)[:300]})")

    def _say(self, sentence: str) -> None:
        if sentence not in self._said and len(self._said) < 100:
            self._said.add(sentence)
            _LOG.warning("%s", sentence)
