"""Cases on processes of this machine."""

import multiprocessing
import os

import arena_plays
import pytest

from gesscale.errors import GesscaleError, InputError
from testbed.arena.runs.running import ARENA_FAULT, run_locally


def played(play, *, jobs, **changes):
    experiment, results = arena_plays.small_experiment(**changes), []
    run_locally(experiment, experiment.cases(), jobs=jobs, done=results.append, play=play)
    return experiment, results


def test_one_job_plays_the_cases_in_their_order_in_this_process():
    experiment, results = played(arena_plays.play_environment, jobs=1)
    assert [result.case for result in results] == list(experiment.cases())
    assert {result.metrics["pid"] for result in results} == {os.getpid()}


def test_two_processes_give_what_one_gives():
    _, alone = played(arena_plays.play, jobs=1)
    _, together = played(arena_plays.play, jobs=2)
    assert len(together) == 12  # 2 policies, 2 workloads, 3 seeds
    assert sorted(together, key=lambda result: result.case) == sorted(alone, key=lambda result: result.case)


def test_a_worker_is_another_process_with_one_thread_for_sums():
    _, results = played(arena_plays.play_environment, jobs=2)
    assert {result.metrics["threads"] for result in results} == {1}
    workers = {result.metrics["pid"] for result in results}
    assert os.getpid() not in workers
    assert 1 <= len(workers) <= 2


def test_the_course_is_kept_of_the_first_seed_only():
    _, results = played(arena_plays.play, jobs=1, seeds=[7, 3])
    assert {result.case.seed for result in results if result.series} == {7}


def test_a_process_that_dies_loses_its_case_and_no_other():
    _, results = played(arena_plays.play_or_die, jobs=2, workloads=["steps"])
    lost = {(result.case.seed, result.lost) for result in results if result.lost}
    assert lost == {
        (1, "the process that played it ended with exit code 7"),
        (2, "the process that played it was killed by SIGKILL; out of memory?"),
    }
    assert sum(bool(result.lost) for result in results) == 2  # two of three seeds, of one policy of two
    assert sum(bool(result.metrics) for result in results) == 4


def test_processes_that_cannot_start_are_no_lost_runs(monkeypatch):
    monkeypatch.setenv("ARENA_PLAYS_CANNOT_BE_IMPORTED", "1")
    with pytest.raises(GesscaleError, match="to start, it ended with exit code 1"):
        played(arena_plays.play, jobs=2)
    assert multiprocessing.active_children() == []


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_fault_of_the_arena_is_not_told_as_the_policys(jobs):
    _, results = played(arena_plays.play_with_a_fault, jobs=jobs)
    assert {result.lost for result in results} == {"", f"{ARENA_FAULT}ZeroDivisionError: no nodes"}


@pytest.mark.parametrize("jobs", [1, 2])
def test_wrong_input_ends_it_all(jobs):
    with pytest.raises(InputError, match="no such load"):
        played(arena_plays.play_wrong_input, jobs=jobs)
    assert multiprocessing.active_children() == []


def test_an_interruption_leaves_no_process():
    experiment = arena_plays.small_experiment()

    def interrupt(_):
        assert multiprocessing.active_children()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_locally(experiment, experiment.cases(), jobs=2, done=interrupt, play=arena_plays.play)
    assert multiprocessing.active_children() == []
