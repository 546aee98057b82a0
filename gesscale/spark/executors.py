"""Snapshots of the live executors, and their work in a batch from Spark's job records. Without Spark."""

import re
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from gesscale.batch_record import HostWork
from gesscale.spark.reconcile_actions import LiveExecutor
from gesscale.spark.records import ExecutorSnapshot

MAX_AGE_S = 0.2
_MAX_REMEMBERED = 64
_RETRY_PAUSES_S = (0.0, 0.05, 0.2)
_BATCH_DESCRIPTION = re.compile(r"runId = (?P<run>\S+)\s+batch = (?P<batch>\d+)\s*$")


class ExecutorWatch:
    """Reads the live executors on demand, and remembers recent snapshots."""

    def __init__(self, executors: Callable[[], Sequence[LiveExecutor]], clock_s: Callable[[], float]) -> None:
        self._executors = executors
        self._clock_s = clock_s
        self._snapshots: deque[ExecutorSnapshot] = deque(maxlen=_MAX_REMEMBERED)
        self._first_task_at_s: dict[str, float] = {}
        self._leaving: frozenset[str] = frozenset()
        self._lock = threading.Lock()

    def now(self, *, max_age_s: float = MAX_AGE_S) -> ExecutorSnapshot:
        """Return a snapshot of the live executors of at most this age."""
        with self._lock:
            if self._snapshots and 0 <= self._clock_s() - self._snapshots[-1].at_s < max_age_s:
                return self._snapshots[-1]
            members = tuple(self._executors())
            now_s = self._clock_s()
            self._record_first_tasks(members, now_s)
            staying = [each for each in members if each.is_warm and each.id not in self._leaving]
            executors = ExecutorSnapshot(hosts=hosts_of(staying), at_s=now_s, members=members)
            self._snapshots.append(executors)
            return executors

    def snapshot_at(self, at_s: float) -> ExecutorSnapshot | None:
        """Return the last snapshot up to an instant, or else the oldest one; None if there is none."""
        with self._lock:
            earlier = [executors for executors in self._snapshots if executors.at_s <= at_s]
            return earlier[-1] if earlier else next(iter(self._snapshots), None)

    def first_task_at_s(self, executor: str) -> float | None:
        """Return when an executor was first seen with a task; None if it has had none."""
        return self._first_task_at_s.get(executor)

    def mark_leaving(self, executors: frozenset[str]) -> None:
        """Set the executors that are being removed; they get no further tasks and no longer count as replicas."""
        with self._lock:
            self._leaving = executors

    def _record_first_tasks(self, members: Sequence[LiveExecutor], now_s: float) -> None:
        self._first_task_at_s = {
            each.id: self._first_task_at_s.get(each.id, now_s) for each in members if each.has_worked
        }


def hosts_of(executors: Sequence[LiveExecutor]) -> tuple[str, ...]:
    """Return the sorted node names of executors, or their addresses if a node is unknown.

    Examples
    --------
    >>> hosts_of([LiveExecutor(id="1", host="10.0.0.2"), LiveExecutor(id="2", host="10.1.0.7", node="edge1")])
    ('10.0.0.2', 'edge1')
    """
    return tuple(sorted(each.node or each.host for each in executors))


@dataclass(frozen=True, slots=True)
class TaskTotals:
    """Total work of the tasks of an executor."""

    #: Records read.
    records: int
    #: Total task time.
    seconds: float
    #: Tasks with a state partition.
    with_state: int = 0
    #: Finished tasks.
    tasks: int = 0
    #: CPU time; 0 if the JVM does not measure it.
    cpu_s: float = 0.0

    def __add__(self, other: "TaskTotals") -> "TaskTotals":
        """Return the work of both."""
        return TaskTotals(
            records=self.records + other.records,
            seconds=self.seconds + other.seconds,
            with_state=self.with_state + other.with_state,
            tasks=self.tasks + other.tasks,
            cpu_s=self.cpu_s + other.cpu_s,
        )


NO_TASKS = TaskTotals(0, 0.0)


class BatchWork(NamedTuple):
    """Work of a batch."""

    #: Total work of the tasks of each executor, over all stages.
    by_executor: Mapping[str, TaskTotals]
    #: Tasks of the stage with the most.
    tasks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkJob:
    """A Spark job."""

    #: Spark's description; for a job of a batch it names the run and the batch.
    description: str
    #: Whether it is running.
    is_running: bool
    #: Ids of its stages.
    stages: tuple[int, ...]


class JobStore(Protocol):
    """Access to Spark's job records."""

    def job_count(self) -> int:
        """Return the number of jobs so far; job ids start at 0."""
        ...

    def job(self, number: int) -> SparkJob | None:
        """Return a job; None if it is not recorded yet, or no longer."""
        ...

    def task_totals(self, stage: int) -> Mapping[str, TaskTotals]:
        """Return the work of the tasks of a stage by executor; only executors with a task."""
        ...


class JobWatch:
    """Sums the work of finished jobs by batch.

    Parameters
    ----------
    pause
        Waits for a number of seconds.
    """

    def __init__(self, store: JobStore, pause: Callable[[float], None] = time.sleep) -> None:
        self._store = store
        self._pause = pause
        self._next = 0
        self._open: list[int] = []
        self._work: dict[tuple[str, int], BatchWork] = {}

    def work_of_batch(self, run_id: str, batch_id: int) -> BatchWork | None:
        """Return the work of a finished batch, once; None if it is not complete."""
        key = run_id, batch_id
        for pause_s in _RETRY_PAUSES_S:
            if pause_s:
                self._pause(pause_s)
            is_complete = self._add_finished_jobs(key)
            if is_complete and key in self._work:
                return self._work.pop(key)
        return None

    def _add_finished_jobs(self, key: tuple[str, int]) -> bool:
        """Add newly finished jobs; return whether all jobs of a batch are finished."""
        job_count = self._store.job_count()
        fresh = range(max(self._next, job_count - _MAX_REMEMBERED), job_count)
        self._next = job_count
        still_open, is_complete = [], True
        for number in (*self._open, *fresh):
            job = self._store.job(number)
            batch = None if job is None else _batch_of(job)
            if job is not None and not job.is_running:
                if batch is not None:
                    self._add(batch, job)
            elif number >= job_count - _MAX_REMEMBERED:
                still_open.append(number)
                is_complete = is_complete and job is not None and batch != key
        self._open = still_open
        return is_complete

    def _add(self, batch: tuple[str, int], job: SparkJob) -> None:
        known = self._work.get(batch, BatchWork({}, 0))
        sums, most = dict(known.by_executor), known.tasks
        for stage in job.stages:
            done = self._store.task_totals(stage)
            most = max(most, sum(each.tasks for each in done.values()))
            for executor, each in done.items():
                sums[executor] = sums.get(executor, NO_TASKS) + each
        self._work[batch] = BatchWork(sums, most)
        while len(self._work) > _MAX_REMEMBERED:
            del self._work[next(iter(self._work))]


def work_by_host(
    done: Mapping[str, TaskTotals],
    executors: Collection[LiveExecutor],
    rows: int,
    python_cpu_s_per_row: float | None = None,
) -> Mapping[str, HostWork] | None:
    """Return the share of each replica in the work of a batch; None if it is unknown."""
    records = sum(tasks.records for tasks in done.values())
    if not done or not executors or (rows and not records):
        return None
    has_state = any(tasks.with_state for tasks in done.values())
    has_cpu = any(tasks.cpu_s for tasks in done.values())
    members: dict[str, list[LiveExecutor]] = {}
    for each in {each.id: each for each in executors}.values():
        members.setdefault(each.node or each.host, []).append(each)
    found = {}
    for host, listed in members.items():
        work, slots = (
            sum((done.get(each.id, NO_TASKS) for each in listed), NO_TASKS),
            sum(each.slots for each in listed),
        )
        own_rows = rows * work.records / max(1, records)
        cpu_s = work.cpu_s + (python_cpu_s_per_row or 0.0) * own_rows
        found[host] = HostWork(
            rows=round(own_rows, 3),
            busy_s=round(work.seconds / slots, 3),
            cpu_s=round(cpu_s / slots, 4) if has_cpu else None,
            state_partitions=work.with_state if has_state else None,
        )
    return found


def _batch_of(job: SparkJob) -> tuple[str, int] | None:
    match = _BATCH_DESCRIPTION.search(job.description)
    return None if match is None else (match["run"], int(match["batch"]))
