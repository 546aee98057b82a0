"""Cases on this machine: one after the other, or on several processes, any of which may die."""

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

from gesscale.errors import GesscaleError, InputError
from testbed.arena.case import Case, CaseResult
from testbed.arena.experiments.experiment import Experiment

#: Environment of a worker: the cases are what runs side by side, not the sums within them.
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")

#: How the reason of a run begins that was lost by a fault of ours; it is played again when results are
#: resumed.
ARENA_FAULT = "the arena failed, not the policy: "

_SPAWN = multiprocessing.get_context("spawn")


class CaseRunner(Protocol):
    """Plays a case; `testbed.arena.runner.run_case` is one. A function of a module, so that a process can import it."""

    def __call__(self, experiment: Experiment, case: Case, *, with_series: bool = False) -> CaseResult:
        """Return what came of it."""
        ...


def attempt_case(run_case: CaseRunner, experiment: Experiment, case: Case) -> CaseResult:
    """Play a case, with its course where it is of the first seed; where the arena fails the run is lost.

    Raises
    ------
    InputError
        The experiment itself is wrong: every case would fail.
    """
    try:
        return run_case(experiment, case, with_series=case.seed == experiment.seed_list[0])
    except InputError:
        raise
    except Exception as fault:  # noqa: BLE001 - one case that cannot be simulated does not stop the others
        return CaseResult(case=case, lost=f"{ARENA_FAULT}{type(fault).__name__}: {fault}")


def run_locally(
    experiment: Experiment,
    cases: Sequence[Case],
    *,
    jobs: int,
    done: Callable[[CaseResult], None],
    run_case: CaseRunner,
) -> None:
    """Play cases on this machine.

    Raises
    ------
    InputError
        The experiment is wrong.
    GesscaleError
        A process cannot start.
    """
    if jobs == 1 or not cases:
        for case in cases:
            done(attempt_case(run_case, experiment, case))
        return
    workers = _WorkerPool(experiment, run_case)
    try:
        _share_out(workers, deque(cases), jobs, done)
    finally:
        workers.dismiss()


def _share_out(workers: "_WorkerPool", waiting: deque[Case], jobs: int, done: Callable[[CaseResult], None]) -> None:
    idle: list[_Worker] = []
    busy: dict[Connection, _Worker] = {}
    while waiting or busy:
        while waiting and len(busy) < jobs:
            worker = idle.pop() if idle else workers.hire()
            worker.begin(waiting.popleft())
            busy[worker.connection] = worker
        for ready in wait(list(busy)):
            assert isinstance(ready, Connection)  # noqa: S101 - for mypy: nothing else was waited for
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
            return  # it has died; its result says so

    def result(self) -> CaseResult | None:
        """Return what has come of its case; None where it has just started."""
        assert self.case is not None  # noqa: S101 - for mypy: it is asked of those at work only
        try:
            answer = self.connection.recv()
        except (EOFError, OSError):
            self.process.join()
            death = _death(self.process.exitcode)
            if not self.started:
                raise GesscaleError(
                    f"expected a process of the arena to start, it {death}; --jobs 1 does without"
                ) from None
            return CaseResult(case=self.case, lost=f"the process that played it {death}")
        if isinstance(answer, GesscaleError):
            raise answer
        if not isinstance(answer, CaseResult):
            self.started = True
            return None
        return answer


class _WorkerPool:
    """The processes that were started; each holds the experiment and plays case after case."""

    def __init__(self, experiment: Experiment, run_case: CaseRunner) -> None:
        self._experiment, self._run_case = experiment, run_case
        self._hired: list[_Worker] = []

    def hire(self) -> _Worker:
        resource_tracker.ensure_running()  # it would let interrupts in below
        os.environ.update(ONE_THREAD)  # a process inherits it before it imports NumPy
        with _without_interrupts():
            ours, theirs = _SPAWN.Pipe()
            process = _SPAWN.Process(target=_work, args=(theirs, self._experiment, self._run_case), daemon=True)
            process.start()
            theirs.close()  # so that its end is seen when the process dies
            worker = _Worker(process=process, connection=ours)
            self._hired.append(worker)
        return worker

    def dismiss(self) -> None:
        for worker in self._hired:
            worker.connection.close()
            worker.process.terminate()
        for worker in self._hired:
            worker.process.join()


def _work(connection: Connection, experiment: Experiment, run_case: CaseRunner) -> None:
    connection.send("started")
    while True:
        try:
            case = connection.recv()
        except EOFError:  # the parent is gone
            return
        try:
            answer: CaseResult | InputError = attempt_case(run_case, experiment, case)
        except InputError as fault:
            answer = fault
        try:
            connection.send(answer)
        except OSError:  # as above
            return


def _death(exit_code: int | None) -> str:
    if exit_code is not None and exit_code < 0:
        name = signal.Signals(-exit_code).name
        hint = "; out of memory?" if name == "SIGKILL" else ""
        return f"was killed by {name}{hint}"
    return f"ended with exit code {exit_code}"


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """Put Ctrl-C off; a process that is started here never sees it, though a terminal sends it to all."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
