"""Computes the next steps from the present executors to the ordered ones. Pure, without Spark."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveExecutor:
    """An executor that is registered with the driver."""

    #: Spark's id.
    id: str
    #: Its address, as Spark reports it.
    host: str
    #: Name of its node; None if it does not report it.
    node: str | None = None
    #: Id of the order that created it; empty if none.
    order: str = ""
    #: When it registered, seconds since the epoch; None if unknown.
    added_at_s: float | None = None
    #: Whether it has run a task.
    has_worked: bool = False
    #: How many tasks it runs at a time.
    slots: int = 1
    #: Whether Spark schedules tasks on it; see `gesscale.spark.warm_up`.
    is_warm: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutorPod:
    """The pod of an executor, as the API server reports it."""

    #: Name of the pod.
    name: str
    #: Spark's id of its executor.
    executor: str
    #: The node it is bound to; None if it is not bound.
    node: str | None
    #: Id of the order that created it; empty if none.
    order: str
    #: Whether its phase is Pending, bound or not.
    is_pending: bool
    #: Whether it is terminating.
    is_terminating: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Actions:
    """The steps to take now."""

    #: Number of executors to request from Spark, including leaving ones.
    total: int
    #: Ids of the executors to decommission.
    decommission: tuple[str, ...] = ()
    #: Names of pending pods to delete.
    delete_pods: tuple[str, ...] = ()
    #: Ids of the executors on lost nodes, and names of all pods there, to remove at once (kill, force_delete).
    kill: tuple[str, ...] = ()
    force_delete: tuple[str, ...] = ()
    #: Ordered nodes without a live executor.
    missing: tuple[str, ...] = ()
    #: Ids of executors to remove, now or as soon as nothing is missing and the new ones are warm.
    surplus: tuple[str, ...] = ()

    @property
    def is_settled(self) -> bool:
        """Whether the executors match the order."""
        return not self.missing and not self.surplus and not self.delete_pods


def reconcile(
    order: str,
    nodes: Collection[str],
    executors: Sequence[LiveExecutor],
    *,
    lost: Collection[str] = (),
    leaving: Collection[str] = (),
    pods: Sequence[ExecutorPod] = (),
    may_remove: bool = True,
) -> Actions:
    """Return the steps that bring the executors nearer to an order; idempotent.

    New executors start first, and old ones leave when nothing is missing, so capacity never drops. Spark counts a
    leaving executor as long as it runs, so the total includes it while others are missing.

    Parameters
    ----------
    lost
        Nodes that can hold no executor. Spark counts a pod there as running until the API server has removed it, even
        one that is terminating, and would not replace it.

    Raises
    ------
    ValueError
        If there are no nodes, because the last executor is never removed.
    """
    if not nodes:
        raise ValueError("expected at least one node")
    nodes = set(nodes) - set(lost) or set(nodes)
    kill = tuple(each.id for each in executors if each.node in lost and each.id not in leaving)
    leaving = {*leaving, *kill}
    holders = _holders(nodes, [each for each in executors if each.id not in leaving])
    held = set(holders.values())
    others = [each for each in executors if each.id not in held]
    surplus = tuple(each.id for each in others if each.id not in leaving)
    missing = tuple(sorted(nodes - set(holders)))
    may_remove = may_remove and not missing and all(each.is_warm for each in executors if each.id in held)
    return Actions(
        total=len(nodes) + (len(others) if missing else 0),
        decommission=surplus if may_remove else (),
        delete_pods=_pods_to_delete(
            order,
            missing,
            {each.id for each in executors},
            [pod for pod in pods if not pod.is_terminating and pod.node not in lost],
        ),
        kill=kill,
        force_delete=tuple(sorted(pod.name for pod in pods if pod.node in lost)),
        missing=missing,
        surplus=surplus,
    )


def _holders(nodes: Collection[str], executors: Sequence[LiveExecutor]) -> dict[str, str]:
    """Return the oldest executor on each ordered node."""
    holders: dict[str, str] = {}
    for each in sorted(executors, key=lambda each: (len(each.id), each.id)):
        if each.node is not None and each.node in nodes:
            holders.setdefault(each.node, each.id)
    return holders


def _pods_to_delete(
    order: str, missing: Collection[str], known: Collection[str], pods: Sequence[ExecutorPod]
) -> tuple[str, ...]:
    pending = [pod for pod in pods if pod.is_pending and pod.executor not in known]
    wrong = [pod for pod in pending if (pod.node not in missing if pod.node is not None else pod.order != order)]
    starting = sum(pod.executor not in known and pod not in wrong and pod.node is not None for pod in pods)
    unbound = [pod for pod in pending if pod.node is None and pod.order == order]
    needed = max(0, len(missing) - starting)
    return tuple(sorted(pod.name for pod in [*wrong, *unbound[needed:]]))
