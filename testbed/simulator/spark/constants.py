"""What a query on Spark is made of: figures of the engine, its code and its nodes. Not a performance model."""

from pathlib import Path

from pydantic.dataclasses import dataclass

from testbed.simulator import figures
from testbed.simulator.figures import Count, NotNegative, Positive, PositiveCount, Share

#: Holds the bundled files; each says where its figures come from.
FOLDER = Path(__file__).parent / "physics"


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkPhysics:
    """The constants of one operator. Times are those of a node of weight 1; a node of weight w takes 1 / w.

    Raises
    ------
    pydantic.ValidationError
        At a figure that is not a finite number in its range.
    """

    #: The trigger interval, seconds.
    trigger_s: Positive = 10.0
    #: Time that a slot computes for a row, ms.
    service_ms_per_row: Positive
    #: Time of the driver for a batch, whatever its rows: planning, logs, commits; seconds.
    fixed_s: NotNegative
    #: Time of a slot for a task, without its rows, seconds.
    task_s: NotNegative = 0.0
    #: Serial round trips of a batch between the driver and the farthest executor, the first wave's included.
    driver_round_trips: NotNegative
    #: Round trips to the driver for which a slot idles between two tasks.
    wave_round_trips: NotNegative = 1.0
    #: Tasks of a batch; 0 for as many as there are slots.
    partitions: Count = 0
    #: Whether the source cuts a batch by the speeds of the slots, as
    #: `testbed.pipeline.schedule.split_by_speed` does; then it has no partitions.
    tasks_by_speed: bool = False
    #: Tasks that an executor runs at a time.
    slots_per_replica: PositiveCount = 1
    #: Share of a batch's rows in its largest partition; the others are alike. No effect below an even share.
    hottest_share: Share = 0.0
    #: Tasks of the stage behind the shuffle of a stateful query; 0 for a query without a shuffle. Several
    #: such stages, one after the other, are one stage here, with the times and the round trips of all of
    #: them.
    state_partitions: Count = 0
    #: Time of a slot for one of these, seconds.
    state_task_s: NotNegative = 0.0
    #: Round trips to the driver within one of these: locations, state coordinator, commit.
    state_round_trips: NotNegative = 0.0
    #: Serial round trips between the two executors that are farthest apart, to fetch what was shuffled.
    exchange_round_trips: NotNegative = 0.0
    #: What a batch and each task takes varies about its mean: standard deviation of the logarithm (batch_noise,
    #: task_noise).
    batch_noise: NotNegative = 0.0
    task_noise: NotNegative = 0.0
    #: A new executor's first task takes so much longer, whatever its rows: classes are loaded, Python workers
    #: started. Drawn evenly, seconds (cold_least_s, cold_most_s).
    cold_least_s: NotNegative = 0.0
    cold_most_s: NotNegative = 0.0
    #: What its first task of the second batch takes longer, as a share of that, and how much of it remains from batch
    #: to batch (warm_up_share, warm_up_fade).
    warm_up_share: Share = 0.0
    warm_up_fade: Share = 0.0
    #: The batch during which executors are decommissioned, or the next, takes so much longer, seconds.
    leave_s: NotNegative = 0.0
    #: Time from the order to a registered executor that starts alone: its median, seconds, and the standard deviation
    #: of its logarithm (start_s, start_spread).
    start_s: NotNegative = 0.0
    start_spread: NotNegative = 0.0
    #: Each other executor that starts at the same time makes it so much longer, seconds: emulated nodes share
    #: processors. 0 where each node has its own.
    start_together_s: NotNegative = 0.0
    #: Time until the driver notices that an executor is gone, seconds.
    failure_detection_s: NotNegative = 0.0
    #: Time from the return of the driver's node until its query runs again, seconds.
    driver_restart_s: NotNegative = 0.0

    def __post_init__(self) -> None:
        if self.tasks_by_speed and (self.partitions or self.hottest_share):
            raise ValueError("expected no partitions and no hottest_share with tasks_by_speed, got both")
        if self.cold_least_s > self.cold_most_s:
            raise ValueError(f"expected cold_least_s <= cold_most_s, got {self.cold_least_s} and {self.cold_most_s}")


def read_physics(name_or_path: str | Path) -> SparkPhysics:
    """Read the constants of a query.

    Raises
    ------
    InputError
        Where there is no such file, or a figure in it is unknown, missing or out of range.
    """
    return figures.read_physics(SparkPhysics, name_or_path, FOLDER)
