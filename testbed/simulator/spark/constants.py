"""What a query on Spark is made of: figures of the engine, its code and its nodes. Not a performance model."""

from pathlib import Path

from pydantic.dataclasses import dataclass

from testbed.simulator import figures
from testbed.simulator.figures import Count, NotNegative, Positive, PositiveCount, Share

FOLDER = Path(__file__).parent / "physics"
"""Holds the bundled files; each says where its figures come from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkPhysics:
    """The constants of one operator. Times are those of a node of weight 1; a node of weight w takes 1 / w.

    Attributes
    ----------
    trigger_s
        The trigger interval, seconds.
    service_ms_per_row
        Time that a slot computes for a row, ms.
    fixed_s
        Time of the driver for a batch, whatever its rows: planning, logs, commits; seconds.
    task_s
        Time of a slot for a task, without its rows, seconds.
    driver_round_trips
        Serial round trips of a batch between the driver and the farthest executor, the first wave's included.
    wave_round_trips
        Round trips to the driver for which a slot idles between two tasks.
    partitions
        Tasks of a batch; 0 for as many as there are slots.
    tasks_by_speed
        Whether the source cuts a batch by the speeds of the slots, as `testbed.pipeline.schedule.split_by_speed` does;
        then it has no partitions.
    slots_per_replica
        Tasks that an executor runs at a time.
    hottest_share
        Share of a batch's rows in its largest partition; the others are alike. No effect below an even share.
    state_partitions
        Tasks of the stage behind the shuffle of a stateful query; 0 for a query without a shuffle. Several such stages,
        one after the other, are one stage here, with the times and the round trips of all of them.
    state_task_s
        Time of a slot for one of these, seconds.
    state_round_trips
        Round trips to the driver within one of these: locations, state coordinator, commit.
    exchange_round_trips
        Serial round trips between the two executors that are farthest apart, to fetch what was shuffled.
    batch_noise, task_noise
        What a batch and each task takes varies about its mean: standard deviation of the logarithm.
    cold_least_s, cold_most_s
        A new executor's first task takes so much longer, whatever its rows: classes are loaded, Python workers
        started. Drawn evenly, seconds.
    warm_up_share, warm_up_fade
        What its first task of the second batch takes longer, as a share of that, and how much of it remains from
        batch to batch.
    leave_s
        The batch during which executors are decommissioned, or the next, takes so much longer, seconds.
    start_s, start_spread
        Time from the order to a registered executor that starts alone: its median, seconds, and the standard
        deviation of its logarithm.
    start_together_s
        Each other executor that starts at the same time makes it so much longer, seconds: emulated nodes share
        processors. 0 where each node has its own.
    failure_detection_s
        Time until the driver notices that an executor is gone, seconds.
    driver_restart_s
        Time from the return of the driver's node until its query runs again, seconds.

    Raises
    ------
    pydantic.ValidationError
        At a figure that is not a finite number in its range.
    """

    trigger_s: Positive = 10.0
    service_ms_per_row: Positive
    fixed_s: NotNegative
    task_s: NotNegative = 0.0
    driver_round_trips: NotNegative
    wave_round_trips: NotNegative = 1.0
    partitions: Count = 0
    tasks_by_speed: bool = False
    slots_per_replica: PositiveCount = 1
    hottest_share: Share = 0.0
    state_partitions: Count = 0
    state_task_s: NotNegative = 0.0
    state_round_trips: NotNegative = 0.0
    exchange_round_trips: NotNegative = 0.0
    batch_noise: NotNegative = 0.0
    task_noise: NotNegative = 0.0
    cold_least_s: NotNegative = 0.0
    cold_most_s: NotNegative = 0.0
    warm_up_share: Share = 0.0
    warm_up_fade: Share = 0.0
    leave_s: NotNegative = 0.0
    start_s: NotNegative = 0.0
    start_spread: NotNegative = 0.0
    start_together_s: NotNegative = 0.0
    failure_detection_s: NotNegative = 0.0
    driver_restart_s: NotNegative = 0.0

    def __post_init__(self) -> None:
        if self.tasks_by_speed and (self.partitions or self.hottest_share):
            raise ValueError("expected no partitions and no hottest_share with tasks_by_speed, got both")
        if self.cold_least_s > self.cold_most_s:
            raise ValueError(
                f"expected cold_least_s <= cold_most_s, got {self.cold_least_s} and {self.cold_most_s}"
            )


def read_physics(name_or_path: str | Path) -> SparkPhysics:
    """Read the constants of a query.

    Parameters
    ----------
    name_or_path
        ``map``, ``group-by``, ``local-cluster``, ``nexmark-q5``, or a file of the same form.

    Raises
    ------
    InputError
        Where there is no such file, or a figure in it is unknown, missing or out of range.
    """
    return figures.read_physics(SparkPhysics, name_or_path, FOLDER)
