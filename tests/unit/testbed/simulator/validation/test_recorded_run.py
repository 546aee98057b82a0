"""Records of runs: the bundled ones, trimmed ones, and those that cannot be used."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from made_runs import KNOWN, RECORDS, batch, played_run, run_of
from record_trimming import trim

from gesscale.errors import InputError
from testbed.simulator.validation.comparison import compare_run
from testbed.simulator.validation.recorded_run import read_run
from testbed.simulator.validation.refit import refit


@pytest.fixture
def record(tmp_path: Path) -> Path:
    return Path(shutil.copytree(RECORDS / "demo-1", tmp_path / "mine"))


def test_a_record_is_read_on_time_whose_zero_is_a_trigger() -> None:
    run = read_run(RECORDS / "demo-1")
    assert (len(run.batches), len(run.orders), run.trigger_s, run.initial) == (90, 8, 2.0, ("edge1",))
    # Batch 5 began after a pause, so when it was due: at a multiple of 2 s, to the milliseconds Spark needs for it.
    began_s = run.batches[5].ended_at_s - run.batches[5].seconds
    assert abs(began_s - 24.0) < 0.02
    first = run.orders[0]
    assert (first.change.add, first.took_s) == (("edge2",), pytest.approx(2.44, abs=0.005))
    assert run.orders[4].took_s is None  # a removal


def test_the_load_of_a_record_is_what_had_been_offered() -> None:
    run = read_run(RECORDS / "demo-1")
    # When the last batch began all but the last few of 200,748 rows had been offered.
    offered = sum(run.workload.rows_per_s) * run.workload.step_s
    assert offered == pytest.approx(run.batches[-1].offered_rows_total, rel=1e-6)
    assert 200_000 < offered <= 200_748


def test_a_trimmed_record_is_the_same_run(tmp_path: Path) -> None:
    whole = RECORDS / "day_of_gesscale"
    trim(whole, tmp_path / "small")
    before, after = read_run(whole), read_run(tmp_path / "small")
    assert (after.batches, after.orders, after.operator) == (before.batches, before.orders, before.operator)
    assert len((tmp_path / "small" / "decisions.jsonl").read_text().splitlines()) == len(before.orders)
    with pytest.raises(InputError, match="small: expected a folder that can be made"):
        trim(whole, tmp_path / "small")


def test_a_replica_that_did_not_start_is_not_acted_again(record: Path) -> None:
    file = record / "decisions.jsonl"
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    lines[0]["plan"]["change"]["add"] = ["edge2", "edge7"]
    lines[1]["outcome"]["added"] = []
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    orders = read_run(record).orders
    assert [order.change.add for order in orders[:2]] == [("edge2",), ("edge4",)]


@pytest.mark.parametrize("file", ["batches.jsonl", "gesscale.yaml", "latency.csv"])
def test_a_missing_file_is_named(record: Path, file: str) -> None:
    (record / file).unlink()
    with pytest.raises(InputError, match=file):
        read_run(record)


def test_a_run_of_two_operators_is_refused(record: Path) -> None:
    file = record / "gesscale.yaml"
    text = file.read_text()
    second = "    other:\n      driver_node: edge2\n      metrics_url: http://10.77.0.1:9109\n"
    file.write_text(text.replace("latency_map:", f"{second}latency_map:", 1))
    with pytest.raises(InputError, match="mine: expected a run of one operator, got nearest, other"):
        read_run(record)


def test_batches_that_do_not_tell_what_was_offered_are_refused(record: Path) -> None:
    file = record / "batches.jsonl"
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    for line in lines:
        del line["offered_rows_total"]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(InputError, match="mine: expected batches with their trigger interval and what was"):
        read_run(record)


def changed(record: Path, line: int, file: str = "batches.jsonl", **figures: object) -> None:
    lines = [json.loads(text) for text in (record / file).read_text().splitlines()]
    lines[line].update(figures)
    (record / file).write_text("".join(json.dumps(each) + "\n" for each in lines))


@pytest.mark.parametrize(
    "figures",
    [
        *({"ended_at_s": value} for value in (1e308, 4.2e9, -1e308, 10**400)),
        {"seconds": 1e308},
        {"trigger_s": 5e-324},
        {"offered_rows_total": 1e308},
    ],
    ids=str,
)
@pytest.mark.parametrize("line", [0, 40, -1])
def test_a_batch_of_impossible_times_or_figures_is_not_acted_again(
    record: Path, line: int, figures: dict[str, object]
) -> None:
    whole = read_run(record)
    changed(record, line, **figures)
    run = read_run(record)
    assert len(run.batches) == len(whole.batches) - 1
    assert run.workload.total_rows == pytest.approx(whole.workload.total_rows, rel=0.05)


@pytest.mark.parametrize(("line", "ended_at_s"), [(0, 5.0), (0, 1.7e9), (-1, 1.9e9), (40, 4.1e9)])
def test_a_run_of_which_one_time_is_far_off_is_refused_in_one_line(
    record: Path, line: int, ended_at_s: float
) -> None:
    # A step of half a second over the 56 years between would take gigabytes.
    changed(record, line, ended_at_s=ended_at_s)
    with pytest.raises(InputError, match=r"batches\.jsonl: expected a run of at most 31d, got ") as caught:
        read_run(record)
    assert "\n" not in str(caught.value)


def test_a_month_takes_no_more_room_than_a_day(record: Path) -> None:
    changed(record, -1, ended_at_s=read_run(record).batches[0].ended_at_s + 1795279701 + 30 * 86400)
    run = read_run(record)
    assert run.duration_s > 29 * 86400
    assert len(run.workload.rows_per_s) <= 200_001


@pytest.mark.parametrize("seconds", [1e308, float("inf"), float("nan"), None, -5])
def test_a_start_of_impossible_length_is_of_none(record: Path, seconds: object) -> None:
    outcome = json.loads((record / "decisions.jsonl").read_text().splitlines()[0])["outcome"]
    changed(record, 0, "decisions.jsonl", outcome={**outcome, "seconds": seconds})
    assert read_run(record).orders[0].took_s is None


def test_too_few_warm_batches_cannot_be_fitted() -> None:
    few = run_of([batch(number, 30.0 + 2 * number) for number in range(1, 7)])
    # The first of them is not warm: what was before it was not seen.
    with pytest.raises(InputError, match="made: expected at least 6 warm batches, got 5"):
        refit(KNOWN, [few])


def test_runs_of_several_trigger_intervals_cannot_be_fitted_together() -> None:
    run = played_run(KNOWN)
    with pytest.raises(InputError, match="made, made: expected runs of one trigger interval, got 2 s, 5 s"):
        refit(KNOWN, [run, replace(run, trigger_s=5.0)])


def test_a_run_in_which_no_replica_was_started_does_not_tell_of_cold_starts() -> None:
    calm = replace(played_run(KNOWN), orders=())
    with pytest.raises(InputError, match="made: expected runs in which replicas were started, got none"):
        refit(KNOWN, [calm])


def test_a_short_run_cannot_be_compared() -> None:
    short = run_of([batch(number, 2.0 * number) for number in range(1, 60)])
    with pytest.raises(InputError, match="made: expected a run of at least 150 s, got 118 s"):
        compare_run(short, KNOWN, [short.batches])
