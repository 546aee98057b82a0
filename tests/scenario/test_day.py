"""A day through the whole loop on a simulated clock: only the ports differ from the live cluster."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from edge import FakeCluster, FakeLatencies, delays, operator

from gesscale.knowledge.memory import MemoryKnowledge
from gesscale.loop import ControlLoop
from gesscale.model.observation import Batch, OperatorReading, WorkflowObservation
from gesscale.model.workflow import BatchCap, Workflow
from gesscale.monitor.batch_screen import screen_batches
from gesscale.monitor.window import summarise
from gesscale.plan.node_ranking import nd_max_ms
from gesscale.policies import policy_named
from gesscale.settings.analyze import AnalyzeSettings

DAY_S, PERIOD_S, TRIGGER_S, CAP = 600.0, 10.0, 2.0, 1200


@dataclass
class MicroBatches:
    """A plant of micro-batches: fixed cost, work shared by the replicas, serial round trips, a cold first batch."""

    cluster: FakeCluster
    offered_rows_per_s: Callable[[float], float]
    now_s: float = 0.0
    offered: float = 0.0
    processed: int = 0
    warm_on: tuple[str, ...] = ()
    batches: list[Batch] = field(default_factory=list)

    def run_until(self, until_s: float) -> None:
        while self.now_s < until_s:
            self._run_batch()

    def _run_batch(self) -> None:
        placement = self.cluster.placements["op"]
        rows = min(CAP * len(placement), math.floor(self.offered) - self.processed)
        nd_s = (nd_max_ms(delays(), placement, "hub") or 0.0) / 1000
        seconds = 0.4 + 0.0022 * rows / len(placement) + 4.4 * nd_s
        if set(placement) - set(self.warm_on):
            seconds *= 2
        self.warm_on = placement
        offered_at_start = self.offered
        self._pass(seconds)
        self.processed += rows
        self.batches.append(
            Batch(
                batch_id=len(self.batches),
                ended_at_s=self.now_s,
                rows=rows,
                seconds=seconds,
                nodes=self.cluster.placements["op"],
                trigger_s=TRIGGER_S,
                cap_rows=CAP * len(placement),
                offered_rows_total=math.floor(offered_at_start),
                backlog_rows=math.floor(offered_at_start) - self.processed,
            )
        )
        self._pass(max(0.0, TRIGGER_S - seconds))

    def _pass(self, seconds: float) -> None:
        self.offered += seconds * self.offered_rows_per_s(self.now_s + seconds / 2)
        self.now_s += seconds

    def observe(self, now_s: float) -> WorkflowObservation:
        self.run_until(now_s)
        reading = summarise(
            "op",
            screen_batches(self.batches[-100:], self.now_s),
            now_s=self.now_s,
            window_s=PERIOD_S,
            stale_after_s=4 * PERIOD_S,
        )
        assert isinstance(reading, OperatorReading)
        return WorkflowObservation(at_s=now_s, readings={"op": reading})


def hill(at_s: float) -> float:
    """Rise from 120 to 960 rows/s and fall again: eightfold."""
    return 120 + 840 * math.sin(math.pi * min(at_s, DAY_S) / DAY_S) ** 2


def play(policy: str) -> tuple[MicroBatches, list]:
    cluster = FakeCluster({"op": ("hub",)})
    plant = MicroBatches(cluster, hill)
    workflow = Workflow([operator(max_replicas=5, cap=BatchCap(rows_per_replica=CAP))])
    loop = ControlLoop(
        metrics=plant,
        latencies=FakeLatencies(),
        policy=policy_named(policy, workflow, AnalyzeSettings(gesscale_2021={"recovery_target": 30.0})),
        cluster=cluster,
        knowledge=MemoryKnowledge(),
        acts=True,
        rescale_timeout_s=60.0,
    )
    decisions = [loop.step(PERIOD_S * step)[0] for step in range(1, int(1.2 * DAY_S / PERIOD_S))]
    return plant, [decision for decision in decisions if decision.acted]


def test_gesscale_follows_the_day_up_and_down():
    plant, changes = play("gesscale-2021")
    # One replica sustains 1200 / (0.4 + 2.64) = 395 rows/s, so 960 need three; the nearest come first and go last.
    assert [d.outcome.added for d in changes if d.outcome.added][:2] == [("near",), ("mid",)]
    assert plant.cluster.placements["op"] == ("hub",)
    assert plant.processed == math.floor(plant.batches[-1].offered_rows_total)
    assert len(changes) <= 8
    assert changes[-1].analysis.model.in_use.parameters[0].value == pytest.approx(395, rel=0.05)


def test_the_default_policy_has_a_fitted_model_by_the_end_of_the_day():
    plant, changes = play("gesscale")
    assert plant.processed == math.floor(plant.batches[-1].offered_rows_total)
    model = changes[-1].analysis.model
    assert (model.law, model.fitted) == ("batch-time", True)
    assert model.held_out_error_pct < 10


@pytest.mark.parametrize("policy", ["thr-nlaware", "thr-nlunaware"])
def test_thresholds_change_nothing_without_cpu_metrics(policy):
    # Time in batches is no substitute: with a replica 300 ms away even the night's 240 rows a batch take 0.4 + 0.1 +
    # 4.4 * 0.3 = 1.8 s of the 2 s between triggers, although one replica would do.
    _, changes = play(policy)
    assert not changes
