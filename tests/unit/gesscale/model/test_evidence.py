"""Saturated and warm batches."""

from dataclasses import replace

from gesscale.model.evidence import saturated, warm
from gesscale.model.observation import Batch

CAP = 100


def run(
    rows: list[int], seconds: list[float], backlog: list[float | None], *, cap: int | None = CAP
) -> list[Batch]:
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


def test_two_full_batches_of_which_the_second_left_more_are_saturated() -> None:
    # The first has no batch before it, so nothing says that its backlog grew, and it is not late.
    assert saturated(run([CAP, CAP], [1.0, 1.0], [50, 80])) == [False, True]


def test_a_run_counts_its_first_batch_when_the_backlog_grew_into_it() -> None:
    assert saturated(run([40, CAP, CAP], [1.0, 1.0, 1.0], [0, 20, 60])) == [False, True, True]


def test_one_full_batch_between_others_is_a_burst() -> None:
    assert saturated(run([40, CAP, 40], [1.0, 3.0, 1.0], [0, 20, 0])) == [False, False, False]


def test_draining_with_room_to_spare_is_not_saturated() -> None:
    assert saturated(run([CAP] * 4, [1.5] * 4, [400, 300, 200, 100])) == [False] * 4


def test_draining_at_the_limit_is_saturated() -> None:
    assert saturated(run([CAP] * 3, [2.0, 2.1, 2.5], [400, 350, 300])) == [True, True, True]


def test_overload_that_turns_into_draining_stops_being_saturated() -> None:
    # Growth counts from batch to batch: over the whole run 0 -> 100 would still read as growth.
    at_limit = saturated(run([CAP] * 5, [1.5] * 5, [0, 200, 300, 200, 100]))
    assert at_limit == [False, True, True, False, False]


def test_late_batches_that_are_not_full_are_slow_but_not_saturated() -> None:
    assert saturated(run([60, 60], [2.5, 2.5], [0, 0])) == [False, False]


def test_without_a_cap_lateness_counts_alone_in_a_run() -> None:
    late_pair = run([500, 900, 10], [2.0, 4.0, 1.0], [None] * 3, cap=None)
    assert saturated(late_pair) == [True, True, False]
    late_once = run([10, 900, 10], [1.0, 4.0, 1.0], [None] * 3, cap=None)
    assert saturated(late_once) == [False] * 3


def test_a_missing_batch_ends_a_run() -> None:
    batches = run([CAP] * 3, [3.0] * 3, [0, 50, 100])
    assert saturated([batches[0], batches[2]]) == [False, False]


def test_the_first_known_batch_is_cold() -> None:
    assert warm(placed("a", "a", "a")) == [False, True, True]


def test_the_first_batch_with_rows_is_cold_after_empty_ones_and_no_other() -> None:
    # Rows 0, 0, 24, 312, 0, 138: the third is the first that works; after the empty fifth the replicas are still warm.
    empty_at_first = [
        replace(batch, rows=rows)
        for batch, rows in zip(placed(*"aaaaaa"), [0, 0, 24, 312, 0, 138], strict=True)
    ]
    assert warm(empty_at_first) == [False, False, False, True, True, True]


def test_two_batches_are_cold_after_a_replica_joins_and_after_one_leaves() -> None:
    joined_and_left = placed("a", "a", "ab", "ab", "ab", "a", "a", "a")
    assert warm(joined_and_left) == [False, True, False, False, True, False, False, True]


def test_the_order_of_nodes_is_no_change() -> None:
    assert warm(placed("ab", "ba")) == [False, True]


def test_a_batch_after_a_missing_one_and_after_a_restart_is_cold() -> None:
    assert warm(placed("a", "a", "a", "a", ids=[4, 5, 7, 8])) == [False, True, False, True]
    assert warm(placed("a", "a", "a", "a", ids=[4, 5, 0, 1])) == [False, True, False, True]


def test_a_query_that_resumes_from_its_checkpoint_is_cold_though_its_numbers_go_on() -> None:
    totals = [500.0, 600.0, 40.0, 90.0]
    resumed = [
        replace(batch, offered_rows_total=total)
        for batch, total in zip(placed("a", "a", "a", "a"), totals, strict=True)
    ]
    assert warm(resumed) == [False, True, False, True]


def test_nothing_is_said_of_nothing() -> None:
    assert (saturated([]), warm([])) == ([], [])
