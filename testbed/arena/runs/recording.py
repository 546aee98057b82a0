"""Records a simulated run like a live one, for `gesscale page` and `gesscale replay`."""

from dataclasses import asdict
from pathlib import Path

import yaml

from gesscale.errors import InputError
from gesscale.model.decision import Decision
from gesscale.model.observation import Batch
from gesscale.monitor.record_files import SETTINGS, write_recording
from gesscale.policies import policy_names
from latency_map import write_csv
from testbed.arena.case import Case, CaseResult
from testbed.arena.experiments.experiment import Experiment
from testbed.arena.names import UNRANKED
from testbed.arena.runner import run_case
from testbed.arena.worlds.scenes import world_of
from testbed.simulator.scene import Scene

_MAP = "latency.csv"


def record_run(experiment: Experiment, case: Case, folder: Path) -> CaseResult:
    """Run a case again, and record every decision and every batch.

    Raises
    ------
    InputError
        If the policy reads no metrics, or the case cannot run, for instance because a file of it is gone.
    """
    if case.policy in UNRANKED:
        raise InputError("policy-not-recordable", policy=case.policy)
    scene = world_of(experiment, case).scene
    decisions: list[Decision] = []
    batches_by_id: dict[str, dict[int, Batch]] = {name: {} for name in scene.workflow.operators}

    def record(decided: tuple[Decision, ...]) -> None:
        decisions.extend(decided)
        for decision in decided:
            if decision.analysis.reading is not None:
                batches_by_id[decision.operator].update(
                    {each.batch_id: each for each in decision.analysis.reading.batches}
                )

    result = run_case(experiment, case, on_decisions=record)
    folder.mkdir(parents=True, exist_ok=True)
    write_csv(scene.delays, folder / _MAP)
    (folder / SETTINGS).write_text(_settings(experiment.variant(case.variant), case, scene))
    batches = {
        name: sorted(by_id.values(), key=lambda batch: batch.ended_at_s) for name, by_id in batches_by_id.items()
    }
    write_recording(folder, decisions, batches)
    return result


def check_reproduced(stored: CaseResult, repeated: CaseResult) -> None:
    """Check that a repeated run has the metrics of the stored one.

    Raises
    ------
    InputError
        If they differ: the stored run was live, or is from another version.
    """
    if (stored.metrics, stored.lost) != (repeated.metrics, repeated.lost):
        raise InputError("run-not-reproduced", **asdict(stored.case))


def _settings(varied: Experiment, case: Case, scene: Scene) -> str:
    """Return settings with which a loop has the same inputs."""
    metrics = scene.metrics
    rules = {name: value for name, value in varied.document()["rules"].items() if value is not None}
    is_known = case.policy in policy_names()
    document = {
        "workflow": {"operators": {name: _operator(scene, name) for name in scene.workflow.operators}},
        "latency_map": {"file": _MAP, "unit": "ms", "kind": "rtt", "max_age": None},
        "monitor": {
            "period": f"{scene.period_s:.9g}s",
            "window": f"{metrics.window_s:.9g}s",
            "history": f"{max(metrics.history_s, metrics.window_s):.9g}s",
            "stale_after": f"{metrics.stale_after_s:.9g}s",
        },
        "analyze": {**rules, "policy": case.policy} if is_known else {},
        "execute": {"mode": "recommend"},
    }
    return yaml.safe_dump(document, sort_keys=False)


def _operator(scene: Scene, name: str) -> dict[str, object]:
    operator = scene.workflow.operators[name]
    cap_rows = operator.cap.rows_per_replica if operator.cap else 0
    return {
        "driver_node": operator.driver_node,
        "upstream": list(operator.upstream),
        "min_replicas": operator.min_replicas,
        "max_replicas": operator.max_replicas,
        "metrics_url": "http://simulated.invalid:9108",
        **({"batch_cap_rows_per_replica": cap_rows} if cap_rows else {}),
    }
