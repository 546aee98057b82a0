"""The promises about lost nodes, by batches that ran on all ordered replicas."""

from collections.abc import Sequence

from gesscale.model.observation import Batch
from testbed.demo.node_losses import SeenLoss, check_losses
from testbed.live.kubernetes_observer import KubernetesObserver, SeenOrder
from testbed.live.node_losses import NodeLoss

T0_S = 1_800_000_000.0
FIRST = frozenset({"near", "mid"})


def observed(worked: Sequence[frozenset[str]], *orders: tuple[float, frozenset[str]]) -> KubernetesObserver:
    """Return an observer of a batch every ten seconds, with the nodes that worked on it, and later orders."""
    observer = KubernetesObserver(application=None, log=print)  # type: ignore[arg-type]
    observer.record.began_at_s = T0_S
    for number, nodes in enumerate(worked):
        ended_at_s = T0_S + 10.0 * (number + 1)
        batch = Batch(batch_id=number, ended_at_s=ended_at_s, rows=9, seconds=8.0, nodes=tuple(nodes))
        observer.record.add_batches((batch,))
        observer.worked[number] = nodes
    for number, (at_s, placement) in enumerate(((0.0, FIRST), *orders)):
        observer.orders[f"0-{number}"] = SeenOrder(at_s=T0_S + at_s, placement=tuple(placement))
    return observer


def kept(observer: KubernetesObserver, *at_s: float) -> list[bool]:
    losses = [SeenLoss(loss=NodeLoss.DRAINED, node="mid", at_s=T0_S + each) for each in at_s]
    return [each.kept for each in check_losses(observer, losses)]


NEAR, REPLACED = frozenset({"near"}), frozenset({"near", "far"})


def test_a_replica_that_was_replaced_keeps_the_promise() -> None:
    assert kept(observed([FIRST, NEAR, REPLACED], (15.0, REPLACED)), 12.0) == [True, True]


def test_a_stream_that_starves_breaks_it() -> None:
    # The order still names the node that is gone.
    assert kept(observed([FIRST, *[NEAR] * 20]), 12.0) == [False, False]
    # It was replaced on paper, and the new replica never worked.
    assert kept(observed([FIRST, *[NEAR] * 20], (15.0, REPLACED)), 12.0) == [False, False]


def test_a_replica_that_came_after_two_minutes_was_late() -> None:
    # The batch that all replicas worked on ended at 150 s: 138 s after the loss.
    assert kept(observed([FIRST, *[NEAR] * 13, REPLACED], (15.0, REPLACED)), 12.0) == [False, True]


def test_work_on_the_lost_node_is_no_replacement() -> None:
    assert kept(observed([FIRST, FIRST, FIRST]), 12.0) == [False, True]
