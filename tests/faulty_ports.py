"""What goes wrong around the loop: when, and ports of the loop that fail so."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from gesscale.errors import ClusterError
from gesscale.model.decision import MapStatus, Outcome
from gesscale.model.observation import Batch, MissingReading, WorkflowObservation
from gesscale.model.offered import OfferedPoint
from gesscale.ports import Clock, Cluster, ClusterState, Latencies, LatencySource, MetricSource
from testbed.simulator.plant import Efforts, Reports

TIMEOUT_S = 5.0
"""A request that hangs ends after this long, as the setting ``monitor.timeout`` has it."""


class Fault(StrEnum):
    """A fault that lasts for a while; a restart happens at its beginning."""

    METRICS_GONE = "metrics-gone"
    METRICS_LYING = "metrics-lying"
    METRICS_HANGING = "metrics-hanging"
    MAP_STALE = "map-stale"
    CLUSTER_UNREADABLE = "cluster-unreadable"
    ORDERS_REFUSED = "orders-refused"
    CLOCK_AHEAD = "clock-ahead"
    CLOCK_BEHIND = "clock-behind"
    RESTART = "restart"


DOUBTFUL = frozenset(
    {Fault.METRICS_GONE, Fault.METRICS_LYING, Fault.METRICS_HANGING, Fault.MAP_STALE, Fault.CLUSTER_UNREADABLE}
)
"""While one of these lasts, the loop cannot be sure of what it sees, so it must remove nothing."""


@dataclass(frozen=True, slots=True)
class FaultWindow:
    """A fault and the time in which it lasts, by the clock of the plant, seconds."""

    fault: Fault
    from_s: float
    until_s: float


class Faults:
    """Which faults are active at an instant."""

    def __init__(self, windows: Iterable[FaultWindow] = ()) -> None:
        self.windows = tuple(windows)

    def active(self, at_s: float, *faults: Fault) -> bool:
        """Return whether one of these is active at an instant."""
        return any(each.fault in faults and each.from_s <= at_s < each.until_s for each in self.windows)

    @classmethod
    def drawn(cls, seed: int, duration_s: float, *, mean_gap_s: float, min_s: float, max_s: float) -> "Faults":
        """Draw faults one after the other, all kinds in turn, so that each of them comes."""
        rng = np.random.default_rng(seed)
        windows: list[FaultWindow] = []
        kinds: list[Fault] = []
        at_s = rng.exponential(mean_gap_s)
        while at_s < duration_s:
            kinds = kinds or [tuple(Fault)[index] for index in rng.permutation(len(Fault))]
            until_s = at_s + rng.uniform(min_s, max_s)
            windows.append(FaultWindow(kinds.pop(), at_s, until_s))
            at_s = until_s + rng.exponential(mean_gap_s)
        return cls(windows)


@dataclass(frozen=True, slots=True)
class FaultyMetrics:
    """A metric source that is gone or hangs until its timeout; see `LyingReports` for one that lies.

    Where the loop has another clock, times come by that clock, as the live reader corrects those of drivers.
    """

    inner: MetricSource
    faults: Faults
    now_s: Callable[[], float]
    hang: Callable[[], None]

    def observe(self, now_s: float) -> WorkflowObservation:
        """Read every operator, or say of each that it could not be read."""
        ahead_s = now_s - self.now_s()
        hangs = self.faults.active(self.now_s(), Fault.METRICS_HANGING)
        if hangs:
            self.hang()
        seen = self.inner.observe(self.now_s())
        if ahead_s:
            seen = _by_clock(seen, ahead_s)
        if not (hangs or self.faults.active(self.now_s(), Fault.METRICS_GONE)):
            return seen
        code = "metrics-timeout" if hangs else "metrics-unreachable"
        names = (*seen.readings, *seen.missing_readings)
        return replace(
            seen, readings={}, missing_readings={name: MissingReading(operator=name, code=code) for name in names}
        )


def _by_clock(seen: WorkflowObservation, ahead_s: float) -> WorkflowObservation:
    """Return an observation with the times of a clock that is so much ahead."""

    def moved(batches: Sequence[Batch]) -> tuple[Batch, ...]:
        return tuple(replace(batch, ended_at_s=batch.ended_at_s + ahead_s) for batch in batches)

    readings = {
        name: replace(
            reading,
            at_s=reading.at_s + ahead_s,
            batches=moved(reading.batches),
            warm_batches=moved(reading.warm_batches),
            offered_points=tuple(OfferedPoint(each.at_s + ahead_s, each.rows) for each in reading.offered_points),
        )
        for name, reading in seen.readings.items()
    }
    return replace(seen, at_s=seen.at_s + ahead_s, readings=readings)


@dataclass(frozen=True, slots=True)
class FaultyLatencies:
    """A latency map that grows too old while the fault lasts."""

    inner: LatencySource
    faults: Faults
    now_s: Callable[[], float]

    def current(self, now_s: float) -> Latencies:
        """Return the map, stale where that is the fault."""
        latencies = self.inner.current(now_s)
        if not self.faults.active(self.now_s(), Fault.MAP_STALE):
            return latencies
        return replace(latencies, map_status=MapStatus(age_s=7200.0, stale="it was measured 2 h ago"))


@dataclass(frozen=True, slots=True)
class FaultyCluster:
    """A cluster that cannot be read, or refuses orders."""

    inner: Cluster
    faults: Faults
    now_s: Callable[[], float]

    def state(self) -> ClusterState:
        """Return nodes and replicas; raises ClusterError while it cannot be read."""
        if self.faults.active(self.now_s(), Fault.CLUSTER_UNREADABLE):
            message = "the cluster does not answer"
            raise ClusterError(message)
        return self.inner.state()

    def apply(self, operator: str, placement: tuple[str, ...]) -> Outcome:
        """Order a placement; raises ClusterError while orders are refused."""
        if self.faults.active(self.now_s(), Fault.CLUSTER_UNREADABLE, Fault.ORDERS_REFUSED):
            message = f"operator {operator!r}: the order is refused"
            raise ClusterError(message)
        return self.inner.apply(operator, placement)


class LyingReports:
    """Reports of drivers that tell nonsense for a while: what they tell of that time never comes right.

    Three lies take turns by the number of the batch: a time that is no number, an end in the future, and fewer rows
    than none. A lie that is plausible, such as an empty source, cannot be told from the truth.
    """

    def __init__(self, inner: Reports, faults: Faults) -> None:
        self._inner, self._faults = inner, faults

    def batches(self, operator: str) -> Sequence[Batch]:
        """Return the recent batches, those of a lie changed."""
        return [
            _lie(batch) if self._faults.active(batch.ended_at_s, Fault.METRICS_LYING) else batch
            for batch in self._inner.batches(operator)
        ]

    def efforts(self, operator: str, batches: Sequence[Batch]) -> Efforts:
        """Return what the plant returns; nothing where its newest batches were lies, as it forgets old ones."""
        known = self._inner.batches(operator)
        told = bool(known) and bool(batches) and known[-1].batch_id == batches[-1].batch_id
        return self._inner.efforts(operator, batches) if told else dict

    def last_progress_at_s(self, operator: str, by_s: float) -> float | None:
        """Return what the plant returns; nothing while its drivers lie."""
        lies = self._faults.active(by_s, Fault.METRICS_LYING)
        return None if lies else self._inner.last_progress_at_s(operator, by_s)


def _lie(batch: Batch) -> Batch:
    lies: tuple[dict[str, float | int], ...] = (
        {"seconds": math.nan},
        {"ended_at_s": batch.ended_at_s + 86_400.0},
        {"rows": -1, "backlog_rows": -1.0},
    )
    return replace(batch, **lies[batch.batch_id % len(lies)])  # type: ignore[arg-type] # fields of Batch


@dataclass(frozen=True, slots=True)
class FaultyClock:
    """A clock that goes wrong by an hour, and whose wait ends where the process is restarted."""

    inner: Clock
    faults: Faults
    began_s: float = 0.0
    off_s: float = 3600.0
    restart_after_s: float = -math.inf

    def now_s(self) -> float:
        """Return the time that the loop believes."""
        at_s = self.inner.now_s()
        return at_s + self._off_s(at_s)

    def wait_until(self, at_s: float) -> bool:
        """Wait as long as it takes by the clock as it goes now; False where the process is restarted meanwhile."""
        now_s = self.inner.now_s()
        until_s = max(now_s, at_s - self._off_s(now_s))
        restart_s = min(
            (
                each.from_s
                for each in self.faults.windows
                if each.fault is Fault.RESTART and self.restart_after_s < each.from_s <= until_s
            ),
            default=None,
        )
        if restart_s is None:
            return self.inner.wait_until(until_s)
        self.inner.wait_until(restart_s)
        return False

    def _off_s(self, at_s: float) -> float:
        ahead, behind = (self.faults.active(at_s, each) for each in (Fault.CLOCK_AHEAD, Fault.CLOCK_BEHIND))
        return self.began_s + self.off_s * (ahead - behind)
