"""When a query counts as working on all its replicas."""

import pytest

from gesscale.model.observation import Batch
from testbed.chaos.losses import LossWatch
from testbed.live.kubernetes_observer import KubernetesObserver, SeenOrder

BOTH = ("b", "c")


def watch_of(placement: tuple[str, ...], *seen: tuple[tuple[str, ...], float]) -> LossWatch:
    """Return a watch that has seen batches, each with the nodes that read rows and the backlog after it."""
    observer = KubernetesObserver(application=None, log=print)  # type: ignore[arg-type]
    observer.orders["1-1"] = SeenOrder(at_s=1.0, placement=placement)
    for number, (worked, backlog) in enumerate(seen):
        batch = Batch(
            batch_id=number, ended_at_s=10.0 + number, rows=9, seconds=1.0, nodes=worked, backlog_rows=backlog
        )
        observer.record.add_batches((batch,))
        observer.worked[number] = frozenset(worked)
    return LossWatch(observer)


@pytest.mark.parametrize(
    ("placement", "seen", "full"),
    [
        (BOTH, [(BOTH, 900.0), (BOTH, 800.0)], True),
        (BOTH, [(BOTH, 0.0), (BOTH, 30.0)], True),  # 30 rows are less than those of a trigger interval
        (BOTH, [(BOTH, 800.0), (BOTH, 900.0)], False),  # the backlog rises
        (BOTH, [(("b",), 900.0), (BOTH, 800.0)], False),  # one batch only
        (BOTH, [(("b", "d"), 0.0), (("b", "d"), 0.0)], False),  # on another node than ordered
        (("b",), [(("b",), 0.0), (("b",), 0.0)], False),  # one replica is ordered, two are needed
        (BOTH, [], False),
    ],
)
def test_all_replicas_work_when_two_batches_ran_on_them_and_the_backlog_falls(
    placement: tuple[str, ...], seen: list[tuple[tuple[str, ...], float]], full: bool
) -> None:
    assert watch_of(placement, *seen).is_full_since(9.0) is full  # when the first batch began


def test_batches_before_a_loss_do_not_show_that_the_query_has_recovered() -> None:
    assert not watch_of(BOTH, (BOTH, 0.0), (BOTH, 0.0)).is_full_since(9.5)
