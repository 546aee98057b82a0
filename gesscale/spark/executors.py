"""Which executors are alive, asked of the Spark driver, with a short memory."""

import threading
from collections import deque
from collections.abc import Callable, Sequence

from gesscale.spark.reconcile import LiveExecutor
from gesscale.spark.records import ExecutorSnapshot

FRESH_S = 0.2
_REMEMBERED = 64


class ExecutorWatch:
    """Asks for the live executors when somebody wants to know, and remembers the recent answers.

    Parameters
    ----------
    executors
        Asks Spark for every live executor; raises where Spark does not tell.
    clock_s
        Seconds since the epoch.
    """

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
