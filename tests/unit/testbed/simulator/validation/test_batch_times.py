"""Batch times and throughput against the physics, by hand; fits of readings."""

from dataclasses import replace

import pytest
from made_runs import KNOWN, READINGS, batch, delays, played_run, run_of

from gesscale.errors import InputError
from testbed.simulator.spark.batch import ExecutorSet
from testbed.simulator.spark.constants import read_physics
from testbed.simulator.validation.batches import (
    Errors,
    MeasuredBatch,
    batch_errors,
    of_batch,
    of_run,
    predicted_s,
    read_readings,
)
from testbed.simulator.validation.comparison import parts_of_run
from testbed.simulator.validation.refit import FITTED, fit_constants, held_out_errors


def test_errors_are_mean_and_greatest_of_their_size_and_their_mean() -> None:
    # +10 %, -20 % and +1 %: mean size 31 / 3, greatest 20, mean -9 / 3.
    errors = Errors.of([110, 80, 101], [100, 100, 100])
    assert (errors.mean_pct, errors.worst_pct, errors.bias_pct) == pytest.approx((31 / 3, 20.0, -3.0))


def test_a_batch_takes_fixed_time_round_trips_and_its_share_of_the_rows() -> None:
    measured = of_batch(run_of([batch(1, 9.0)]), batch(1, 9.0, rows=900, nodes=("n0", "n2")))
    # 0.25 + 6 x 0.040 s to n2 + 0.08 + 0.0023 x 900 / 2
    assert predicted_s(KNOWN, measured) == pytest.approx(0.25 + 0.24 + 0.08 + 1.035)


def test_throughput_does_not_mind_batches_that_are_shorter_than_the_trigger_interval() -> None:
    # Both ways to count: T is 20 % too long, but 1.2 s and 1 s are below the 2 s that each batch waits anyway.
    executor_set = of_batch(run_of([batch(1, 9.0)]), batch(1, 9.0)).executor_set
    flat = replace(KNOWN, service_ms_per_row=1e-9, task_s=0.0, fixed_s=1.2)
    short = MeasuredBatch(executor_set=executor_set, rows=100, seconds=1.0, trigger_s=2.0)
    errors = batch_errors(flat, [short])
    assert errors.batch_time.bias_pct == pytest.approx(20.0)
    assert errors.throughput.bias_pct == pytest.approx(0.0)
    # Without a pause 1 / 1.2 of the rows are done in the same time.
    errors = batch_errors(flat, [replace(short, trigger_s=0.0)])
    assert errors.throughput.bias_pct == pytest.approx(100 * (1 / 1.2 - 1))


def test_parts_of_a_run_are_all_of_it() -> None:
    measured = of_run(played_run(KNOWN), from_s=30.0)
    parts = parts_of_run(measured)
    assert len(parts["full"]) + len(parts["not full"]) == len(parts["all warm"]) == len(measured)
    assert sum(len(part) for label, part in parts.items() if label.startswith("n = ")) == len(measured)


def test_what_is_left_out_is_foretold_exactly_where_batches_follow_the_physics() -> None:
    run = run_of([batch(1, 9.0)])
    made = []
    for count in (1, 2, 3, 4):
        for rows in (500, 3000):
            item = of_batch(run, batch(1, 9.0, rows=rows, nodes=delays().names[:count]))
            made.append(replace(item, seconds=predicted_s(KNOWN, item), trigger_s=0.0))
    found = held_out_errors(KNOWN, ("fixed_s", "service_ms_per_row", "driver_round_trips"), made)
    # n0 alone is 0 ms from the driver, n0 to n3 80 ms.
    assert list(found) == ["0 ms", "10 ms", "40 ms", "80 ms", "n = 1", "n = 2", "n = 3", "n = 4"]
    assert all(errors.compared == 2 for errors in found.values())
    assert max(errors.batch_time.worst_pct for errors in found.values()) < 0.1  # constants have four digits


def test_the_bundled_constants_are_what_the_readings_give() -> None:
    measured = [item for item in read_readings(READINGS)["map"] if item.host_cpu < 0.9]
    bundled = read_physics("map")
    fitted, _ = fit_constants(bundled, FITTED["map"], measured)
    # They were fitted in two steps, first the points of one task per executor, so they are not quite the same.
    for item in measured:
        assert predicted_s(fitted, item) == pytest.approx(predicted_s(bundled, item), rel=0.03)


def test_a_crew_of_a_reading_has_a_driver_that_is_as_far_as_all_others() -> None:
    executor_set: ExecutorSet = read_readings(READINGS)["map"][3].executor_set  # map,6,150,3000,12
    assert (len(executor_set.nodes), executor_set.farthest_s, executor_set.apart_s) == (6, 0.150, 0.150)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("query,replicas\nmap,3\n", "line 1: expected the column nd_max_ms in the header"),
        (
            "query,replicas,nd_max_ms,batch_rows,tasks,batch_ms,host_cpu\n\nmap,3,0,9,3,-1,0\n",
            "line 3, column batch_ms: expected a time in ms, > 0, got '-1'",
        ),
        (
            "query,replicas,nd_max_ms,batch_rows,tasks,batch_ms,host_cpu\nmap,x,0,9,3,1,0\n",
            "line 2, column replicas",
        ),
    ],
)
def test_a_reading_that_cannot_be_used_is_named(tmp_path, text: str, message: str) -> None:
    file = tmp_path / "own.csv"
    file.write_text(text)
    with pytest.raises(InputError, match=message):
        read_readings(file)
