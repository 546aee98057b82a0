"""Daedalus 3.1: a line for each worker, and what all together can do when the hottest is at its limit."""

import math

import pytest
from edge import reading

from gesscale.model.observation import NodeReading
from testbed.baselines.daedalus.scale_out import CpuRegression, Worker, job_capacity, workers


def worker(cpu, rate):
    return Worker(rate, cpu)


def line(*samples):
    found = CpuRegression()
    for cpu, rate in samples:
        found = found.with_sample(cpu, rate)
    return found


SPEC = ((0.2, 5000.0), (0.4, 9000.0), (0.6, 13000.0), (0.8, 17000.0))
"""On y = 1000 + 20000 x (specification, section 9)."""


def test_known_vector():
    found = line(*SPEC)
    assert found.slope == pytest.approx(20_000)
    assert found.rate_at(0.0) == pytest.approx(1000)
    assert found.rate_at(1.0) == pytest.approx(21_000)
    assert job_capacity({"a": found}, {"a": worker(*SPEC[-1])}, 1) == pytest.approx(21_000)


def test_regression_is_limited_to_a_plausible_range():
    falling = line((0.2, 9000.0), (0.8, 3000.0))
    assert job_capacity({"a": falling}, {"a": worker(0.8, 3000.0)}, 1) == pytest.approx(3000)
    steep = line((0.4, 100.0), (0.8, 8000.0))  # at 100 %: 8000 + 0.2 x 19750 = 11,950; 1.5 x 4000 / 0.8 = 7500
    assert job_capacity({"a": steep}, {"a": worker(0.8, 4000.0)}, 1) == pytest.approx(7500)


@pytest.mark.parametrize("load", [0.3, 0.5, 0.7, 0.9, 1.0])
def test_proportional_skew_is_seen_at_every_load(load):
    # Full, they have 100, 80 and 60 % CPU at 10,000 rows/s for the whole CPU: 24,000 rows/s together, not 30,000.
    full = {"hot": 1.0, "warm": 0.8, "mild": 0.6}
    window = {node: worker(cpu * load, 10_000 * cpu * load) for node, cpu in full.items()}
    assert job_capacity({}, window, 3) == pytest.approx(24_000)


def test_only_working_replicas_of_the_placement_count():
    seen = {"hub": (100.0, 0.5), "near": (0.0, 0.0), "mid": (10.0, math.nan), "far": (10.0, None), "gone": (10.0, 0.5)}
    by_node = {
        node: NodeReading(throughput_rows_per_s=rate, busy_share=0.9, cpu_share=cpu)
        for node, (rate, cpu) in seen.items()
    }
    assert workers(reading(("hub", "near", "mid", "far"), by_node=by_node)) == {"hub": (100.0, 0.5)}
