"""Connects the loop to a simulated plant: metrics, latencies and cluster."""

import math
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence, ValuesView
from dataclasses import replace
from functools import cached_property, lru_cache, partial

import numpy as np

from gesscale.errors import ClusterError
from gesscale.model.cycles import KEPT_BATCHES
from gesscale.model.decision import Outcome, OutcomeStatus, Reason
from gesscale.model.observation import Batch, MissingReading, NodeReading, OperatorReading, WorkflowObservation
from gesscale.monitor.batch_screen import BatchScreen
from gesscale.monitor.window import summarise
from gesscale.ports import ClusterState, Latencies, Node
from testbed.simulator.fog import Fog
from testbed.simulator.plant import NO_EFFORT, Effort, Efforts, Plant, Reports, Tally
from testbed.simulator.scene import CpuAccount, MetricTraits, Scene


class CpuSamples:
    """Samples of the work, waiting and lifetime of an operator's replicas."""

    def __init__(self, account: CpuAccount, reach_s: float) -> None:
        self._with_waiting = account is CpuAccount.WORK_AND_WAITING
        self._reach_s = reach_s
        self._samples: deque[tuple[float, float, float]] = deque()

    def note(self, at_s: float, tally: Tally) -> None:
        """Keep an operator's counters at an instant."""
        used_s = tally.work_s + tally.waiting_s if self._with_waiting else tally.work_s
        samples = self._samples
        samples.append((at_s, used_s, tally.replica_seconds))
        oldest_s = at_s - self._reach_s
        while len(samples) > 1 and samples[1][0] <= oldest_s:
            samples.popleft()

    def share(self, until_s: float, window_s: float) -> float | None:
        """Return the use over a window as a share of the replicas' time, 0..1; None if there were no replicas."""
        last = base = None
        for sample in reversed(self._samples):
            if last is None:
                if sample[0] <= until_s:
                    last = base = sample
                continue
            base = sample
            if sample[0] <= last[0] - window_s:
                break
        if last is None or base is None or last[2] <= base[2]:
            return None
        return min(1.0, max(0.0, (last[1] - base[1]) / (last[2] - base[2])))


class LazyNodeReadings(Mapping[str, NodeReading]):
    """Readings of each replica over a window, computed at first access: most policies never read them."""

    def __init__(self, efforts: Efforts, placement: Sequence[str], seconds: float, account: CpuAccount) -> None:
        self._efforts = efforts
        self._placement = placement
        self._seconds = seconds
        self._account = account

    @cached_property
    def _figures(self) -> Mapping[str, NodeReading]:
        done = self._efforts()
        return {node: self._figure(done.get(node, NO_EFFORT)) for node in self._placement}

    def _figure(self, effort: Effort) -> NodeReading:
        waited_s = effort.waiting_s if self._account is CpuAccount.WORK_AND_WAITING else 0.0
        cpu = min(1.0, (effort.work_s + waited_s) / self._seconds)
        held_s = effort.work_s + effort.waiting_s if effort.rows > 0 else effort.work_s
        busy = min(1.0, held_s / self._seconds)
        return NodeReading(throughput_rows_per_s=effort.rows / self._seconds, busy_share=busy, cpu_share=cpu)

    def __getitem__(self, node: str) -> NodeReading:
        return self._figures[node]

    def __iter__(self) -> Iterator[str]:
        return iter(self._placement)

    def values(self) -> ValuesView[NodeReading]:
        """Return the readings, without a look-up of each."""
        return self._figures.values()

    def __len__(self) -> int:
        return len(self._placement)

    def __repr__(self) -> str:
        return repr(self._figures)


class SimulatedMetrics:
    """A `gesscale.ports.MetricSource` of a plant, with delays and gaps."""

    def __init__(
        self, plant: Reports, operators: Sequence[str], traits: MetricTraits, rng: np.random.Generator
    ) -> None:
        self._plant = plant
        self._traits = traits
        self._measures_cpu = traits.cpu is not CpuAccount.NOT_MEASURED
        self._rng = rng
        self._screens = {name: BatchScreen() for name in operators}
        self._of_batches = lru_cache(maxsize=256)(self._node_readings)  # many windows contain a batch
        self._cpu_samples = {name: CpuSamples(traits.cpu, traits.reach_s) for name in operators}

    def note(self, operator: str, at_s: float, tally: Tally) -> None:
        """Keep an operator's counters. Its CPU use is computed from them."""
        if self._measures_cpu:
            self._cpu_samples[operator].note(at_s, tally)

    def observe(self, now_s: float) -> WorkflowObservation:
        """Read every operator over the window that ends now."""
        readings: dict[str, OperatorReading] = {}
        missing_readings: dict[str, MissingReading] = {}
        for name in self._cpu_samples:
            seen = self._read(name, now_s)
            if isinstance(seen, OperatorReading):
                readings[name] = seen
            else:
                missing_readings[name] = seen
        return WorkflowObservation(at_s=now_s, readings=readings, missing_readings=missing_readings)

    def _read(self, operator: str, now_s: float) -> OperatorReading | MissingReading:
        traits = self._traits
        if traits.gap_share and self._rng.random() < traits.gap_share:
            return MissingReading(operator=operator, code="metrics-missing")
        until_s = now_s - traits.delay_s
        return summarise(
            operator,
            self._screens[operator](
                _visible_batches(self._plant.batches(operator), now_s - traits.history_s, until_s, now_s), now_s
            ),
            now_s=now_s,
            window_s=traits.window_s,
            stale_after_s=traits.stale_after_s,
            last_progress_at_s=self._plant.last_progress_at_s(operator, until_s),
            cpu_share=self._cpu_samples[operator].share(until_s, traits.window_s),
            by_node=partial(self._by_node, operator) if self._measures_cpu else None,
        )

    def _by_node(
        self, operator: str, batches: Sequence[Batch], placement: tuple[str, ...], seconds: float
    ) -> Mapping[str, NodeReading]:
        if len(batches) == 1:
            return self._of_batches(operator, tuple(batches), placement, seconds)
        return self._node_readings(operator, batches, placement, seconds)

    def _node_readings(
        self, operator: str, batches: Sequence[Batch], placement: tuple[str, ...], seconds: float
    ) -> Mapping[str, NodeReading]:
        return LazyNodeReadings(self._plant.efforts(operator, batches), placement, seconds, self._traits.cpu)


class MeasuredLatencies:
    """A `gesscale.ports.LatencySource` that follows slow links with the delay of the scene's measurements."""

    def __init__(self, scene: Scene) -> None:
        self._fog = Fog(scene.nodes, scene.delays, slowdowns=scene.slowdowns)
        self._after_s = math.inf if scene.mapped_after_s is None else scene.mapped_after_s
        self._latencies = Latencies(map=scene.delays)
        self._until_s = self._fog.next_change_s(-math.inf) + self._after_s

    def current(self, now_s: float) -> Latencies:
        """Return the map; instants ascend."""
        if now_s >= self._until_s:
            at_s = now_s - self._after_s
            self._latencies = Latencies(map=self._fog.latency_map(at_s))
            self._until_s = self._fog.next_change_s(at_s) + self._after_s
        return self._latencies


def _visible_batches(batches: Sequence[Batch], since_s: float, until_s: float, now_s: float) -> list[Batch]:
    """Return the batches that ended between two instants, and always the newest ones, as the live reader does.

    A batch that claims to end in the future is returned unchanged: it is wrong, not late.
    """
    recent: list[Batch] = []
    for batch in reversed(batches):
        if batch.ended_at_s < since_s and len(recent) >= KEPT_BATCHES:
            break
        if batch.ended_at_s <= until_s or batch.ended_at_s > now_s:
            recent.append(batch)
    recent.reverse()
    return recent


class SimulatedCluster:
    """Forwards orders to a plant and counts them.

    Parameters
    ----------
    executors_per_node
        Most executors of a node, of all operators together; None for one of each operator.
    """

    def __init__(self, plant: Plant, *, executors_per_node: int | None = None) -> None:
        self._plant = plant
        self._executors_per_node = executors_per_node
        self._orders: Counter[str] = Counter()

    def state(self) -> ClusterState:
        """Return nodes, placements, and which nodes are full."""
        seen = self._plant.state()
        if self._executors_per_node is None:
            return seen
        held = {name: {*placement, *seen.starting.get(name, ())} for name, placement in seen.placements.items()}
        used = Counter(node for placement in held.values() for node in placement)
        room = {name: max(0, self._executors_per_node - used[name]) for name in seen.nodes}
        full = {name: node if node.problem else _full(node) for name, node in seen.nodes.items() if not room[name]}
        ineligible = {
            operator: {name: node for name, node in full.items() if name not in placement}
            for operator, placement in held.items()
        }
        return replace(seen, room=room, ineligible=ineligible)

    def apply(self, operator: str, placement: tuple[str, ...]) -> Outcome:
        """Order a placement; see `testbed.simulator.plant.Plant.order`.

        Raises
        ------
        ClusterError
            As the plant, or if a node has no room for a replica to add.
        """
        no_room = sorted(self.state().ineligible.get(operator, {}).keys() & set(placement))
        if no_room:
            raise ClusterError("simulated-node-full", operator=operator, nodes=no_room)
        outcome = self._plant.order(operator, placement)
        self._orders[operator] += outcome.status is not OutcomeStatus.FAILED
        return outcome

    @property
    def has_orders(self) -> bool:
        """Whether there are orders that `take_orders` has not returned yet."""
        return bool(self._orders)

    def take_orders(self, operator: str) -> int:
        """Return the number of changes of an operator ordered since the last call, and reset it."""
        return self._orders.pop(operator, 0)


def _full(node: Node) -> Node:
    return replace(node, problem="it already has its maximum number of executors", reason=Reason.NO_ROOM)
