"""Cases on local processes."""

import multiprocessing

import arena_runs
import pytest

from gesscale.errors import InputError
from testbed.arena.runs.case_runner import ARENA_FAILED, run_locally


def run_all(run_case, *, jobs, **changes):
    experiment, results = arena_runs.small_experiment(**changes), []
    run_locally(experiment, experiment.cases(), jobs=jobs, done=results.append, run_case=run_case)
    return experiment, results


def test_a_process_that_dies_loses_only_its_case():
    _, results = run_all(arena_runs.run_or_die, jobs=2, workloads=["steps"])
    lost = {result.case.seed: result for result in results if result.lost}
    assert {result.lost_code for result in lost.values()} == {"worker-died"}
    assert "7" in lost[1].lost
    assert "SIGKILL" in lost[2].lost
    assert sum(bool(result.lost) for result in results) == 2  # two of three seeds, of one policy of two
    assert sum(bool(result.metrics) for result in results) == 4


def test_a_failure_of_the_arena_is_not_blamed_on_the_policy():
    _, results = run_all(arena_runs.run_with_arena_fault, jobs=1)
    assert {result.lost_code for result in results} == {"", ARENA_FAILED}
    assert all("ZeroDivisionError" in result.lost for result in results if result.lost)


def test_wrong_input_ends_all_runs():
    with pytest.raises(InputError, match="steps"):
        run_all(arena_runs.run_wrong_input, jobs=2)
    assert multiprocessing.active_children() == []


def test_an_interruption_leaves_no_process():
    experiment = arena_runs.small_experiment()

    def interrupt(_):
        assert multiprocessing.active_children()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_locally(experiment, experiment.cases(), jobs=2, done=interrupt, run_case=arena_runs.run_case)
    assert multiprocessing.active_children() == []
