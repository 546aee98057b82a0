"""Runs cases on this machine, one after the other or on several processes, any of which may die."""

import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Protocol

from gesscale.common.errors import Problem
from gesscale.errors import GesscaleError, InputError
from gesscale.formatting import describe_exception
from testbed.arena.case import Case, CaseResult
from testbed.arena.experiments.experiment import Experiment

#: Environment of a worker: cases run in parallel, not the array operations within them.
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")

#: Code of a run that was lost by a failure of the arena; it is repeated when results are resumed.
ARENA_FAILED = "arena-failed"

_SPAWN = multiprocessing.get_context("spawn")


class CaseRunner(Protocol):
    """Runs a case, as `testbed.arena.runner.run_case` does; a function of a module, so that processes can import it."""

    def __call__(self, experiment: Experiment, case: Case, *, with_series: bool = False) -> CaseResult:
        """Return its result."""
        ...


def attempt_case(run_case: CaseRunner, experiment: Experiment, case: Case) -> CaseResult:
    """Run a case, with its trajectory if it has the first seed; a failure of the arena loses only this run.

    Raises
    ------
    InputError
        If the experiment itself is wrong, so every case would fail.
    """
    try:
        return run_case(experiment, case, with_series=case.seed == experiment.seed_list[0])
    except InputError:
        raise
    except Exception as fault:  # noqa: BLE001 - one case that cannot be simulated does not stop the others
        return CaseResult.of_lost(case, Problem("arena-failed", {"error": describe_exception(fault)}))


def run_locally(
    experiment: Experiment,
    cases: Sequence[Case],
    *,
    jobs: int,
    done: Callable[[CaseResult], None],
    run_case: CaseRunner,
) -> None:
    """Run cases on this machine.

    Raises
    ------
    InputError
        If the experiment is wrong.
    GesscaleError
        If a process cannot start.
    """
    if jobs == 1 or not cases:
        for case in cases:
            done(attempt_case(run_case, experiment, case))
        return
    workers = _WorkerPool(experiment, run_case)
    try:
        _distribute(workers, deque(cases), jobs, done)
    finally:
        workers.stop()


def _distribute(workers: "_WorkerPool", pending: deque[Case], jobs: int, done: Callable[[CaseResult], None]) -> None:
    idle: list[_Worker] = []
    busy: dict[Connection, _Worker] = {}
    while pending or busy:
        while pending and len(busy) < jobs:
            worker = idle.pop() if idle else workers.start()
            worker.begin(pending.popleft())
            busy[worker.connection] = worker
        for ready in wait(list(busy)):
            assert isinstance(ready, Connection)  # noqa: S101 - for mypy: the only kind of object waited for
            worker = busy[ready]
            result = worker.result()
            if result is None:
                continue
            del busy[ready]
            if worker.process.is_alive():
                idle.append(worker)
            done(result)


@dataclass(slots=True, kw_only=True)
class _Worker:
    process: SpawnProcess
    connection: Connection
    case: Case | None = None
    started: bool = False

    def begin(self, case: Case) -> None:
        self.case = case
        try:
            self.connection.send(case)
        except OSError:
            return  # it has died, as its result will report

    def result(self) -> CaseResult | None:
        """Return the result of its case; None if it has just started."""
        assert self.case is not None  # noqa: S101 - for mypy: only called while it has a case
        try:
            message = self.connection.recv()
        except (EOFError, OSError):
            self.process.join()
            exit_status = _exit_status(self.process.exitcode)
            if not self.started:
                raise GesscaleError("worker-not-started", exit_status=exit_status) from None
            return CaseResult.of_lost(self.case, Problem("worker-died", {"exit_status": exit_status}))
        if isinstance(message, GesscaleError):
            raise message
        if not isinstance(message, CaseResult):
            self.started = True
            return None
        return message


class _WorkerPool:
    """Worker processes, each of which has the experiment and runs one case after the other."""

    def __init__(self, experiment: Experiment, run_case: CaseRunner) -> None:
        self._experiment, self._run_case = experiment, run_case
        self._workers: list[_Worker] = []

    def start(self) -> _Worker:
        resource_tracker.ensure_running()  # started below, it would unblock interrupts
        os.environ.update(ONE_THREAD)  # inherited by a process before it imports NumPy
        with _without_interrupts():
            ours, theirs = _SPAWN.Pipe()
            process = _SPAWN.Process(target=_work, args=(theirs, self._experiment, self._run_case), daemon=True)
            process.start()
            theirs.close()  # so that the pipe closes when the process dies
            worker = _Worker(process=process, connection=ours)
            self._workers.append(worker)
        return worker

    def stop(self) -> None:
        for worker in self._workers:
            worker.connection.close()
            worker.process.terminate()
        for worker in self._workers:
            worker.process.join()


def _work(connection: Connection, experiment: Experiment, run_case: CaseRunner) -> None:
    connection.send("started")
    while True:
        try:
            case = connection.recv()
        except EOFError:  # the parent is gone
            return
        try:
            message: CaseResult | InputError = attempt_case(run_case, experiment, case)
        except InputError as fault:
            message = fault
        try:
            connection.send(message)
        except OSError:  # as above
            return


def _exit_status(exit_code: int | None) -> str:
    """Return the signal that ended a process, or its exit code."""
    return signal.Signals(-exit_code).name if exit_code is not None and exit_code < 0 else f"{exit_code}"


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """Block Ctrl-C, also in processes that are started here: a terminal sends it to the whole group."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
