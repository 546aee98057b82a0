"""What users of other scalers saw when metrics were gone, wrong or late; docs/evidence/complaints.md is the list."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest
from complaint_world import changes, lasting, reasons, replicas_at, run, under
from faulty_ports import Fault

from gesscale.loop import ControlLoop
from gesscale.model.decision import Reason
from gesscale.model.observation import MissingReading, OperatorReading, WorkflowObservation
from gesscale.model.workflow import BatchCap, Operator, Workflow
from gesscale.monitor.batch_screen import screen_batches
from gesscale.monitor.window import summarise
from gesscale.ports import MetricSource
from testbed.simulator.scene import NodeFailure

BEGIN_S, END_S = 600.0, 1500.0
"""Of what goes wrong."""


@dataclass(frozen=True)
class Altered:
    """A metric source that tells something else of a reading from 600 to 1500 s."""

    inner: MetricSource
    alter: Callable[[OperatorReading], OperatorReading | None]

    def observe(self, now_s: float) -> WorkflowObservation:
        seen = self.inner.observe(now_s)
        if not BEGIN_S <= now_s < END_S:
            return seen
        told = {name: self.alter(reading) for name, reading in seen.readings.items()}
        gone = {
            name: MissingReading(operator=name, code="metrics-missing") for name, item in told.items() if item is None
        }
        return replace(
            seen,
            readings={name: item for name, item in told.items() if item is not None},
            missing_readings={**seen.missing_readings, **gone},
        )


def altered(alter: Callable[[OperatorReading], OperatorReading | None]) -> Callable[[ControlLoop], ControlLoop]:
    return lambda loop: replace(loop, metrics=Altered(loop.metrics, alter))


@pytest.mark.parametrize("policy", ["gesscale", "hpa-cpu"])
@pytest.mark.parametrize("fault", [Fault.METRICS_GONE, Fault.METRICS_HANGING])
def test_a_dead_metric_is_not_0(policy: str, fault: Fault) -> None:
    """kubernetes#104387: the metrics service went offline, "currentValue became 0", all went down to the minimum."""
    notes = run(under([900] * 26), policy, faults=lasting(fault, BEGIN_S, END_S))
    # 900 rows/s need two replicas of 488; hpa-cpu may hold more.
    before = replicas_at(notes, BEGIN_S)
    assert before >= 2
    assert changes(notes, BEGIN_S, END_S) == []
    assert reasons(notes, BEGIN_S, END_S) == {Reason.METRICS_MISSING}
    assert replicas_at(notes, END_S) == before


def test_invalid_metrics_change_nothing() -> None:
    """kubernetes#104387, where the service answers, and what it says cannot be: NaN, the future, fewer than no rows."""
    notes = run(under([900] * 26), faults=lasting(Fault.METRICS_LYING, BEGIN_S, END_S))
    # For stale_after, three minutes, the batches before it still count; then there is nothing to go by.
    assert changes(notes, BEGIN_S, END_S) == []
    assert reasons(notes, BEGIN_S + 240, END_S) <= {Reason.METRICS_STALE, Reason.METRICS_MISSING}


def test_missing_metric_blocks_removal() -> None:
    """kubernetes#99394: one metric says fewer, the other is unavailable, and the HPA "will happily scale down"."""
    # The load falls at 600 s to what one replica does; rates and rows are told, the backlog is not.
    notes = run(under([900] * 10 + [200] * 20), wired=altered(lambda reading: replace(reading, backlog_rows=None)))
    assert replicas_at(notes, BEGIN_S) == 2
    assert changes(notes, BEGIN_S, END_S) == []
    assert reasons(notes, BEGIN_S, END_S) == {Reason.METRICS_MISSING}
    assert replicas_at(notes, 1750) == 1  # once it is told again


def test_impossible_lag_is_unknown() -> None:
    """keda#4552: the Kafka scaler returned wrong lags, then 0, and the deployment went down to 0."""

    def wrong(reading: OperatorReading) -> OperatorReading:
        """Return what the reader makes of a lag below 0, as of an end offset behind the committed one."""
        batches = [replace(batch, backlog_rows=-1.0) for batch in reading.batches]
        read = summarise(
            "op", screen_batches(batches, reading.at_s), now_s=reading.at_s, window_s=60.0, stale_after_s=180.0
        )
        assert isinstance(read, OperatorReading)
        return read

    notes = run(under([900] * 30), wired=altered(wrong))
    assert changes(notes, BEGIN_S, END_S) == []
    assert reasons(notes, BEGIN_S, END_S) == {Reason.METRICS_MISSING}
    assert replicas_at(notes, 1700) == 2  # 900 rows/s need two of 488


def test_dead_metrics_do_not_block_other_operators() -> None:
    """kubernetes#109214: one metric could not be fetched, and nothing was scaled down any more."""
    names = ("alive", "dead")
    one = under([900] * 10 + [200] * 15)
    scene = replace(
        one,
        workflow=Workflow(
            [Operator(name=name, driver_node="n0", cap=BatchCap(rows_per_replica=6000)) for name in names]
        ),
        workloads=dict.fromkeys(names, one.workloads["op"]),
        initial=dict.fromkeys(names, ("n0", "n1")),
    )
    notes = run(scene, wired=altered(lambda reading: None if reading.operator == "dead" else reading))
    in_the_fault = changes(notes, BEGIN_S, END_S)
    assert {each.operator for each in in_the_fault} == {"alive"}
    assert replicas_at(notes, END_S - 10, "alive") == 1  # 200 rows/s of 488
    assert replicas_at(notes, END_S - 10, "dead") == 2


def test_lost_last_replica_is_restored_on_another_node() -> None:
    """kubernetes#130130: at a peak "all pods became all unready", ready pods are counted, so the HPA wanted 0."""
    # The only replica is on n1, whose node dies for a quarter of an hour; the driver goes on at n0.
    notes = run(
        under([400] * 15, initial={"op": ("n1",)}, failures=(NodeFailure(node="n1", from_s=BEGIN_S, until_s=END_S),))
    )
    (order,) = changes(notes)
    assert order.at_s == BEGIN_S
    assert order.plan.reason is Reason.REPLICA_LOST
    assert (order.plan.before, order.plan.placement) == ((), ("n0",))  # all are 5 ms away, the name decides
    # 400 of 488 rows/s: it carries the load as the one before did.
    assert sum(each.rows for each in notes.completions) == 400 * 15 * 60
