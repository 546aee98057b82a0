"""Nodes that the demo on Kubernetes loses during its day, and whether their replicas were replaced."""

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Event

from testbed.live.kubernetes_observer import KubernetesObserver
from testbed.live.node_losses import NodeLoss, bring_back, lose
from testbed.live.report import PromiseCheck

#: The day's losses: the share of the day at which they happen, and how long the node is away, s; 0 for the rest.
LOSSES = ((0.35, NodeLoss.DRAINED, 50.0), (0.6, NodeLoss.DELETED, 0.0))
#: As many replicas as ordered work again within this time of a loss.
RECOVERY_S = 120.0
#: How long rows may be late because of a loss.
LATE_S = 30.0
#: The last batches of a day are small; one within this time of the last must run on all replicas.
_END_S = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenLoss:
    """A node that was lost."""

    loss: NodeLoss
    node: str
    at_s: float


@contextmanager
def losing_nodes(observer: KubernetesObserver) -> Iterator[list[SeenLoss]]:
    """Lose nodes within the context, next to the observation: a drain takes its time.

    Raises
    ------
    ClusterError
        At the end, if a node could not be lost or brought back.
    """
    seen: list[SeenLoss] = []
    over = Event()
    with ThreadPoolExecutor(max_workers=1) as pool:
        future = pool.submit(_lose_nodes, observer, seen, over)
        try:
            yield seen
        finally:
            over.set()
    future.result()


def _lose_nodes(observer: KubernetesObserver, seen: list[SeenLoss], over: Event) -> None:
    while not observer.record.batches:
        if over.wait(1.0):
            return
    application, began_s = observer.application, observer.record.began_at_s
    for share, loss, away_s in LOSSES:
        if over.wait(max(0.0, began_s + share * application.scenario.day_s - time.time())):
            return
        node, at_s = observer.ordered()[-1].placement[-1], time.time()
        seen.append(SeenLoss(loss=loss, node=node, at_s=at_s))
        observer.log(f"{node} is {loss}")
        lose(application, loss, (node,))
        if away_s:
            over.wait(max(0.0, at_s + away_s - time.time()))
            bring_back(application, loss, (node,))
            observer.log(f"{node} is back")


def check_losses(observer: KubernetesObserver, losses: Sequence[SeenLoss]) -> tuple[PromiseCheck, ...]:
    """Check that all ordered replicas worked, without the lost node, soon after each loss and at the end of the day."""
    batches = [batch for batch in observer.record.ordered if batch.rows]
    full = [batch for batch in batches if observer.worked[batch.batch_id] == observer.in_force(batch.began_s)]
    checks = []
    for each in losses:
        ends_s = (
            batch.ended_at_s
            for batch in full
            if batch.began_s > each.at_s and each.node not in observer.worked[batch.batch_id]
        )
        took_s = next(ends_s, float("inf")) - each.at_s
        later = f"{took_s:.0f} s later" if took_s < float("inf") else "never"
        at = f"at {observer.record.since_start_s(each.at_s):.0f} s"
        detail = f"{at}; all ordered replicas worked {later}"
        checks.append(PromiseCheck(f"{each.loss} {each.node} was replaced", took_s <= RECOVERY_S, detail))
    last = batches[-1]
    ordered, working = len(observer.in_force(last.began_s)), len(observer.worked[last.batch_id])
    kept = bool(full) and full[-1].ended_at_s >= last.ended_at_s - _END_S
    return (
        *checks,
        PromiseCheck("replicas ordered = working at the end", kept, f"{ordered} ordered, {working} working"),
    )
