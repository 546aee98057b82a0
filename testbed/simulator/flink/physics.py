"""Physical constants of Flink, and the throughput that follows from them."""

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

#: Folder of the bundled files; each origin begins with the quality of the figure.
FOLDER = Path(__file__).parent / "physics"


@checked_dataclass(frozen=True, slots=True, kw_only=True)
class FlinkPhysics:
    """The constants of one operator; its file has their origins.

    Raises
    ------
    pydantic.ValidationError
        At a figure that is not a finite number in its range.
    """

    #: Computation time of a single replica on a node of weight 1 for a row, seconds.
    service_s: Positive
    #: Extra time of a row for each further replica, as a share of ``service_s``: a sender serves a channel per replica.
    #: It is work, not waiting.
    channel_cost: NotNegative = 0.0
    #: Standard deviation of the speeds of replicas between buffers, as a share.
    straggle: NotNegative = 0.0
    #: Distinct keys of equal frequency, hashed to key groups and assigned to the replicas; 0 for round robin
    #: (rebalance). In both cases all wait for the slowest replica.
    keys: Count = 0
    #: Size of a row on the wire, and of a network buffer. At its limit an operator gets full buffers, whatever
    #: ``execution.buffer-timeout`` is: a part-full buffer leaves only where there is credit to spare, and one that
    #: waits for credit goes on filling (row_bytes, buffer_bytes).
    row_bytes: Positive
    buffer_bytes: PositiveCount = 32_768
    #: Credits of a replica: per channel, and additional ones (exclusive_buffers, floating_buffers).
    exclusive_buffers: PositiveCount = 2
    floating_buffers: Count = 8
    #: Round trips from the departure of a buffer until its credit returns.
    credit_round_trips: NotNegative = 2.0
    #: Whether each replica has a part of the source on its node, so that each replica has a channel to every other one;
    #: otherwise the source is only on the node of the driver, and each replica has one channel. In both cases the
    #: driver coordinates checkpoints.
    sources_beside_replicas: bool = False
    #: Time between two checkpoints, seconds.
    checkpoint_interval_s: Positive = 10.0
    #: Pause of all replicas at a checkpoint: a fixed time, a time per replica, and round trips to the farthest one
    #: (checkpoint_s, checkpoint_s_per_replica, checkpoint_round_trips).
    checkpoint_s: NotNegative = 0.0
    checkpoint_s_per_replica: NotNegative = 0.0
    checkpoint_round_trips: NotNegative = 0.0
    #: Variation of the speed: standard deviation of its logarithm, and the time after which its correlation has fallen
    #: to 1/e (noise, noise_memory_s).
    noise: NotNegative = 0.0
    noise_memory_s: Positive = 60.0
    #: Time without output at a change, seconds, and the standard deviation of its logarithm (restart_s,
    #: restart_spread).
    restart_s: NotNegative = 120.0
    restart_spread: NotNegative = 0.0
    #: Whether a change of this operator stops all operators of the workflow, or only itself.
    restart_whole_job: bool = True
    #: Share of the speed that is missing right after a restart, and the time after which it has fallen to 1/e
    #: (cold_share, warm_up_s).
    cold_share: Annotated[float, Field(ge=0, lt=1)] = 0.0
    warm_up_s: Positive = 20.0
    #: Time until the loss of a node is noticed, seconds; nothing is processed until then.
    failure_detection_s: NotNegative = 50.0

    @property
    def rows_per_buffer(self) -> float:
        """Rows of a full buffer; below 1 if a row takes several buffers."""
        return self.buffer_bytes / self.row_bytes

    def credits(self, replicas: int) -> int:
        """Return the number of buffers that may be in transit to a replica."""
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
        If the file cannot be read, or a constant is unknown, missing or out of range.
    """
    return figures.read_physics(FlinkPhysics, name_or_path, FOLDER, needs_all=True)


_KEY_GROUPS = 128  # Flink's default maximum parallelism
_NORMAL = NormalDist()


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementCapacity:
    """Capacity of a placement."""

    #: Largest rate.
    rows_per_s: float
    #: Computation time for a row, summed over its replicas; the rest of their time they wait.
    work_s_per_row: float
    #: Share of the rows of each replica, in the order of their key groups.
    shares: tuple[float, ...] = ()
    #: Computation time of each replica for a row of the operator: its part of ``work_s_per_row``.
    replica_work_s_per_row: tuple[float, ...] = ()


def capacity(physics: FlinkPhysics, weights: Sequence[float], round_trips_ms: Sequence[float]) -> PlacementCapacity:
    """Return the capacity of replicas.

    Parameters
    ----------
    round_trips_ms
        From the source to each replica, ms.

    Notes
    -----
    Buffers are sent to a replica by credit. The credits circulate between two stations: the replica, which processes
    one buffer at a time, and the link, which only delays. Mean value analysis (Reiser and Lavenberg, Journal of the ACM
    27, 1980) gives the rate of such a closed network: the round trip is hidden while the credits last longer, beyond
    that the replica starves, and the transition is smooth. All replicas wait for the slowest, so the rate is that at
    which its share of the rows arrives.
    """
    replicas = len(weights)
    if replicas == 0:
        return PlacementCapacity(rows_per_s=0.0, work_s_per_row=0.0)
    shares = key_shares(physics.keys, replicas)
    row_s = physics.service_s * (1 + physics.channel_cost * (replicas - 1))
    slowest = min(
        closed_network_rate(
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
    return PlacementCapacity(
        rows_per_s=rate * _between_checkpoints(physics, replicas, max(round_trips_ms)),
        work_s_per_row=sum(work_s_per_row),
        shares=shares,
        replica_work_s_per_row=work_s_per_row,
    )


def round_trips_ms(
    physics: FlinkPhysics, driver: str, nodes: Sequence[str], rtt_ms: Callable[[str, str], float]
) -> list[float]:
    """Return the delay of each replica from the farthest source of its rows, ms."""
    places = (driver, *nodes) if physics.sources_beside_replicas else (driver,)
    return [max(rtt_ms(place, node) for place in places) for node in nodes]


def closed_network_rate(tokens: int, service_s: float, delay_s: float) -> float:
    """Return the rate at which circulating tokens pass a station that serves one at a time.

    Parameters
    ----------
    service_s
        Mean time at the station, seconds.
    delay_s
        Time of the rest of the cycle, seconds.

    Examples
    --------
    >>> closed_network_rate(10, 0.1, 0.0), closed_network_rate(1, 0.1, 0.3)
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
    """Return the share of the rows of each replica; equal shares if ``keys`` is 0.

    Keys are hashed to key groups, and adjacent key groups are assigned to a replica, as in Flink.
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
