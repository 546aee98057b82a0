"""The constants of Flink, and the throughput that follows from them."""

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from statistics import NormalDist
from typing import Annotated

from pydantic import Field
from pydantic.dataclasses import dataclass as checked_dataclass

from testbed.simulator import figures
from testbed.simulator.figures import Count, NotNegative, Positive, PositiveCount

#: Holds the bundled files; each origin begins with how well the figure is known.
FOLDER = Path(__file__).parent / "physics"


@checked_dataclass(frozen=True, slots=True, kw_only=True)
class FlinkPhysics:
    """The constants of one operator; its file says where each comes from.

    Raises
    ------
    pydantic.ValidationError
        At a figure that is not a finite number in its range.
    """

    #: Time that a lone replica on a node of weight 1 computes for a row, seconds.
    service_s: Positive
    #: How much longer a row takes for each further replica, as a share of ``service_s``: a sender serves as
    #: many channels as there are replicas. It is work, not waiting.
    channel_cost: NotNegative = 0.0
    #: How much the speeds of replicas differ from buffer to buffer, as a share: one standard deviation.
    straggle: NotNegative = 0.0
    #: Distinct keys, all as frequent, hashed to key groups and dealt to the replicas; 0 where rows are dealt
    #: in turn (rebalance). In both cases all wait for the slowest replica.
    keys: Count = 0
    #: Size of a row on the wire, and of a network buffer. At its limit an operator gets full buffers, whatever
    #: ``execution.buffer-timeout`` is: a part-full buffer leaves only where there is credit to spare, and one that
    #: waits for credit goes on filling (row_bytes, buffer_bytes).
    row_bytes: Positive
    buffer_bytes: PositiveCount = 32_768
    #: Credits of a replica: so many for each channel, and so many in addition (exclusive_buffers, floating_buffers).
    exclusive_buffers: PositiveCount = 2
    floating_buffers: Count = 8
    #: Round trips from a buffer's departure until its credit is back.
    credit_round_trips: NotNegative = 2.0
    #: Whether each replica has a part of the source on its node, so that rows go from every replica's node to
    #: every other, and each replica has as many channels as there are replicas; else the source is on the
    #: driver's node alone, and each replica has one channel. In both cases checkpoints are led from there.
    sources_beside_replicas: bool = False
    #: Time between two checkpoints, seconds.
    checkpoint_interval_s: Positive = 10.0
    #: For how long a checkpoint holds up all replicas: a fixed time, a time for each replica, and round trips to the
    #: farthest one (checkpoint_s, checkpoint_s_per_replica, checkpoint_round_trips).
    checkpoint_s: NotNegative = 0.0
    checkpoint_s_per_replica: NotNegative = 0.0
    checkpoint_round_trips: NotNegative = 0.0
    #: Speed varies about its mean: standard deviation of its logarithm, and the time after which it has forgotten two
    #: thirds of what it was (noise, noise_memory_s).
    noise: NotNegative = 0.0
    noise_memory_s: Positive = 60.0
    #: Time without output at a change, seconds, and the standard deviation of its logarithm (restart_s,
    #: restart_spread).
    restart_s: NotNegative = 120.0
    restart_spread: NotNegative = 0.0
    #: Whether a change of this operator stops all operators of the workflow; else it stops alone.
    restart_whole_job: bool = True
    #: Share of the speed that is missing right after a restart, and the time in which two thirds of that return
    #: (cold_share, warm_up_s).
    cold_share: Annotated[float, Field(ge=0, lt=1)] = 0.0
    warm_up_s: Positive = 20.0
    #: Time until the loss of a node is noticed, seconds; nothing is processed until then.
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

    Raises
    ------
    InputError
        Where there is no such file, or a figure in it is unknown, missing or out of range.
    """
    return figures.read_physics(FlinkPhysics, name_or_path, FOLDER, needs_all=True)


_KEY_GROUPS = 128  # Flink's default maximum parallelism
_NORMAL = NormalDist()


@dataclass(frozen=True, slots=True, kw_only=True)
class Capacity:
    """What a placement can do."""

    #: The rate at its limit.
    rows_per_s: float
    #: Time that its replicas compute for a row, summed over them; what is left of their time they wait.
    work_s_per_row: float
    #: Share of the rows that each replica gets, in the order in which key groups are dealt.
    shares: tuple[float, ...] = ()
    #: Time that each replica computes for a row of the operator: its part of ``work_s_per_row``.
    replica_work_s_per_row: tuple[float, ...] = ()


def capacity(physics: FlinkPhysics, weights: Sequence[float], round_trips_ms: Sequence[float]) -> Capacity:
    """Return what replicas can do together.

    Parameters
    ----------
    round_trips_ms
        From the source to each replica, ms.

    Notes
    -----
    A replica takes buffers that arrive by credit. The credits circulate between two stations: the replica, which
    takes one buffer at a time, and the link, which only delays. The rate of such a closed circle follows from
    mean value analysis (Reiser and Lavenberg, Journal of the ACM 27, 1980): while the credits last longer than the
    round trip it is hidden, beyond that the replica starves, and the bend between is round. All replicas wait for
    the slowest: the rate is that at which its share of the rows arrives.
    """
    replicas = len(weights)
    if replicas == 0:
        return Capacity(rows_per_s=0.0, work_s_per_row=0.0)
    shares = key_shares(physics.keys, replicas)
    row_s = physics.service_s * (1 + physics.channel_cost * (replicas - 1))
    slowest = min(
        circling_rate(
            physics.credits(replicas),
            physics.rows_per_buffer * row_s / weight,
            physics.credit_round_trips * round_trip_ms / 1000,
        )
        / share
        for weight, round_trip_ms, share in zip(weights, round_trips_ms, shares, strict=True)
        if share > 0
    )
    rate = slowest * physics.rows_per_buffer / (1 + physics.straggle * _expected_maximum(replicas))
    work_s_per_row = tuple(row_s * share / weight for weight, share in zip(weights, shares, strict=True))
    return Capacity(
        rows_per_s=rate * _between_checkpoints(physics, replicas, max(round_trips_ms)),
        work_s_per_row=sum(work_s_per_row),
        shares=shares,
        replica_work_s_per_row=work_s_per_row,
    )


def round_trips_ms(
    physics: FlinkPhysics, driver: str, nodes: Sequence[str], rtt_ms: Callable[[str, str], float]
) -> list[float]:
    """Return how far each replica is from where its rows come from, ms: from the farthest of these places."""
    places = (driver, *nodes) if physics.sources_beside_replicas else (driver,)
    return [max(rtt_ms(place, node) for place in places) for node in nodes]


def circling_rate(tokens: int, service_s: float, delay_s: float) -> float:
    """Return how often per second tokens that circle pass a station that serves one at a time.

    Parameters
    ----------
    service_s
        Mean time at the station, seconds.
    delay_s
        Time of the rest of the circle, seconds.

    Examples
    --------
    >>> circling_rate(10, 0.1, 0.0), circling_rate(1, 0.1, 0.3)
    (10.0, 2.5)
    """
    waiting, rate = 0.0, 0.0
    for count in range(1, tokens + 1):
        passage_s = service_s * (1 + waiting)
        rate = count / (passage_s + delay_s)
        waiting = rate * passage_s
    return rate


@lru_cache(maxsize=1024)
def key_shares(keys: int, replicas: int) -> tuple[float, ...]:
    """Return the share of the rows that each replica gets; equal shares where ``keys`` is 0.

    Keys are hashed to key groups, and neighbouring key groups dealt to a replica, as Flink does it.
    """
    if keys == 0:
        return (1 / replicas,) * replicas
    counts = [0] * replicas
    for key in range(keys):
        group = zlib.crc32(str(key).encode()) % _KEY_GROUPS
        counts[group * replicas // _KEY_GROUPS] += 1
    return tuple(count / keys for count in counts)


def _between_checkpoints(physics: FlinkPhysics, replicas: int, farthest_ms: float) -> float:
    pause_s = (
        physics.checkpoint_s
        + physics.checkpoint_s_per_replica * replicas
        + physics.checkpoint_round_trips * farthest_ms / 1000
    )
    return physics.checkpoint_interval_s / (physics.checkpoint_interval_s + pause_s)


@lru_cache(maxsize=1024)
def _expected_maximum(draws: int) -> float:
    """Return the mean of the largest of some standard normal draws (Blom's approximation)."""
    return _NORMAL.inv_cdf((draws - 0.375) / (draws + 0.25))
