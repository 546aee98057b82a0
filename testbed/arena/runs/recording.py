"""The course of a run as a record, like that of a live run: `gesscale page` shows it, `gesscale replay` asks others."""

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
    """Play a case again, and keep every decision and every batch of it.

    Raises
    ------
    InputError
        The policy knows the load, or the case cannot be played: a file that it names is not there any more, say.
    """
    if case.policy in UNRANKED:
        raise InputError(f"policy {case.policy} knows the load and looks at no metric: there is no course to show")
    scene = world_of(experiment, case).scene
    decided: list[Decision] = []
    seen: dict[str, dict[int, Batch]] = {name: {} for name in scene.workflow.operators}

    def keep(decisions: tuple[Decision, ...]) -> None:
        decided.extend(decisions)
        for decision in decisions:
            if decision.analysis.reading is not None:
                seen[decision.operator].update({each.batch_id: each for each in decision.analysis.reading.batches})

    result = run_case(experiment, case, decided=keep)
    folder.mkdir(parents=True, exist_ok=True)
    write_csv(scene.delays, folder / _MAP)
    (folder / SETTINGS).write_text(_settings(experiment.variant(case.variant), case, scene))
    batches = {name: sorted(by_id.values(), key=lambda batch: batch.ended_at_s) for name, by_id in seen.items()}
    write_recording(folder, decided, batches)
    return result


def check_same(kept: CaseResult, played: CaseResult) -> None:
    """Check that a run that was played again is the one that was kept.

    Raises
    ------
    InputError
        Its figures differ: the kept one ran live, or was played by another version.
    """
    if (kept.metrics, kept.lost) != (played.metrics, played.lost):
        raise InputError(
            "played again it has other figures than those that were kept: that run was live, whose own folder holds "
            "its record, or another version of gesscale played it"
        )


def _settings(varied: Experiment, case: Case, scene: Scene) -> str:
    """Return the settings of a loop that sees what this one saw."""
    metrics = scene.metrics
    rules = {name: value for name, value in varied.document()["rules"].items() if value is not None}
    is_known = case.policy in policy_names()
    document = {
        "workflow": {"operators": {name: _operator(scene, name) for name in scene.workflow.operators}},
        "latency_map": {"file": _MAP, "unit": "ms", "kind": "rtt"},
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
