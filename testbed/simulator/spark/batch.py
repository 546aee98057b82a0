"""Computes the timeline of a micro-batch: warm, cold, and with the loss of a replica."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from heapq import heapreplace
from typing import TypeVar

import numpy as np

from testbed.pipeline.schedule import split_by_speed
from testbed.simulator.fog import Fog
from testbed.simulator.spark.constants import SparkPhysics

_BLOCK = 4096


def factors(rng: np.random.Generator, spread: float) -> Iterator[float]:
    """Yield log-normal factors of mean 1, drawn in blocks; ``spread`` is the standard deviation of the logarithm."""
    while True:
        yield from np.exp(spread * (rng.standard_normal(_BLOCK) - spread / 2)).tolist()


_T = TypeVar("_T")


@dataclass(slots=True, kw_only=True)
class ExecutorSet:
    """Slots that process a batch; those of a node are consecutive."""

    #: Their nodes.
    nodes: tuple[str, ...]
    #: Slots of each node.
    slots: tuple[int, ...]
    #: Position of the node of each slot.
    members: tuple[int, ...]
    #: Time of each slot for a second of work of a slot of weight 1.
    paces: tuple[float, ...]
    #: Round trip of each slot to the driver, seconds.
    rtts_s: tuple[float, ...]
    #: Longest of them, seconds.
    farthest_s: float
    #: Longest round trip between two of the nodes, seconds.
    apart_s: float

    @classmethod
    def of(
        cls, nodes: Sequence[str], driver_node: str, fog: Fog, at_s: float | None = None, *, slots_each: int = 1
    ) -> "ExecutorSet":
        """Build it from some nodes at an instant; None for the delays of the latency map."""

        def rtt_s(one: str, other: str) -> float:
            rtt_ms = fog.base_rtt_ms(one, other) if at_s is None else fog.rtt_ms(one, other, at_s)
            return rtt_ms / 1000

        of_node = [fog.nodes[node] for node in nodes]
        slots = tuple(node.slots or slots_each for node in of_node)
        members = tuple(index for index, count in enumerate(slots) for _ in range(count))
        paces = [(node.slots or 1) / node.weight for node in of_node]
        rtts_s = tuple(rtt_s(driver_node, node) for node in nodes)
        return cls(
            nodes=tuple(nodes),
            slots=slots,
            members=members,
            paces=tuple(paces[member] for member in members),
            rtts_s=tuple(rtts_s[member] for member in members),
            farthest_s=max(rtts_s, default=0.0),
            apart_s=max((rtt_s(one, other) for one in nodes for other in nodes), default=0.0),
        )


@dataclass(slots=True)
class BatchTimeline:
    """Timeline of a batch, in seconds since its start."""

    #: Duration of the batch.
    seconds: float
    #: When its tasks begin.
    tasks_from_s: float
    #: When the last task of the first stage ends.
    tasks_until_s: float
    #: When each slot ends its last task of the first stage.
    ends_s: list[float]
    #: Number of tasks of that stage on each slot.
    tasks: list[int]
    #: Time in which slots compute, and wait for the network, replica-seconds (work_s, waiting_s).
    work_s: float
    waiting_s: float
    #: Slot with the largest partition.
    first_slot: int = 0
    #: Stage after the shuffle; None without one.
    state: "BatchStage | None" = None
    #: Idle time of each slot between tasks; empty if there is none.
    idle_s: Sequence[float] = ()


@dataclass(slots=True)
class BatchStage:
    """Tasks of a stage on slots."""

    #: When they begin, seconds since the start of the batch.
    from_s: float
    #: End of the last task, and number of tasks, of each slot (ends_s, tasks).
    ends_s: list[float]
    tasks: list[int]
    #: Time in which slots compute, and wait for the network between and within their tasks (work_s, waiting_s).
    work_s: float
    waiting_s: float = 0.0


def run_batch(
    physics: SparkPhysics,
    executor_set: ExecutorSet,
    rows: float,
    *,
    cold_s: Sequence[float] = (),
    batch_factor: float = 1.0,
    task_factors: Iterator[float] | None = None,
    first_slot: int = 0,
) -> BatchTimeline:
    """Return the timeline of a batch."""
    paces, slots = executor_set.paces, len(executor_set.paces)
    driver_waiting_s = physics.driver_round_trips * executor_set.farthest_s
    begun_s = (physics.fixed_s + rows * physics.shared_ms_per_row / 1000) * batch_factor + driver_waiting_s
    warming_s = (
        [cold_s[member] * pace for member, pace in zip(executor_set.members, executor_set.paces, strict=True)]
        if cold_s
        else None
    )
    loads_s = _loads_s(physics, rows, paces, batch_factor)
    if len(loads_s) <= slots:
        first = _one_each(begun_s, loads_s, paces, task_factors, first_slot, warming_s)
    else:
        first = _in_waves(
            begun_s,
            loads_s,
            paces,
            task_factors,
            rtts_s=executor_set.rtts_s,
            between=physics.wave_round_trips,
            first_slot=first_slot,
            warming_s=warming_s,
        )
    until_s = done_s = max(first.ends_s)
    work_s, waiting_s = first.work_s, first.waiting_s + slots * driver_waiting_s
    second = None
    if physics.state_partitions:
        exchange_s = physics.exchange_round_trips * executor_set.apart_s
        second = _in_waves(
            until_s + exchange_s,
            [physics.state_task_s * batch_factor] * physics.state_partitions,
            paces,
            task_factors,
            rtts_s=executor_set.rtts_s,
            within=physics.state_round_trips,
            first_slot=first_slot,
        )
        work_s += second.work_s
        waiting_s += second.waiting_s + slots * exchange_s
        done_s = max(second.ends_s)
    if physics.sink_rows_per_s:
        done_s = max(done_s, begun_s + rows / physics.sink_rows_per_s)
    lanes = slots / max(1, len(executor_set.nodes))  # the mean: slots are busy for about the same time
    return BatchTimeline(  # positional, for speed
        done_s, begun_s, until_s, first.ends_s, first.tasks, work_s / lanes, waiting_s / lanes, first_slot, second
    )


def mean_batch_s(physics: SparkPhysics, executor_set: ExecutorSet, rows: float) -> float:
    """Return the duration of a warm batch without noise, as the mean over all first slots."""
    slots = len(executor_set.paces)
    if not first_slot_matters(physics, slots):
        return run_batch(physics, executor_set, rows).seconds
    return math.fsum(run_batch(physics, executor_set, rows, first_slot=slot).seconds for slot in range(slots)) / slots


def first_slot_matters(physics: SparkPhysics, slots: int) -> bool:
    """Return whether the first slot matters: some slots get no task, or one gets a larger one."""
    tasks = physics.partitions or slots
    return tasks < slots or 0 < physics.state_partitions < slots or physics.hottest_share * tasks > 1


def _one_each(
    begun_s: float,
    loads_s: list[float],
    paces: Sequence[float],
    factors: Iterator[float] | None,
    first_slot: int,
    warming_s: list[float] | None,
) -> BatchStage:
    """Run at most one task on each slot."""
    idle = len(paces) - len(loads_s)
    tasks = [1] * len(loads_s) + [0] * idle
    if first_slot or idle:
        loads_s, tasks = _rotated(loads_s + [0.0] * idle, first_slot), _rotated(tasks, first_slot)
    if factors is None:
        taken_s = [load_s * pace for load_s, pace in zip(loads_s, paces, strict=True)]
    else:
        taken_s = [load_s * pace * factor for load_s, pace, factor in zip(loads_s, paces, factors)]  # noqa: B905 - factors are infinite
    if warming_s:
        taken_s = [each_s + warming_s[slot] * tasks[slot] for slot, each_s in enumerate(taken_s)]
    return BatchStage(begun_s, [begun_s + each_s for each_s in taken_s], tasks, sum(taken_s))


def _in_waves(
    begun_s: float,
    loads_s: list[float],
    paces: Sequence[float],
    factors: Iterator[float] | None,
    *,
    rtts_s: Sequence[float],
    between: float = 0.0,
    within: float = 0.0,
    first_slot: int = 0,
    warming_s: list[float] | None = None,
) -> BatchStage:
    """Assign each task to the first free slot, with round trips between the tasks of a slot and within each task.

    Of several free slots the one with the fewest tasks is next, so that each gets one at the start.
    """
    slots = len(paces)
    ends_s, tasks = [begun_s] * slots, [0] * slots
    work_s = waiting_s = 0.0
    free = [(begun_s, 0, turn) for turn in range(slots)]  # a heap
    for load_s in loads_s:
        free_s, _, turn = free[0]
        slot = (turn + first_slot) % slots
        taken_s = load_s * paces[slot] * (1.0 if factors is None else next(factors))
        if warming_s and not tasks[slot]:
            taken_s += warming_s[slot]
        delayed_s = (within + (between if tasks[slot] else 0.0)) * rtts_s[slot]
        ends_s[slot] = free_s + delayed_s + taken_s
        tasks[slot] += 1
        work_s += taken_s
        waiting_s += delayed_s
        heapreplace(free, (ends_s[slot], tasks[slot], turn))
    return BatchStage(from_s=begun_s, ends_s=ends_s, tasks=tasks, work_s=work_s, waiting_s=waiting_s)


def _loads_s(physics: SparkPhysics, rows: float, paces: Sequence[float], factor: float) -> list[float]:
    """Return the time of each task of the first stage on a slot of weight 1, the largest partition first."""
    if physics.tasks_by_speed and rows >= 1:
        return _loads_by_speed_s(physics, round(rows), paces, factor)
    tasks = physics.partitions or len(paces)
    task_s, rows_s = physics.task_s * factor, rows * physics.service_ms_per_row / 1000 * factor
    if physics.hottest_share * tasks <= 1:
        return [task_s + rows_s / tasks] * tasks
    hottest = physics.hottest_share if tasks > 1 else 1.0
    others_s = task_s + rows_s * (1 - hottest) / max(1, tasks - 1)
    return [task_s + rows_s * hottest] + [others_s] * (tasks - 1)


def _loads_by_speed_s(physics: SparkPhysics, rows: int, paces: Sequence[float], factor: float) -> list[float]:
    """Return the same for a source that cuts batches by the known speeds of the slots."""
    speeds = [1 / pace for pace in paces]
    ranges = split_by_speed(0, rows, len(paces), min(speeds) / sum(speeds))
    row_s = physics.service_ms_per_row / 1000
    return [(physics.task_s + (high - low) * row_s) * factor for low, high in ranges]


def _rotated(items: list[_T], by: int) -> list[_T]:
    return items[-by:] + items[:-by] if by else items


def timeline_after_loss(
    timeline: BatchTimeline,
    physics: SparkPhysics,
    executor_set: ExecutorSet,
    *,
    lost: int,
    able: Sequence[int],
    elapsed_s: float,
) -> BatchTimeline:
    """Return the timeline of a batch that loses one of its executors."""
    members, paces = executor_set.members, executor_set.paces
    resumed_s = elapsed_s + physics.failure_detection_s
    if elapsed_s >= timeline.tasks_until_s:
        rtt_s = max(rtt for rtt, member in zip(executor_set.rtts_s, members, strict=True) if member in able)
        again_s = physics.failure_detection_s + physics.state_task_s + physics.state_round_trips * rtt_s
        longer = again_s if physics.state_partitions else 0.0
        return replace(timeline, seconds=timeline.seconds + longer)
    ends_s, tasks = list(timeline.ends_s), list(timeline.tasks)
    idle_s = list(timeline.idle_s) or [0.0] * len(tasks)
    loads_s: list[float] = []
    for slot in (slot for slot, member in enumerate(members) if member == lost):
        if ends_s[slot] > elapsed_s and tasks[slot]:
            busy_s = ends_s[slot] - timeline.tasks_from_s
            unfinished = math.ceil(tasks[slot] * min(1.0, (ends_s[slot] - elapsed_s) / busy_s))
            loads_s += [busy_s / tasks[slot] / paces[slot]] * unfinished
        ends_s[slot], tasks[slot] = elapsed_s, 0
    candidates = [slot for slot, member in enumerate(members) if member in able]
    again_s = 0.0
    for load_s in loads_s:
        slot = min(candidates, key=ends_s.__getitem__)
        taken_s = load_s * paces[slot]
        rtt_s = physics.wave_round_trips * executor_set.rtts_s[slot]
        begun_s = max(ends_s[slot], resumed_s)
        idle_s[slot] += begun_s - ends_s[slot]
        ends_s[slot] = begun_s + rtt_s + taken_s
        tasks[slot] += 1
        again_s += taken_s
    until_s = max(ends_s)
    return replace(
        timeline,
        seconds=until_s + timeline.seconds - timeline.tasks_until_s,
        tasks_until_s=until_s,
        ends_s=ends_s,
        tasks=tasks,
        work_s=timeline.work_s + again_s / (len(members) / len(executor_set.nodes)),
        idle_s=idle_s,
    )
