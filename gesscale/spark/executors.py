"""Which executors are alive, and what they did in a batch by Spark's account of its jobs. No Spark here."""

import re
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from gesscale.batch_record import HostWork
from gesscale.spark.reconcile import LiveExecutor
from gesscale.spark.records import ExecutorSnapshot

FRESH_S = 0.2
_REMEMBERED = 64
_SETTLES_IN_S = (0.0, 0.05, 0.2)
_OF_A_BATCH = re.compile(r"runId = (?P<run>\S+)\s+batch = (?P<batch>\d+)\s*$")


class ExecutorWatch:
    """Asks for the live executors when somebody wants to know, and remembers the recent answers."""

    def __init__(self, executors: Callable[[], Sequence[LiveExecutor]], clock_s: Callable[[], float]) -> None:
        self._executors = executors
        self._clock_s = clock_s
        self._seen: deque[ExecutorSnapshot] = deque(maxlen=_REMEMBERED)
        self._first_task_at_s: dict[str, float] = {}
        self._leaving: frozenset[str] = frozenset()
        self._lock = threading.Lock()

    def now(self, *, fresh_s: float = FRESH_S) -> ExecutorSnapshot:
        """Return the live executors, asked less than so many seconds ago."""
        with self._lock:
            if self._seen and 0 <= self._clock_s() - self._seen[-1].at_s < fresh_s:
                return self._seen[-1]
            members = tuple(self._executors())
            now_s = self._clock_s()
            self._note_first_tasks(members, now_s)
            staying = [each for each in members if each.is_warm and each.id not in self._leaving]
            executors = ExecutorSnapshot(hosts=hosts_of(staying), at_s=now_s, members=members)
            self._seen.append(executors)
            return executors

    def seen_by(self, at_s: float) -> ExecutorSnapshot | None:
        """Return what was last seen up to an instant; the oldest memory where all are later; None if none."""
        with self._lock:
            earlier = [executors for executors in self._seen if executors.at_s <= at_s]
            return earlier[-1] if earlier else next(iter(self._seen), None)

    def first_task_at_s(self, executor: str) -> float | None:
        """Return when an executor was first seen to have been given a task; None where it was not yet."""
        return self._first_task_at_s.get(executor)

    def expect_to_leave(self, executors: frozenset[str]) -> None:
        """Note the executors that must go: they get no further tasks and are no replicas any more."""
        with self._lock:
            self._leaving = executors

    def _note_first_tasks(self, members: Sequence[LiveExecutor], now_s: float) -> None:
        self._first_task_at_s = {
            each.id: self._first_task_at_s.get(each.id, now_s) for each in members if each.has_worked
        }


def hosts_of(executors: Sequence[LiveExecutor]) -> tuple[str, ...]:
    """Return where executors are, sorted: the names of their nodes, or their addresses where they do not tell.

    Examples
    --------
    >>> hosts_of([LiveExecutor(id="1", host="10.0.0.2"), LiveExecutor(id="2", host="10.1.0.7", node="edge1")])
    ('10.0.0.2', 'edge1')
    """
    return tuple(sorted(each.node or each.host for each in executors))


class TasksDone(NamedTuple):
    """What the tasks of an executor did."""

    #: How many they read.
    records: int
    #: The time that they took.
    seconds: float
    #: How many of them had a partition of state.
    with_state: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkJob:
    """A job of Spark."""

    #: What Spark says of it: for a job of a batch, whose and which.
    description: str
    #: Whether it has not ended.
    is_running: bool
    #: The numbers of its stages.
    stages: tuple[int, ...]


class JobStore(Protocol):
    """Where Spark keeps account of its jobs."""

    def begun(self) -> int:
        """Return how many jobs there have been so far; they are numbered from 0."""
        ...

    def job(self, number: int) -> SparkJob | None:
        """Return a job; None where it is not accounted for yet, or any more."""
        ...

    def tasks_done(self, stage: int) -> Mapping[str, TasksDone]:
        """Return what the tasks of a stage did, by executor; executors without a task are missing."""
        ...


class JobWatch:
    """Adds up by batch what the jobs that ended did.

    Parameters
    ----------
    pause
        Lets some seconds pass.
    """

    def __init__(self, store: JobStore, pause: Callable[[float], None] = time.sleep) -> None:
        self._store = store
        self._pause = pause
        self._next = 0
        self._open: list[int] = []
        self._done: dict[tuple[str, int], dict[str, TasksDone]] = {}

    def done_in(self, run_id: str, batch_id: int) -> Mapping[str, TasksDone] | None:
        """Return what the tasks of a batch that ended did, once."""
        wanted = run_id, batch_id
        for pause_s in _SETTLES_IN_S:
            if pause_s:
                self._pause(pause_s)
            is_whole = self._take_stock(wanted)
            if is_whole and wanted in self._done:
                return self._done.pop(wanted)
        return None

    def _take_stock(self, wanted: tuple[str, int]) -> bool:
        """Look at the jobs that had not ended when last looked at; return whether all of a batch's have."""
        begun = self._store.begun()
        fresh = range(max(self._next, begun - _REMEMBERED), begun)
        self._next = begun
        still_open, is_whole = [], True
        for number in (*self._open, *fresh):
            job = self._store.job(number)
            batch = None if job is None else _batch_of(job)
            if job is not None and not job.is_running:
                if batch is not None:
                    self._add(batch, job)
            elif number >= begun - _REMEMBERED:
                still_open.append(number)
                is_whole = is_whole and job is not None and batch != wanted
        self._open = still_open
        return is_whole

    def _add(self, batch: tuple[str, int], job: SparkJob) -> None:
        sums = self._done.setdefault(batch, {})
        for stage in job.stages:
            for executor, tasks in self._store.tasks_done(stage).items():
                also = sums.get(executor, TasksDone(0, 0.0))
                sums[executor] = TasksDone(
                    also.records + tasks.records, also.seconds + tasks.seconds, also.with_state + tasks.with_state
                )
        while len(self._done) > _REMEMBERED:
            del self._done[next(iter(self._done))]


def work_by_host(
    done: Mapping[str, TasksDone], executors: Collection[LiveExecutor], rows: int
) -> Mapping[str, HostWork] | None:
    """Return how the replicas shared the work of a batch."""
    records = sum(tasks.records for tasks in done.values())
    if not done or not executors or (rows and not records):
        return None
    has_state = any(tasks.with_state for tasks in done.values())
    members: dict[str, list[LiveExecutor]] = {}
    for each in {each.id: each for each in executors}.values():
        members.setdefault(each.node or each.host, []).append(each)
    return {
        host: HostWork(
            rows=round(rows * sum(_of(done, here).records for here in listed) / max(1, records), 3),
            busy_s=round(sum(_of(done, here).seconds for here in listed) / sum(here.slots for here in listed), 3),
            state_partitions=sum(_of(done, here).with_state for here in listed) if has_state else None,
        )
        for host, listed in members.items()
    }


def _of(done: Mapping[str, TasksDone], executor: LiveExecutor) -> TasksDone:
    return done.get(executor.id, TasksDone(0, 0.0))


def _batch_of(job: SparkJob) -> tuple[str, int] | None:
    match = _OF_A_BATCH.search(job.description)
    return None if match is None else (match["run"], int(match["batch"]))
