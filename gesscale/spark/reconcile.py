"""From the executors that are there to those that are ordered: which steps, in which order. Pure: no Spark here."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveExecutor:
    """An executor that the driver knows."""

    #: Spark's.
    id: str
    #: Its address, as Spark spells it.
    host: str
    #: Name of its node; None where it does not tell.
    node: str | None = None
    #: Id of the order it was made by; empty where none.
    order: str = ""
    #: When it registered, seconds since the epoch; None where unknown.
    added_at_s: float | None = None
    #: Whether it was ever given a task.
    has_worked: bool = False
    #: How many tasks it runs at a time.
    slots: int = 1
    #: Whether Spark gives it tasks by now; see `gesscale.spark.warm_up`.
    is_warm: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutorPod:
    """A pod of an executor, as the API server tells of it."""

    #: The pod's.
    name: str
    #: Spark's id of the executor in it.
    executor: str
    #: Where it is bound to; None while no node was found.
    node: str | None
    #: Id of the order it was made by; empty where none.
    order: str
    #: Whether it is Pending: bound or not, its executor does not run yet.
    waits: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Actions:
    """What is to be done now."""

    #: How many executors Spark is to keep, leaving ones among them.
    total: int
    #: Ids of the executors that are to finish their tasks and go.
    decommission: tuple[str, ...] = ()
    #: Names of waiting pods that are to be deleted.
    withdraw: tuple[str, ...] = ()
    #: Nodes that are to hold an executor and hold none that works.
    missing: tuple[str, ...] = ()
    #: Ids of executors that are to go, now or once nothing is missing any more and the new ones are warm.
    surplus: tuple[str, ...] = ()

    @property
    def is_settled(self) -> bool:
        """Whether the executors are where they are to be."""
        return not self.missing and not self.surplus and not self.withdraw


def reconcile(
    order: str,
    nodes: Collection[str],
    executors: Sequence[LiveExecutor],
    *,
    leaving: Collection[str] = (),
    pods: Sequence[ExecutorPod] = (),
    may_remove: bool = True,
) -> Actions:
    """Return the steps that bring the executors nearer to an order; the same situation gives the same steps.

    New executors come first and old ones go when nothing is missing, so that capacity never dips. Spark counts an
    executor that is to go as long as it runs. So the total is larger by it while others are to come.

    Raises
    ------
    ValueError
        Where there are no nodes: the last executor never goes.
    """
    if not nodes:
        raise ValueError("expected at least one node: an operator never goes below one executor")
    holders = _holders(set(nodes), [each for each in executors if each.id not in leaving])
    held = set(holders.values())
    others = [each for each in executors if each.id not in held]
    surplus = tuple(each.id for each in others if each.id not in leaving)
    missing = tuple(sorted(set(nodes) - set(holders)))
    may_remove = may_remove and not missing and all(each.is_warm for each in executors if each.id in held)
    return Actions(
        total=len(set(nodes)) + (len(others) if missing else 0),
        decommission=surplus if may_remove else (),
        withdraw=_withdraw(order, missing, {each.id for each in executors}, pods),
        missing=missing,
        surplus=surplus,
    )


def _holders(nodes: Collection[str], executors: Sequence[LiveExecutor]) -> dict[str, str]:
    """Return the executor that counts for each node: the oldest one there."""
    holders: dict[str, str] = {}
    for each in sorted(executors, key=lambda each: (len(each.id), each.id)):
        if each.node is not None and each.node in nodes:
            holders.setdefault(each.node, each.id)
    return holders


def _withdraw(
    order: str, missing: Collection[str], known: Collection[str], pods: Sequence[ExecutorPod]
) -> tuple[str, ...]:
    waiting = [pod for pod in pods if pod.waits and pod.executor not in known]
    wrong = [pod for pod in waiting if (pod.node not in missing if pod.node is not None else pod.order != order)]
    on_their_way = sum(pod.executor not in known and pod not in wrong and pod.node is not None for pod in pods)
    unbound = [pod for pod in waiting if pod.node is None and pod.order == order]
    wanted = max(0, len(missing) - on_their_way)
    return tuple(sorted(pod.name for pod in [*wrong, *unbound[wanted:]]))
