"""Cases on processes of this machine."""

import multiprocessing

import arena_runs
import pytest

from gesscale.errors import InputError
from testbed.arena.runs.running import ARENA_FAULT, run_locally


def run_all(run_case, *, jobs, **changes):
    experiment, results = arena_runs.small_experiment(**changes), []
    run_locally(experiment, experiment.cases(), jobs=jobs, done=results.append, run_case=run_case)
    return experiment, results


def test_a_process_that_dies_loses_its_case_and_no_other():
    _, results = run_all(arena_runs.run_or_die, jobs=2, workloads=["steps"])
    lost = {(result.case.seed, result.lost) for result in results if result.lost}
    assert lost == {
        (1, "the process that played it ended with exit code 7"),
        (2, "the process that played it was killed by SIGKILL; out of memory?"),
    }
    assert sum(bool(result.lost) for result in results) == 2  # two of three seeds, of one policy of two
    assert sum(bool(result.metrics) for result in results) == 4


def test_a_fault_of_the_arena_is_not_told_as_the_policys():
    _, results = run_all(arena_runs.run_with_arena_fault, jobs=1)
    assert {result.lost for result in results} == {"", f"{ARENA_FAULT}ZeroDivisionError: no nodes"}


def test_wrong_input_ends_it_all():
    with pytest.raises(InputError, match="no such load"):
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
