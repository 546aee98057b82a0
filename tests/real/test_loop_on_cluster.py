"""The loop over a real Spark query on emulated nodes: an overload, a killed replica, a killed driver."""

import io
import os
import signal
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from rich.console import Console

from gesscale.assembly import build_loop
from gesscale.loop import ControlLoop
from gesscale.model.decision import Decision, OutcomeStatus, Reason
from testbed.cluster.processes import Role
from testbed.cluster.spark import LocalSpark
from testbed.demo.taxi import TaxiJob
from testbed.live.nodes import Stage
from testbed.live.running import Setup, running_operators
from testbed.live.scenario import Scenario, TaxiOperator
from testbed.pipeline.replay import write_steady_rides
from testbed.pipeline.sink import verify_sink

pytestmark = pytest.mark.real

# One replica works 2.5 ms on a row, at most 400 rows/s. 500 rows/s for 60 s overload it by a quarter, and two
# replicas drain what has piled up. The day of 86,400 s passes in 86.4 s, the rides fill its first 60,000 s.
# One replica alone has work for 75 s: a second one that a busy machine starts late still finds some.
ROWS_PER_S, LOAD_S, SPEED = 500, 60, 1000.0
ROWS = ROWS_PER_S * LOAD_S
PERIOD_S = 6.0


def step_until(loop: ControlLoop, reached, *, steps: int = 40) -> Decision:
    for _ in range(steps):
        time.sleep(PERIOD_S)
        (decision,) = loop.step(time.time())
        if reached(decision):
            return decision
    raise AssertionError(f"not reached in {steps} steps; the last: {decision.sentence}")


def executor_on(spark: LocalSpark, node: str) -> int:
    return next(each.pid for each in spark.running(Role.EXECUTOR) if each.mark.node == node)


def test_overload_loss_and_death(three_nodes: Callable[[str, int], str], tmp_path: Path) -> None:
    scenario = Scenario(
        topology=three_nodes("realloop", 213),
        day_s=86400 / SPEED,
        copies=1,
        operators=(TaxiOperator(service_ms_per_row=2.5, metrics_port=9118),),
        period_s=PERIOD_S,
        max_replicas=2,
    )
    rides = write_steady_rides(tmp_path / "rides", ROWS, apart_s=SPEED / ROWS_PER_S)
    job = TaxiJob(scenario=scenario, rides=rides, start_at_s=time.time() + 2)
    setup = Setup.prepare(scenario, tmp_path, Stage(Console(file=io.StringIO())))
    with (
        setup.nodes(),
        running_operators(setup, job) as (spark,),
    ):
        loop = build_loop(setup.settings, time.time())
        with closing(loop.knowledge):
            overload_loss_and_death(spark, loop, tmp_path)


def overload_loss_and_death(spark: LocalSpark, loop: ControlLoop, folder: Path) -> None:
    grown = step_until(loop, lambda decision: decision.acted)
    assert grown.plan.reason is Reason.OVERLOADED
    assert grown.outcome.added == ("near",)
    step_until(loop, lambda _: loop.cluster.state().placements == {"nearest": ("home", "near")})

    os.kill(executor_on(spark, "near"), signal.SIGKILL)
    restored = step_until(loop, lambda decision: decision.plan.reason is Reason.REPLICA_LOST, steps=10)
    assert restored.outcome.added == ("near",)
    step_until(loop, lambda _: loop.cluster.state().placements == {"nearest": ("home", "near")})

    def processed(decision: Decision) -> int:
        reading = decision.analysis.reading
        return sum(batch.rows for batch in reading.batches) if reading else 0

    step_until(loop, lambda decision: processed(decision) == ROWS)
    sink = verify_sink(folder / "sink", ROWS)
    assert (sink.rows, sink.duplicated, sink.missing) == (ROWS, 0, 0)

    driver = spark.driver()
    assert driver is not None
    os.kill(driver.pid, signal.SIGKILL)
    survived = step_until(loop, lambda decision: decision.plan.reason is Reason.METRICS_MISSING, steps=10)
    assert survived.outcome.status is OutcomeStatus.NOTHING_TO_DO
