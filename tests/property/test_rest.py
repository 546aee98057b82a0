"""The default policy comes to rest on a constant load: at most one change an hour after the first 20 minutes."""

from itertools import pairwise

import pytest

from testbed.arena.case import Case
from testbed.arena.experiments.experiment import read_experiment
from testbed.arena.runner import run_case

SETTLING_S, HOURS = 1200.0, 2
#: Spread of the batch times of the recorded runs: the least, that of the physics, and the most of an idle machine.
NOISES = {"none": 0.0, "usual": 0.015, "most": 0.05}
LEVELS = tuple(level / 100 for level in range(5, 100, 10))
APART = {"near": {"low_ms": 0, "high_ms": 5}, "apart": {"low_ms": 1, "high_ms": 300}}


def changes_after_settling(engine: str, level: float, noise: str, apart: str, seed: int) -> list[float]:
    """Return when replicas were changed after the first 20 minutes of two hours and 20 minutes, seconds."""
    changed = {
        "engine": engine,
        "peak_share": level,
        "length": f"{SETTLING_S + 3600 * HOURS:.0f}s",
        "nodes": {"generated": {"kind": "clustered", "clusters": 4, "per_seed": True, **APART[apart]}, "count": 8},
    }
    if engine == "spark":
        constants = {"batch_noise": NOISES[noise], "task_noise": NOISES[noise]}
        changed |= {"min_period": "5s", "operators.operator.constants": constants}
    experiment = read_experiment("league").variant("default").changed(changed)
    found: list[float] = []
    run_case(
        experiment,
        Case(workload="constant", seed=seed, policy="gesscale"),
        on_decisions=lambda decisions: found.extend(each.at_s for each in decisions if each.plan.change),
    )
    return [at_s for at_s in found if SETTLING_S <= at_s < SETTLING_S + 3600 * HOURS]


def check(engine: str, level: float, noise: str, apart: str, seed: int = 100) -> None:
    found = changes_after_settling(engine, level, noise, apart, seed)
    if engine == "spark":
        assert all(later - earlier > 3600 for earlier, later in pairwise(found)), found
    # Where a change stops the job, a surplus of the start goes in steps that may be less than an hour apart.
    assert len(found) <= HOURS, found


@pytest.mark.parametrize("level", LEVELS)
def test_a_constant_load_comes_to_rest(level: float) -> None:
    check("spark", level, "usual", "apart")


@pytest.mark.parametrize("level", LEVELS[1::3])
@pytest.mark.parametrize(("noise", "apart"), [("none", "near"), ("most", "apart")])
def test_with_other_noises_and_delays_too(level: float, noise: str, apart: str) -> None:
    check("spark", level, noise, apart)


@pytest.mark.parametrize("level", LEVELS[::3])
def test_where_a_change_stops_the_job_too(level: float) -> None:
    check("flink", level, "usual", "apart")
