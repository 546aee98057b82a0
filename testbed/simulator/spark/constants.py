"""Physical constants of a query on Spark: of the engine, its code and its nodes. Not a performance model."""

from pathlib import Path

from pydantic.dataclasses import dataclass

from gesscale.common.errors import InvalidValueError
from testbed.simulator import figures
from testbed.simulator.figures import Count, NotNegative, Positive, PositiveCount, Share

#: Folder of the bundled files; each has the origins of its figures.
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
    #: Time of a row that replicas do not divide, as on the driver or in a shared service, ms.
    shared_ms_per_row: NotNegative = 0.0
    #: Time of the driver for a batch of any size: planning, logs, commits; seconds.
    fixed_s: NotNegative
    #: Time of a slot for a task, without its rows, seconds.
    task_s: NotNegative = 0.0
    #: Serial round trips of a batch between the driver and the farthest executor, including the first wave's.
    driver_round_trips: NotNegative
    #: Round trips to the driver for which a slot idles between two tasks.
    wave_round_trips: NotNegative = 1.0
    #: Fewest rows of a batch (Kafka's ``minOffsetsPerTrigger``), and the time after which fewer are read
    #: (``maxTriggerDelay``), seconds (min_rows, max_trigger_delay_s).
    min_rows: Count = 0
    max_trigger_delay_s: Positive = 900.0
    #: Tasks of a batch; 0 for one per slot.
    partitions: Count = 0
    #: Whether the source cuts a batch by the speeds of the slots, as
    #: `testbed.pipeline.schedule.split_by_speed` does; then it has no partitions.
    tasks_by_speed: bool = False
    #: Tasks that an executor runs at a time.
    slots_per_replica: PositiveCount = 1
    #: Share of a batch's rows in its largest partition; the others are equal. No effect below an even share.
    hottest_share: Share = 0.0
    #: Rows that the sink takes per second from all replicas together; 0 for no limit.
    sink_rows_per_s: NotNegative = 0.0
    #: Tasks of the stage after the shuffle of a stateful query; 0 for a query without a shuffle. Several such stages
    #: in sequence are one stage here, with the sum of their times and round trips.
    state_partitions: Count = 0
    #: Time of a slot for one of these tasks, seconds.
    state_task_s: NotNegative = 0.0
    #: Round trips to the driver within one of these tasks: locations, state coordinator, commit.
    state_round_trips: NotNegative = 0.0
    #: Serial round trips between the two executors farthest apart, to fetch shuffled rows.
    exchange_round_trips: NotNegative = 0.0
    #: Variation of the time of a batch and of each task: standard deviation of the logarithm (batch_noise,
    #: task_noise).
    batch_noise: NotNegative = 0.0
    task_noise: NotNegative = 0.0
    #: Extra time of a new executor's first task, seconds, independent of its rows: classes load, Python workers
    #: start. Drawn from a uniform distribution (cold_min_s, cold_max_s).
    cold_min_s: NotNegative = 0.0
    cold_max_s: NotNegative = 0.0
    #: Extra time of its first task in the second batch, as a share of the first, and the share of it that remains from
    #: batch to batch (warm_up_share, warm_up_fade).
    warm_up_share: Share = 0.0
    warm_up_fade: Share = 0.0
    #: Extra time of the batch during which executors are decommissioned, or of the next one, seconds.
    leave_s: NotNegative = 0.0
    #: Time from the order to a registered executor that starts alone: its median, seconds, and the standard deviation
    #: of its logarithm (start_s, start_spread).
    start_s: NotNegative = 0.0
    start_spread: NotNegative = 0.0
    #: Extra start time for each other executor that starts at the same time, seconds: emulated nodes share
    #: processors. 0 if each node has its own processors.
    start_together_s: NotNegative = 0.0
    #: Time until the driver notices that an executor is gone, seconds.
    failure_detection_s: NotNegative = 0.0
    #: Time from the return of the driver's node until its query runs again, seconds.
    driver_restart_s: NotNegative = 0.0

    def __post_init__(self) -> None:
        if self.tasks_by_speed and (self.partitions or self.hottest_share):
            raise InvalidValueError("constants-exclusive", one="tasks_by_speed", others=["partitions", "hottest_share"])
        if self.cold_min_s > self.cold_max_s:
            raise InvalidValueError(
                "constants-range-reversed",
                low_name="cold_min_s",
                high_name="cold_max_s",
                low=self.cold_min_s,
                high=self.cold_max_s,
            )


def read_physics(name_or_path: str | Path) -> SparkPhysics:
    """Read the constants of a query.

    Raises
    ------
    InputError
        If the file cannot be read, or a constant is unknown, missing or out of range.
    """
    return figures.read_physics(SparkPhysics, name_or_path, FOLDER)
