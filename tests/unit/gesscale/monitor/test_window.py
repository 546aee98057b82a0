"""Readings over a window: rates, shares, freshness."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from gesscale.model.observation import Batch, MissingReading, OperatorReading
from gesscale.monitor.batch_screen import screen_batches
from gesscale.monitor.window import summarise

NOW_S = 1000.0


def steady(
    count: int = 10,
    *,
    last_end_s: float = NOW_S,
    every_s: float = 2.0,
    rows: int = 100,
    seconds: float = 1.0,
    offered_per_batch: float | None = 150.0,
    nodes: tuple[str, ...] = ("a",),
) -> list[Batch]:
    """Return equal batches of a trigger of 2 s; 150 rows offered and 100 processed in each."""
    return [
        Batch(
            batch_id=index,
            ended_at_s=last_end_s - every_s * (count - 1 - index),
            rows=rows,
            seconds=seconds,
            nodes=nodes,
            trigger_s=2.0,
            cap_rows=1000,
            offered_rows_total=None if offered_per_batch is None else 5000 + offered_per_batch * index,
            backlog_rows=50.0 * index,
        )
        for index in range(count)
    ]


def reading(batches: Sequence[Batch], **changes: float) -> OperatorReading:
    seen = observe(batches, **changes)
    assert isinstance(seen, OperatorReading), seen
    return seen


def observe(batches: Sequence[Batch], **changes: float) -> OperatorReading | MissingReading:
    periods = {"now_s": NOW_S, "window_s": 10.0, "stale_after_s": 30.0, **changes}
    return summarise("op", screen_batches(batches, periods["now_s"]), **periods)


def test_rates_and_shares_of_a_steady_query() -> None:
    # Ends at 982, 984 ... 1000. Window 990..1000: the ends 992..1000, base 990: five batches in 10 s.
    # IR 150 rows per 2 s; CT 5 x 100 rows in 10 s; busy 5 x 1 s in 10 s.
    seen = reading(steady())
    assert seen.input_rows_per_s == pytest.approx(75.0)
    assert seen.throughput_rows_per_s == pytest.approx(50.0)
    assert seen.busy_share == pytest.approx(0.5)
    assert seen.saturated_share == 0.0
    assert seen.backlog_rows == 450.0
    assert [batch.batch_id for batch in seen.warm_batches] == [5, 6, 7, 8, 9]
    assert len(seen.batches) == 10
    assert (seen.at_s, seen.trigger_s, seen.placement) == (NOW_S, 2.0, ("a",))


def test_a_batch_that_straddles_the_window_counts_in_the_rates_but_is_no_evidence() -> None:
    # Ends at ..., 989.5, 991.5 ...; the batch of 991.5 began at 989.7.
    seen = reading(steady(last_end_s=999.5, seconds=1.8))
    assert seen.throughput_rows_per_s == pytest.approx(50.0)
    assert [batch.batch_id for batch in seen.warm_batches] == [6, 7, 8, 9]


def test_the_input_rate_belongs_to_the_instants_of_planning() -> None:
    # Back to back: 2 s, then 8 s. Planned at 990 and 992; 300 rows were offered in those 2 s, not in 8.
    batches = [
        Batch(batch_id=0, ended_at_s=992.0, rows=9, seconds=2.0, nodes=("a",), offered_rows_total=1000),
        Batch(batch_id=1, ended_at_s=1000.0, rows=9, seconds=8.0, nodes=("a",), offered_rows_total=1300),
    ]
    assert reading(batches, window_s=5.0).input_rows_per_s == pytest.approx(150.0)


def test_an_idle_query_reads_zero_and_is_not_unseen() -> None:
    seen = reading(steady(last_end_s=960.0), last_progress_at_s=999.0)
    assert (seen.input_rows_per_s, seen.throughput_rows_per_s) == (0.0, 0.0)
    assert (seen.saturated_share, seen.busy_share, seen.warm_batches) == (0.0, 0.0, ())
    assert seen.placement == ("a",)


def test_idling_after_the_newest_batch_counts_as_time() -> None:
    # Window 990..1000, ends 992 and 994 inside, idle until 1000: 200 rows and 2 s busy in 10 s;
    # 300 rows offered from the planning of the base batch (989) to that of the newest; 150, as many as in a batch, may
    # wait.
    seen = reading(steady(last_end_s=994.0), last_progress_at_s=1000.0)
    assert seen.throughput_rows_per_s == pytest.approx(20.0)
    assert seen.busy_share == pytest.approx(0.2)
    assert seen.input_rows_per_s == pytest.approx((300 + 150) / 11)


def test_a_rest_before_the_window_does_not_dilute_the_rates() -> None:
    # Idle from 900 to 996. Ends 998 and 1000 are inside; their rows came in the window's 10 s, not in 100 s.
    rested = [*steady(3, last_end_s=900.0), *steady(2)]
    rested = [
        replace(batch, batch_id=index, offered_rows_total=1000.0 + 150 * index) for index, batch in enumerate(rested)
    ]
    seen = reading(rested)
    assert seen.throughput_rows_per_s == pytest.approx(200 / 10)
    # From 990, where the window begins, to the planning of the newest batch at 999.
    assert seen.input_rows_per_s == pytest.approx(300 / 9)


def test_a_batch_longer_than_the_window_is_read_until_the_next_ends() -> None:
    # Newest end 985, before the window of 990..1000; the next batch is still running.
    slow = steady(3, last_end_s=985.0, every_s=12.0, seconds=12.0, rows=1000)
    seen = reading(slow)
    assert seen.throughput_rows_per_s == pytest.approx(1000 / 12)
    assert (seen.busy_share, seen.saturated_share) == (1.0, 1.0)


def test_a_missing_batch_takes_its_time_along() -> None:
    # Without batch 7 (994..996) four batches remain; the batch after the gap began at 997.
    batches = [batch for batch in steady() if batch.batch_id != 7]
    seen = reading(batches)
    assert seen.throughput_rows_per_s == pytest.approx(400 / (10 - 3))
    assert seen.input_rows_per_s == pytest.approx(75.0)
    assert [batch.batch_id for batch in seen.warm_batches] == [5, 6, 9]


def test_a_falling_total_starts_the_input_rate_anew() -> None:
    # The query began again with the batch of 996: 10, 30, 50 rows offered, 2 s apart.
    batches = steady()
    again = [
        replace(batch, batch_id=index, offered_rows_total=10.0 + 20 * index) for index, batch in enumerate(batches[-3:])
    ]
    seen = reading([*batches[:-3], *again])
    assert seen.input_rows_per_s == pytest.approx(10.0)
    assert [batch.batch_id for batch in seen.warm_batches] == [5, 6, 1, 2]


@pytest.mark.parametrize("progress_s", [None, 960.0, float("nan")])
def test_old_figures_are_stale_with_their_age(progress_s: float | None) -> None:
    missing = observe(steady(last_end_s=960.0), last_progress_at_s=progress_s)
    assert missing == MissingReading(
        operator="op", stale=True, code="metrics-stale", fields={"age_s": 40.0, "max_age_s": 30.0}
    )


def test_windows_and_the_age_of_figures_follow_long_cycles() -> None:
    # Batches of 40 s, the newest from 930 to 970: it is in a window of 80 s; figures are old after 120 s.
    slow = steady(4, last_end_s=970.0, every_s=40.0, seconds=40.0, rows=1000)
    seen = reading(slow)
    assert [batch.ended_at_s for batch in seen.warm_batches] == [970.0]
    assert seen.throughput_rows_per_s == pytest.approx(25.0)
    assert observe(slow, now_s=1091.0).stale
    assert isinstance(observe(slow, now_s=1090.0), OperatorReading)


def test_a_running_batch_is_the_reason_for_old_figures() -> None:
    first, long = observe([], running_s=70.0), observe(steady(last_end_s=960.0), running_s=39.0)
    assert (first.code, first.fields, first.stale) == ("batch-running", {"running_s": 70.0}, False)
    assert (long.code, long.fields, long.stale) == ("batch-running", {"running_s": 39.0}, True)


def test_a_batch_that_holds_its_slots_is_no_evidence() -> None:
    seen = reading([replace(batch, fixed_slots=1) for batch in steady()])
    assert seen.fixed_slots
    assert seen.warm_batches == ()
    assert not reading([replace(batch, fixed_slots=0) for batch in steady()]).fixed_slots


def test_an_invalid_newest_batch_marks_the_reading() -> None:
    good = steady()
    assert reading(good).problem == ""
    wrong = [*good[:-1], replace(good[-1], rows=-1)]
    problem = screen_batches(wrong, NOW_S).newest_problem
    assert (problem.code, problem.fields["batch_id"]) == ("batch-figure-invalid", 9)
    assert reading(wrong).problem == str(problem)
    # An earlier invalid batch does not: the newest figures are valid.
    assert reading([*good[:-2], replace(good[-2], rows=-1), good[-1]]).problem == ""


@pytest.mark.parametrize(
    ("batches", "code"),
    [
        ([], "batches-missing"),
        ([replace(each, rows=-1) for each in steady()], "batches-unusable"),
        (steady(nodes=()), "batch-without-hosts"),
    ],
)
def test_without_a_usable_batch_an_operator_is_unseen(batches: list[Batch], code: str) -> None:
    seen = observe(batches, last_progress_at_s=NOW_S)
    assert isinstance(seen, MissingReading)
    assert not seen.stale
    assert seen.code == code
    assert str(seen.problem)
