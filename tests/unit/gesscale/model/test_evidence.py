"""Saturated and warm batches."""

from dataclasses import replace

import pytest

from gesscale.model.evidence import mark_saturated, mark_warm
from gesscale.model.observation import Batch

CAP = 100


def run(rows: list[int], seconds: list[float], backlog: list[float | None], *, cap: int | None = CAP) -> list[Batch]:
    """Return consecutive batches at a trigger of 2 s."""
    return [
        Batch(
            batch_id=index,
            ended_at_s=100.0 + 2 * index,
            rows=some_rows,
            seconds=took,
            nodes=("a",),
            trigger_s=2.0,
            cap_rows=cap,
            backlog_rows=left,
        )
        for index, (some_rows, took, left) in enumerate(zip(rows, seconds, backlog, strict=True))
    ]


def placed(*nodes: str, ids: list[int] | None = None) -> list[Batch]:
    """Return one batch for each word, whose letters are its nodes."""
    return [
        Batch(batch_id=batch_id, ended_at_s=100.0 + index, rows=1, seconds=0.5, nodes=tuple(nodes[index]))
        for index, batch_id in enumerate(ids or range(len(nodes)))
    ]


@pytest.mark.parametrize(
    ("batches", "at_limit"),
    [
        # The first has no batch before it, so nothing says that its backlog grew, and it is not late.
        pytest.param(run([CAP] * 2, [1.0] * 2, [50, 80]), [False, True], id="full, the second left more"),
        pytest.param(run([40, CAP, CAP], [1.0] * 3, [0, 20, 60]), [False, True, True], id="grew into the run"),
        pytest.param(run([40, CAP, 40], [1.0, 3.0, 1.0], [0, 20, 0]), [False] * 3, id="a burst"),
        pytest.param(run([CAP] * 4, [1.5] * 4, [400, 300, 200, 100]), [False] * 4, id="drains with room"),
        pytest.param(run([CAP] * 3, [2.0, 2.1, 2.5], [400, 350, 300]), [True] * 3, id="drains at the limit"),
        # Growth counts from batch to batch: over the whole run 0 -> 100 would still read as growth.
        pytest.param(
            run([CAP] * 5, [1.5] * 5, [0, 200, 300, 200, 100]),
            [False, True, True, False, False],
            id="overload that turns into draining",
        ),
        pytest.param(run([60] * 2, [2.5] * 2, [0, 0]), [False] * 2, id="late, not full"),
        pytest.param(run([5, 9, 1], [2.0, 4.0, 1.0], [None] * 3, cap=None), [True, True, False], id="no cap"),
        pytest.param(run([1, 9, 1], [1.0, 4.0, 1.0], [None] * 3, cap=None), [False] * 3, id="no cap, once"),
        pytest.param(run([CAP] * 3, [3.0] * 3, [0, 50, 100])[::2], [False] * 2, id="one is missing"),
        pytest.param([], [], id="nothing"),
    ],
)
def test_saturated_batches_are_consecutive_and_late_or_growing(batches: list[Batch], at_limit: list[bool]) -> None:
    assert mark_saturated(batches) == at_limit


@pytest.mark.parametrize(
    ("batches", "are_warm"),
    [
        (placed("a", "a", "a"), [False, True, True]),
        # A replica joins, and one leaves.
        (placed("a", "a", "ab", "ab", "ab", "a", "a", "a"), [False, True, False, False, True, False, False, True]),
        (placed("ab", "ba"), [False, True]),  # the order of nodes is no change
        (placed(*"aaaa", ids=[4, 5, 7, 8]), [False, True, False, True]),  # one is missing
        (placed(*"aaaa", ids=[4, 5, 0, 1]), [False, True, False, True]),  # a restart
        ([], []),
    ],
)
def test_batches_are_cold_after_a_beginning_a_gap_or_a_change(batches: list[Batch], are_warm: list[bool]) -> None:
    assert mark_warm(batches) == are_warm


def test_only_the_first_batch_with_rows_is_cold_after_empty_ones() -> None:
    # Rows 0, 0, 24, 312, 0, 138: the third is the first that works; after the empty fifth the replicas are still warm.
    empty_at_first = [
        replace(batch, rows=rows) for batch, rows in zip(placed(*"aaaaaa"), [0, 0, 24, 312, 0, 138], strict=True)
    ]
    assert mark_warm(empty_at_first) == [False, False, False, True, True, True]


def test_a_query_resumed_from_its_checkpoint_is_cold() -> None:
    totals = [500.0, 600.0, 40.0, 90.0]
    resumed = [
        replace(batch, offered_rows_total=total)
        for batch, total in zip(placed("a", "a", "a", "a"), totals, strict=True)
    ]
    assert mark_warm(resumed) == [False, True, False, True]
