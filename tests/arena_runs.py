"""Case runners without a simulator, which return metrics at once or misbehave; processes can import them."""

import os
import signal
from typing import Any

from gesscale.errors import InputError
from testbed.arena.case import Case, CaseResult
from testbed.arena.experiments.experiment import Experiment, experiment_of


def small_experiment(**changes: Any) -> Experiment:
    """Two policies on two workloads with three seeds."""
    settings = {
        "name": "small",
        "policies": ["thr-nlaware", "gesscale"],
        "workloads": ["steps", "spikes"],
        "seeds": 3,
        "nodes": {"topology": "edge8"},
    }
    return experiment_of({**settings, **changes}, "small")


def run_case(experiment: Experiment, case: Case, *, with_series: bool = False) -> CaseResult:
    """Cost 100 + seed, half of it for gesscale; every kind of value there is."""
    del experiment
    cost = (100.0 + case.seed) * (0.5 if case.policy == "gesscale" else 1.0)
    series = {"t_s": (0.0, 10.0), "demand_replicas": (1, None)} if with_series else {}
    metrics = {"cost": cost, "reconfigurations": case.seed, "drained": True, "latency_p95_s": None}
    return CaseResult(case=case, metrics=metrics, series=series)


def run_or_die(experiment: Experiment, case: Case, *, with_series: bool = False) -> CaseResult:
    """Seed 1 of gesscale ends its process, seed 2 is killed as by the kernel."""
    if case.policy == "gesscale" and case.seed == 1:
        os._exit(7)
    if case.policy == "gesscale" and case.seed == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return run_case(experiment, case, with_series=with_series)


def run_with_arena_fault(experiment: Experiment, case: Case, *, with_series: bool = False) -> CaseResult:
    """Seed 1 meets a fault of the simulator."""
    if case.seed == 1:
        raise ZeroDivisionError("no nodes")
    return run_case(experiment, case, with_series=with_series)


def run_wrong_input(experiment: Experiment, case: Case, *, with_series: bool = False) -> CaseResult:
    """Reject the experiment."""
    del experiment, with_series
    raise InputError("workload-unknown", workload=case.workload, nearest=[])
