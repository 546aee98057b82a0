"""Measures the errors of Daedalus's capacities, forecasts and recovery times (section 4.8 of its paper).

Run ``python benchmarks/daedalus_predictions.py [--experiment daedalus] [--variant NAME] [--seeds 10] [--jobs 2]``. It
runs the policy ``daedalus`` on each load of an experiment, reads its memo after each step, and prints JSON with a table
for each load. It measures no times.

Capacity: its estimate for the current workers relative to the true MST of their placement, which only the simulator
knows, at each step with an estimate. Forecast: WAPE of the forecast of one step relative to the load until the next.
Recovery: the predicted time of a change relative to the true one, from the stop until less than a second of input
waits, without those that another change interrupts. Quantiles are over all steps or changes of all seeds.
"""

import argparse
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from itertools import repeat

import numpy as np

from gesscale.model.decision import Analysis, Decision, Plan
from gesscale.model.observation import OperatorReading, WorkflowObservation
from gesscale.ports import ClusterState, Knowledge
from testbed.arena.case import Case
from testbed.arena.experiments.experiment import Experiment, read_experiment
from testbed.arena.policies.catalogue import build_policy
from testbed.arena.worlds.fog_nodes import seed_of
from testbed.arena.worlds.scenes import world_of
from testbed.baselines.daedalus.policy import DaedalusMemo, DaedalusPolicy
from testbed.baselines.daedalus.scale_out import ScaleOutContext
from testbed.scoring.sample import Completion, Sample
from testbed.simulator.plant import Plant
from testbed.simulator.simulation import simulate

DAEDALUS = "daedalus"


@dataclass
class Findings:
    """Errors on a load.

    Attributes
    ----------
    capacity_errors, wapes
        Of each step; errors as signed shares of the true value.
    recovery_errors
        Of each change, likewise; infinite if no recovery was predicted.
    changes
        Number of changes.
    """

    capacity_errors: list[float] = field(default_factory=list)
    wapes: list[float] = field(default_factory=list)
    recovery_errors: list[float] = field(default_factory=list)
    changes: int = 0

    def add(self, other: "Findings") -> None:
        """Add the errors of another run."""
        self.capacity_errors += other.capacity_errors
        self.wapes += other.wapes
        self.recovery_errors += other.recovery_errors
        self.changes += other.changes

    def table(self) -> dict[str, object]:
        """Return the errors as a table."""
        wapes = np.asarray(self.wapes)
        return {
            "capacity_error_pct": spread_pct(self.capacity_errors),
            "capacity_steps": len(self.capacity_errors),
            "forecast_wape_pct": spread_pct(self.wapes),
            "forecast_steps": len(self.wapes),
            "forecast_steps_beyond_5_pct": rounded(100 * float((wapes > 0.05).mean())),
            "forecast_steps_beyond_25_pct": rounded(100 * float((wapes > 0.25).mean())),
            "changes": self.changes,
            "recoveries": len(self.recovery_errors),
            "recovery_error_pct": {
                f"{share:g}": rounded(100 * float(np.quantile(self.recovery_errors, share, method="higher")))
                for share in (0.05, 0.25, 0.5, 0.75, 0.95)
            },
            "recoveries_predicted_longer_pct": rounded(100 * float((np.asarray(self.recovery_errors) > 0).mean())),
        }


class MemoReader:
    """Wraps the policy and reads its memos; also an observer of the run."""

    def __init__(self, policy: DaedalusPolicy, plant: Plant) -> None:
        self._policy, self._plant = policy, plant
        self.findings = Findings()
        self._contexts: dict[str, ScaleOutContext] = {}
        self._sample: Sample | None = None
        self._backlog_rows = 0.0
        self._change: tuple[float, float] | None = None  # of the change that recovers: its time, its predicted recovery
        self._stopped = False

    @property
    def name(self) -> str:
        """The policy's registered name."""
        return self._policy.name

    def analyze(self, observation: WorkflowObservation, knowledge: Knowledge) -> Mapping[str, Analysis]:
        """Analyze, and read the memos."""
        analyses = self._policy.analyze(observation, knowledge)
        for operator, analysis in analyses.items():
            if analysis.memo is not None and analysis.reading is not None:
                memo = DaedalusMemo.model_validate_json(analysis.memo)
                self._evaluate(operator, memo, analysis.reading)
        return analyses

    def plan(self, analyses: Mapping[str, Analysis], cluster: ClusterState, knowledge: Knowledge) -> Mapping[str, Plan]:
        """Return the policy's plan."""
        return self._policy.plan(analyses, cluster, knowledge)

    def _evaluate(self, operator: str, memo: DaedalusMemo, reading: OperatorReading) -> None:
        most = self._policy.workflow.operators[operator].max_replicas
        capacities, rate = memo.capacities.up_to(max(most, reading.replicas)), reading.input_rows_per_s
        if capacities and rate is not None:
            self._contexts[operator], _ = self._policy.context(reading, reading.at_s, memo, rate, capacities)
        seen = memo.capacities.observed.get(reading.replicas)
        if seen is not None and seen.at_s == memo.at_s:
            known = memo.capacities.up_to(reading.replicas)[-1]
            self.findings.capacity_errors.append(known / self._plant.mst_rows_per_s(operator, reading.placement) - 1)
        if memo.forecaster.wape is not None:
            self.findings.wapes.append(memo.forecaster.wape)

    def on_sample(self, operator: str, sample: Sample) -> None:
        """Observe the recovery of the job from a change."""
        del operator
        before, self._sample = self._sample, sample
        if before is not None:
            rate = before.input_rows_per_s - before.processed_rows_per_s
            self._backlog_rows = max(0.0, self._backlog_rows + rate * (sample.t_s - before.t_s))
        if self._change is None or not sample.serving_replicas:
            self._stopped = self._change is not None
        elif self._stopped and self._backlog_rows < sample.input_rows_per_s:
            at_s, predicted_s = self._change
            self.findings.recovery_errors.append(predicted_s / (sample.t_s - at_s) - 1)
            self._change = None

    def on_completion(self, completion: Completion) -> None:
        """Ignore rows."""

    def on_decisions(self, decisions: tuple[Decision, ...]) -> None:
        """Count the changes, and note their predicted recovery."""
        for decision in (each for each in decisions if each.acted):
            self.findings.changes += 1
            context = self._contexts.get(decision.operator)
            if context is not None and self._sample is not None:
                predicted_s = context.recovery_s(len(decision.plan.placement))
                self._change, self._stopped = (self._sample.t_s, predicted_s), False


def run_case(experiment: Experiment, case: Case) -> Findings:
    world = world_of(experiment, case)
    rules = experiment.variant(case.variant).rules
    policy = build_policy(case.policy, world, rules)
    assert isinstance(policy, DaedalusPolicy)
    reader = MemoReader(policy, world.plant)
    simulate(world.scene, world.plant, reader, reader, seed=seed_of(case.seed, "metrics"), best=world.best)
    return reader.findings


def quantiles(values: Sequence[float], shares: Iterable[float]) -> dict[str, float]:
    return {f"{share:g}": rounded(float(np.quantile(values, share))) for share in shares} if values else {}


def spread_pct(shares: Sequence[float]) -> dict[str, object]:
    """Return the signed median, and the 50 %, 90 % and 100 % quantiles of the absolute errors, per cent."""
    off = [100 * abs(share) for share in shares]
    return {"median": rounded(100 * float(np.median(shares))), "off": quantiles(off, (0.5, 0.9, 1))}


def rounded(figure: float) -> float:
    return float(f"{figure:.3g}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--experiment", default=DAEDALUS)
    parser.add_argument("--variant", default=None, help="default: the first of the experiment")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    experiment = read_experiment(given.experiment)
    variant = given.variant or experiment.variant_names[0]
    cases = [
        Case(workload=workload, seed=seed, policy=DAEDALUS, variant=variant)
        for workload in experiment.workloads
        for seed in range(given.seeds)
    ]
    found: dict[str, Findings] = defaultdict(Findings)
    with ProcessPoolExecutor(given.jobs) as pool:
        for case, findings in zip(cases, pool.map(run_case, repeat(experiment), cases), strict=True):
            found[case.workload].add(findings)
    tables = {workload: findings.table() for workload, findings in found.items()}
    print(json.dumps({"variant": variant, "seeds": given.seeds, "loads": tables}, indent=2))


if __name__ == "__main__":
    main()
