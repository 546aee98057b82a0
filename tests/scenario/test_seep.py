"""The scaling tests of the SEEP thesis (5.2.2 to 5.2.7) on the simulator: when the rules change what, and by how much.

Times are those of `docs/evidence/papers/seep.md`.
"""

from dataclasses import dataclass, field

import pytest

from gesscale.model.decision import Decision
from testbed.arena.case import Case
from testbed.arena.experiments.experiment import Experiment, read_experiment
from testbed.arena.policies.catalogue import build_policy
from testbed.arena.worlds.scenes import world_of
from testbed.scoring.sample import Completion, Sample
from testbed.simulator.simulation import simulate


@dataclass
class Changes:
    """Notes what was changed: when, the operator, from how many replicas to how many; and the rows that wait."""

    made: list[tuple[float, str, int, int]] = field(default_factory=list)
    waiting: dict[str, list[float]] = field(default_factory=dict)

    def on_sample(self, operator: str, sample: Sample) -> None:
        pass

    def on_completion(self, completion: Completion) -> None:
        pass

    def on_decisions(self, decisions: tuple[Decision, ...]) -> None:
        for decision in decisions:
            item = decision.analysis.reading
            if item is not None:
                self.waiting.setdefault(decision.operator, []).append(item.backlog_rows or 0.0)
                if decision.acted:
                    after = len(decision.plan.placement)
                    self.made.append((decision.at_s, decision.operator, item.replicas, after))

    def until(self, at_s: float) -> list[tuple[float, str, int, int]]:
        return [change for change in self.made if change[0] <= at_s]


def simulated(experiment: Experiment, variant: str = "", seed: int = 0) -> Changes:
    case = Case(workload=experiment.workloads[0], seed=seed, policy="rules", variant=variant)
    varied, world, changes = experiment.variant(variant), world_of(experiment, case), Changes()
    made = build_policy("rules", world, varied.rules)
    simulate(world.scene, world.plant, made, changes, seed=seed, best=world.best)
    return changes


@pytest.mark.parametrize("mode", ["", ",mode=edge"])
def test_seep_at_a_constant_rate(mode):
    experiment = read_experiment("seep_constant")
    first = simulated(experiment, mode.removeprefix(",") or "default")
    assert first.made == [(90.0, "operator", 1, 2)]
    assert max(first.waiting["operator"]) == 450
    second = simulated(experiment, f"test=5.2.3{mode}")
    assert second.until(600) == [(90.0, "operator", 1, 3)]
    assert max(second.waiting["operator"]) == 450
    third = simulated(experiment, f"test=5.2.4{mode}")
    assert third.until(600) == [(90.0, "second", 1, 3)]
    assert max(third.waiting["first"]) == 0


@pytest.mark.parametrize("seed", [0, 1])
def test_seep_under_short_peaks(seed):
    assert simulated(read_experiment("seep_short_peaks"), seed=seed).made == []


@pytest.mark.parametrize(
    ("variant", "made"),
    [
        # Back at 30 s, not at 25 s: the loop holds a change for settled after two batches.
        ("default", [(15, 1, 3), (30, 3, 1), (75, 1, 3), (90, 3, 1)]),
        ("mode=edge", [(15, 1, 3), (30, 3, 1), (75, 1, 3), (90, 3, 1)]),
        ("test=5.2.6-60s", [(15, 1, 3), (75, 3, 1)]),
        ("test=5.2.6-60s,mode=edge", [(15, 1, 3)]),
    ],
)
def test_seep_under_peaks(variant, made):
    changes = simulated(read_experiment("seep_peaks"), variant)
    assert changes.until(100) == [(at_s, "operator", before, after) for at_s, before, after in made]
    assert max(changes.waiting["operator"]) == 150


def test_seep_with_hysteresis():
    experiment = read_experiment("seep_peaks")
    assert simulated(experiment, "test=5.2.7").until(400) == [
        (15.0, "operator", 1, 3),
        (315.0, "operator", 3, 1),
        (370.0, "operator", 1, 3),
    ]
    assert simulated(experiment, "test=5.2.7,mode=edge").made == [(15.0, "operator", 1, 3)]
