"""Batch times and throughput against the physics, computed by hand."""

from dataclasses import replace

import pytest
from made_runs import KNOWN, batch, run_of

from testbed.simulator.validation.batches import MeasuredBatch, batch_errors, batch_of_run


def test_throughput_ignores_batches_below_the_trigger_interval() -> None:
    # Both methods: T is 20 % too long, but 1.2 s and 1 s are below the 2 s that each batch waits anyway.
    executor_set = batch_of_run(run_of([batch(1, 9.0)]), batch(1, 9.0)).executor_set
    flat = replace(KNOWN, service_ms_per_row=1e-9, task_s=0.0, fixed_s=1.2)
    short = MeasuredBatch(executor_set=executor_set, rows=100, seconds=1.0, trigger_s=2.0)
    errors = batch_errors(flat, [short])
    assert errors.batch_time.bias_pct == pytest.approx(20.0)
    assert errors.throughput.bias_pct == pytest.approx(0.0)
    # Without a pause 1 / 1.2 of the rows are done in the same time.
    errors = batch_errors(flat, [replace(short, trigger_s=0.0)])
    assert errors.throughput.bias_pct == pytest.approx(100 * (1 / 1.2 - 1))
