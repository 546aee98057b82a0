"""Times the phases of a loop from outside: each port is wrapped, the loop itself is as it was."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

from gesscale.decision import Analysis, Decision, Outcome, Plan
from gesscale.loop import ControlLoop
from gesscale.observation import WorkflowObservation
from gesscale.ports import (
    Cluster,
    ClusterState,
    Knowledge,
    KnowledgeStore,
    Latencies,
    LatencySource,
    MetricSource,
    Policy,
    Reconfiguration,
)


@dataclass(frozen=True, slots=True)
class Stopwatch:
    """Measures phases.

    Attributes
    ----------
    clock
        Seconds of a clock that never jumps.
    record
        Told a phase, one of `gesscale.kubernetes.metrics.PHASES`, and its seconds.
    """

    clock: Callable[[], float]
    record: Callable[[str, float], None]

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Measure what runs inside, whether it succeeds or not."""
        began_s = self.clock()
        try:
            yield
        finally:
            self.record(name, self.clock() - began_s)


def timed(loop: ControlLoop, stopwatch: Stopwatch) -> ControlLoop:
    """Return the same loop with each phase measured.

    Parameters
    ----------
    loop
        Ready to step.
    stopwatch
        Told of every call of a port.
    """
    return replace(
        loop,
        metrics=_TimedMetrics(loop.metrics, stopwatch),
        latencies=_TimedLatencies(loop.latencies, stopwatch),
        policy=_TimedPolicy(loop.policy, stopwatch),
        cluster=_TimedCluster(loop.cluster, stopwatch),
        knowledge=_TimedKnowledge(loop.knowledge, stopwatch),
    )


@dataclass(frozen=True, slots=True)
class _TimedMetrics:
    inner: MetricSource
    stopwatch: Stopwatch

    def observe(self, now_s: float) -> WorkflowObservation:
        with self.stopwatch.phase("monitor"):
            return self.inner.observe(now_s)


@dataclass(frozen=True, slots=True)
class _TimedLatencies:
    inner: LatencySource
    stopwatch: Stopwatch

    def current(self, now_s: float) -> Latencies:
        with self.stopwatch.phase("monitor"):
            return self.inner.current(now_s)


@dataclass(frozen=True, slots=True)
class _TimedPolicy:
    inner: Policy
    stopwatch: Stopwatch

    @property
    def name(self) -> str:
        return self.inner.name

    def analyze(self, observation: WorkflowObservation, knowledge: Knowledge) -> Mapping[str, Analysis]:
        with self.stopwatch.phase("analyze"):
            return self.inner.analyze(observation, knowledge)

    def plan(
        self, analyses: Mapping[str, Analysis], cluster: ClusterState, knowledge: Knowledge
    ) -> Mapping[str, Plan]:
        with self.stopwatch.phase("plan"):
            return self.inner.plan(analyses, cluster, knowledge)


@dataclass(frozen=True, slots=True)
class _TimedCluster:
    inner: Cluster
    stopwatch: Stopwatch

    def state(self) -> ClusterState:
        with self.stopwatch.phase("monitor"):
            return self.inner.state()

    def apply(self, operator: str, placement: tuple[str, ...]) -> Outcome:
        with self.stopwatch.phase("execute"):
            return self.inner.apply(operator, placement)


@dataclass(frozen=True, slots=True)
class _TimedKnowledge:
    inner: KnowledgeStore
    stopwatch: Stopwatch

    def recall(self, now_s: float) -> Knowledge:
        with self.stopwatch.phase("knowledge"):
            return self.inner.recall(now_s)

    def remember(self, decision: Decision) -> None:
        with self.stopwatch.phase("knowledge"):
            self.inner.remember(decision)

    def settle(self, reconfiguration: Reconfiguration) -> None:
        with self.stopwatch.phase("knowledge"):
            self.inner.settle(reconfiguration)

    def adopt(self, known: Knowledge) -> None:
        self.inner.adopt(known)

    def close(self) -> None:
        self.inner.close()
