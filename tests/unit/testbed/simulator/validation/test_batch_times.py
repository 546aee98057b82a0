"""Batch times and throughput against the physics, by hand; fits of readings."""

from dataclasses import replace

import pytest
from made_runs import KNOWN, READINGS, batch, delays, run_of

from gesscale.errors import InputError
from testbed.simulator.spark.constants import read_physics
from testbed.simulator.validation.batches import (
    MeasuredBatch,
    batch_errors,
    of_batch,
    predicted_s,
    read_readings,
)
from testbed.simulator.validation.refit import FITTED, fit_constants, held_out_errors


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
