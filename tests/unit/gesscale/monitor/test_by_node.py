"""Figures of single replicas over a window."""

from dataclasses import replace

import pytest

from gesscale.batch_record import HostWork
from gesscale.model.observation import Batch, NodeReading, OperatorReading
from gesscale.monitor.batch_screen import screen_batches
from gesscale.monitor.window import WorkByNode, summarise


def batch(ended_at_s: float, nodes: tuple[str, ...] = ("a", "b"), **changes: object) -> Batch:
    number = round(ended_at_s / 2)
    given = {"rows": 100, "seconds": 1.5, "trigger_s": 2.0, **changes}
    return Batch(batch_id=number, ended_at_s=ended_at_s, nodes=nodes, **given)


def work(**rows: float) -> dict[str, HostWork]:
    """Return work that took 0.01 s a row."""
    return {node: HostWork(rows=count, busy_s=count / 100) for node, count in rows.items()}


def test_rows_and_busy_time_of_a_window_are_added_up_by_node() -> None:
    figures = WorkByNode({2.0: work(a=60, b=40), 4.0: work(a=90, c=10), 6.0: work(a=1)})
    # 4 s: 150 rows on a in 1.5 s, 40 on b in 0.4 s; c is gone, d has just come.
    assert figures([batch(2.0), batch(4.0)], ("a", "b", "d"), 4.0) == {
        "a": NodeReading(throughput_rows_per_s=37.5, busy_share=0.375),
        "b": NodeReading(throughput_rows_per_s=10.0, busy_share=0.1),
        "d": NodeReading(throughput_rows_per_s=0.0, busy_share=0.0),
    }


def test_cpu_share_of_the_operator_is_the_mean_of_its_replicas() -> None:
    def seen(a: float | None, b: float | None) -> OperatorReading:
        done = {"a": HostWork(rows=50, busy_s=1.5, cpu_s=a), "b": HostWork(rows=50, busy_s=1.5, cpu_s=b)}
        return reading([batch(18.0), batch(20.0)], by_node=WorkByNode({18.0: done, 20.0: done}))

    # Two batches in 4 s: 0.8 and 0.2 s of CPU each time.
    assert [each.cpu_share for each in seen(0.8, 0.2).by_node.values()] == pytest.approx([0.4, 0.1])
    assert seen(0.8, 0.2).cpu_share == pytest.approx(0.25)
    assert seen(0.8, None).cpu_share is None
    assert reading([batch(18.0), batch(20.0)]).cpu_share is None


def held(**partitions: int | None) -> dict[str, HostWork]:
    return {node: HostWork(rows=1, busy_s=0.1, state_partitions=count) for node, count in partitions.items()}


def test_partitions_of_state_are_those_of_the_newest_batch() -> None:
    figures = WorkByNode({2.0: held(a=6), 4.0: held(a=4, b=2)})
    found = figures([batch(2.0), batch(4.0)], ("a", "b", "new"), 4.0)
    assert {node: each.state_partitions for node, each in found.items()} == {"a": 4, "b": 2, "new": 0}
    without = WorkByNode({2.0: held(a=None)})([batch(2.0)], ("a", "new"), 2.0)
    assert {node: each.state_partitions for node, each in without.items()} == {"a": None, "new": None}


@pytest.mark.parametrize(
    ("partitions", "expected"),
    [
        ({"a": 4, "b": 2, "new": 0}, ("new",)),
        ({"a": 1, "b": 1, "new": 0}, ()),  # fewer partitions than replicas: no one could leave it any
        ({"a": 3, "b": 3}, ()),
        ({"a": None}, ()),
        ({}, ()),
    ],
)
def test_replicas_without_state_while_others_have_several(
    partitions: dict[str, int | None], expected: tuple[str, ...]
) -> None:
    by_node = {
        node: NodeReading(throughput_rows_per_s=1.0, busy_share=0.1, state_partitions=count)
        for node, count in partitions.items()
    }
    assert replace(reading([batch(18.0)]), by_node=by_node).without_state == expected


@pytest.mark.parametrize("works", [{}, {2.0: work(a=1)}])
def test_figures_need_every_batch(works: dict[float, dict[str, HostWork]]) -> None:
    assert WorkByNode(works)([batch(2.0), batch(4.0)], ("a",), 4.0) == {}


# In a reading


def reading(batches: list[Batch], **more: object) -> OperatorReading:
    periods = {"now_s": 20.0, "window_s": 10.0, "stale_after_s": 30.0}
    seen = summarise("op", screen_batches(batches, periods["now_s"]), **periods, **more)
    assert isinstance(seen, OperatorReading), seen
    return seen


# Output rows


def test_output_needs_every_batch() -> None:
    batches = [batch(float(at_s), output_rows=at_s) for at_s in range(2, 22, 2)]
    assert reading(batches).output_rows_per_s == pytest.approx((12 + 14 + 16 + 18 + 20) / 10)
    assert reading([*batches[:-1], batch(20.0)]).output_rows_per_s is None
    assert reading([batch(6.0), *batches[3:]]).output_rows_per_s is not None, "outside the window"
    assert reading([batch(float(at_s)) for at_s in range(2, 22, 2)]).output_rows_per_s is None
