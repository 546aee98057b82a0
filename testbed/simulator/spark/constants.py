"""What a query on Spark is made of: figures of the engine, its code and its nodes. Not a performance model."""

import math
from dataclasses import dataclass, fields
from pathlib import Path

from gesscale.errors import InputError
from testbed.simulator.figures import read_figures

FOLDER = Path(__file__).parent / "physics"
"""Holds the bundled files; each tells where its figures come from."""

_WHOLE = frozenset({"partitions", "slots_per_replica", "state_partitions"})
_ABOVE_0 = frozenset({"trigger_s", "service_ms_per_row", "slots_per_replica"})


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
        Time of a slot for a task beside its rows, seconds.
    driver_round_trips
        Serial round trips of a batch between the driver and the farthest executor, the first wave's included.
    wave_round_trips
        Round trips to the driver for which a slot idles between two tasks.
    partitions
        Tasks of a batch; 0 for as many as there are slots.
    slots_per_replica
        Tasks that an executor runs at a time.
    hottest_share
        Share of a batch's rows in its largest partition; the others are alike. No effect below an even share.
    state_partitions
        Tasks of the stage behind the shuffle of a stateful query; 0 for a query without a shuffle.
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
        Time from the order to a registered executor: its median, seconds, and the standard deviation of its
        logarithm.
    failure_detection_s
        Time until the driver notices that an executor is gone, seconds.
    driver_restart_s
        Time from the return of the driver's node until its query runs again, seconds.

    Raises
    ------
    InputError
        At a figure that is not a finite number in its range.
    """

    trigger_s: float = 10.0
    service_ms_per_row: float
    fixed_s: float
    task_s: float = 0.0
    driver_round_trips: float
    wave_round_trips: float = 1.0
    partitions: int = 0
    slots_per_replica: int = 1
    hottest_share: float = 0.0
    state_partitions: int = 0
    state_task_s: float = 0.0
    state_round_trips: float = 0.0
    exchange_round_trips: float = 0.0
    batch_noise: float = 0.0
    task_noise: float = 0.0
    cold_least_s: float = 0.0
    cold_most_s: float = 0.0
    warm_up_share: float = 0.0
    warm_up_fade: float = 0.0
    leave_s: float = 0.0
    start_s: float = 0.0
    start_spread: float = 0.0
    failure_detection_s: float = 0.0
    driver_restart_s: float = 0.0

    def __post_init__(self) -> None:
        for name in _WHOLE:
            if math.isfinite(value := getattr(self, name)) and value == int(value):
                object.__setattr__(self, name, int(value))  # a file may say 6.0
        for name in (field.name for field in fields(self)):
            value = getattr(self, name)
            least = "above 0" if name in _ABOVE_0 else "of at least 0"
            in_range = math.isfinite(value) and (value > 0 if name in _ABOVE_0 else value >= 0)
            if not in_range or (name in _WHOLE and not isinstance(value, int)):
                kind = "a whole number" if name in _WHOLE else "a finite number"
                message = f"Spark physics: {name}: expected {kind} {least}, got {value}"
                raise InputError(message)
        for name in ("hottest_share", "warm_up_share", "warm_up_fade"):
            if getattr(self, name) > 1:
                message = f"Spark physics: {name}: expected a share of at most 1, got {getattr(self, name)}"
                raise InputError(message)
        if self.cold_least_s > self.cold_most_s:
            message = (
                "Spark physics: expected cold_least_s <= cold_most_s, got "
                f"{self.cold_least_s} and {self.cold_most_s}"
            )
            raise InputError(message)


def read_physics(name_or_path: str | Path) -> SparkPhysics:
    """Read the constants of a query.

    Parameters
    ----------
    name_or_path
        ``map``, ``group-by``, ``local-cluster``, or a file of the same form.

    Raises
    ------
    InputError
        Where there is no such file, or a figure in it is unknown, missing or out of range.
    """
    figures = read_figures(name_or_path, FOLDER)
    known = [field.name for field in fields(SparkPhysics)]
    values = figures.values(known, str(name_or_path))
    required = ("service_ms_per_row", "fixed_s", "driver_round_trips")
    if missing := [name for name in required if name not in values]:
        message = f"{name_or_path}: expected also the figures {', '.join(missing)}"
        raise InputError(message)
    return SparkPhysics(**values)  # type: ignore[arg-type] # checked by its constructor
