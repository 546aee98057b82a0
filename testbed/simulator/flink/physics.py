"""What an operator on Flink is made of: figures of its engine, its code and its nodes. Not a performance model."""

from pathlib import Path
from typing import Annotated

from pydantic import Field
from pydantic.dataclasses import dataclass

from testbed.simulator import figures
from testbed.simulator.figures import Count, NotNegative, Positive, PositiveCount

FOLDER = Path(__file__).parent / "physics"
"""Holds the bundled files; each origin begins with how well the figure is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FlinkPhysics:
    """The constants of one operator; its file says where each comes from.

    Attributes
    ----------
    service_s
        Time that a lone replica on a node of weight 1 computes for a row, seconds.
    channel_cost
        How much longer a row takes for each further replica, as a share of ``service_s``: a sender serves as many
        channels as there are replicas. It is work, not waiting.
    straggle
        How much the speeds of replicas differ from buffer to buffer, as a share: one standard deviation.
    keys
        Distinct keys, all as frequent, hashed to key groups and dealt to the replicas; 0 where rows are dealt in
        turn (rebalance). In both cases all wait for the slowest replica.
    row_bytes, buffer_bytes
        Size of a row on the wire, and of a network buffer. At its limit an operator gets full buffers, whatever
        ``execution.buffer-timeout`` is: a part-full buffer leaves only where there is credit to spare, and one that
        waits for credit goes on filling.
    exclusive_buffers, floating_buffers
        Credits of a replica: so many for each channel, and so many in addition.
    credit_round_trips
        Round trips from a buffer's departure until its credit is back.
    sources_beside_replicas
        Whether each replica has a part of the source on its node, so that rows go from every replica's node to every
        other, and each replica has as many channels as there are replicas; else the source is on the driver's node
        alone, and each replica has one channel. In both cases checkpoints are led from there.
    checkpoint_interval_s
        Time between two checkpoints, seconds.
    checkpoint_s, checkpoint_s_per_replica, checkpoint_round_trips
        For how long a checkpoint holds up all replicas: a fixed time, a time for each replica, and round trips to
        the farthest one.
    noise, noise_memory_s
        Speed varies about its mean: standard deviation of its logarithm, and the time after which it has forgotten
        two thirds of what it was.
    restart_s, restart_spread
        Time without output at a change, seconds, and the standard deviation of its logarithm.
    restart_whole_job
        Whether a change of this operator stops all operators of the workflow; else it stops alone.
    cold_share, warm_up_s
        Share of the speed that is missing right after a restart, and the time in which two thirds of that return.
    failure_detection_s
        Time until the loss of a node is noticed, seconds; nothing is processed until then.

    Raises
    ------
    pydantic.ValidationError
        At a figure that is not a finite number in its range.
    """

    service_s: Positive
    channel_cost: NotNegative = 0.0
    straggle: NotNegative = 0.0
    keys: Count = 0
    row_bytes: Positive
    buffer_bytes: PositiveCount = 32_768
    exclusive_buffers: PositiveCount = 2
    floating_buffers: Count = 8
    credit_round_trips: NotNegative = 2.0
    sources_beside_replicas: bool = False
    checkpoint_interval_s: Positive = 10.0
    checkpoint_s: NotNegative = 0.0
    checkpoint_s_per_replica: NotNegative = 0.0
    checkpoint_round_trips: NotNegative = 0.0
    noise: NotNegative = 0.0
    noise_memory_s: Positive = 60.0
    restart_s: NotNegative = 120.0
    restart_spread: NotNegative = 0.0
    restart_whole_job: bool = True
    cold_share: Annotated[float, Field(ge=0, lt=1)] = 0.0
    warm_up_s: Positive = 20.0
    failure_detection_s: NotNegative = 50.0

    @property
    def rows_per_buffer(self) -> float:
        """How many rows a full buffer carries; below 1 where a row takes several."""
        return self.buffer_bytes / self.row_bytes

    def credits(self, replicas: int) -> int:
        """Return how many buffers may be under way to a replica."""
        return self.exclusive_buffers * self._senders(replicas) + self.floating_buffers

    def buffered_rows(self, replicas: int) -> float:
        """Return how many rows the buffers before an operator hold: those of its input and of its senders' output."""
        outputs = self._senders(replicas) * (self.exclusive_buffers * replicas + self.floating_buffers)
        return (replicas * self.credits(replicas) + outputs) * self.rows_per_buffer

    def _senders(self, replicas: int) -> int:
        return replicas if self.sources_beside_replicas else 1


def read_physics(name_or_path: str | Path) -> FlinkPhysics:
    """Read the constants of an operator.

    Parameters
    ----------
    name_or_path
        ``taxi-nearest``, ``nexmark-mapper`` or ``word-count``, or a file of the same form.

    Raises
    ------
    InputError
        Where there is no such file, or a figure in it is unknown, missing or out of range.
    """
    return figures.read_physics(FlinkPhysics, name_or_path, FOLDER, needs_all=True)
