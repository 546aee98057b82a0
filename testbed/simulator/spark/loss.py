"""A batch that loses an executor: what was not finished there is done again elsewhere."""

import math
from collections.abc import Sequence
from dataclasses import replace

from testbed.simulator.spark.batch import BatchTimeline, ExecutorSet
from testbed.simulator.spark.constants import SparkPhysics


def timeline_after_loss(
    timeline: BatchTimeline,
    physics: SparkPhysics,
    executor_set: ExecutorSet,
    *,
    lost: int,
    able: Sequence[int],
    elapsed_s: float,
) -> BatchTimeline:
    """Return how a batch goes on without one of its executors.

    Parameters
    ----------
    timeline
        How it would have gone on.
    physics, executor_set
        The query, and who works on the batch.
    lost
        Who of the crew is gone.
    able
        Who of the crew can take tasks over, at least one.
    elapsed_s
        How long the batch has been under way.

    Returns
    -------
    BatchTimeline
        The tasks that had not ended there begin again on the slot that is free first, once the loss is noticed.
        In the stage behind the shuffle one task is done again.
    """
    slots = executor_set.slots_each
    resumed_s = elapsed_s + physics.failure_detection_s
    if elapsed_s >= timeline.tasks_until_s:
        rtt_s = max(executor_set.rtts_s[index * slots] for index in able)
        again_s = physics.failure_detection_s + physics.state_task_s + physics.state_round_trips * rtt_s
        longer = again_s if physics.state_partitions else 0.0
        return replace(timeline, seconds=timeline.seconds + longer)
    ends_s, tasks = list(timeline.ends_s), list(timeline.tasks)
    idle_s = list(timeline.idle_s) or [0.0] * len(tasks)
    loads_s: list[float] = []
    for slot in range(lost * slots, (lost + 1) * slots):
        if ends_s[slot] > elapsed_s and tasks[slot]:
            busy_s = ends_s[slot] - timeline.tasks_from_s
            unfinished = math.ceil(tasks[slot] * min(1.0, (ends_s[slot] - elapsed_s) / busy_s))
            loads_s += [busy_s / tasks[slot] * executor_set.weights[lost]] * unfinished
        ends_s[slot], tasks[slot] = elapsed_s, 0
    candidates = [index * slots + lane for index in able for lane in range(slots)]
    again_s = 0.0
    for load_s in loads_s:
        slot = min(candidates, key=ends_s.__getitem__)
        member = slot // slots
        taken_s = load_s / executor_set.weights[member]
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
        work_s=timeline.work_s + again_s / slots,
        idle_s=idle_s,
    )
