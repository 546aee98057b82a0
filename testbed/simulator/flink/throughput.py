"""How fast replicas on given nodes can be, from the physics alone: without noise and warm."""

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

from testbed.simulator.flink.physics import FlinkPhysics

_KEY_GROUPS = 128  # Flink's default maximum parallelism
_NORMAL = NormalDist()


@dataclass(frozen=True, slots=True, kw_only=True)
class Capacity:
    """What a placement can do.

    Attributes
    ----------
    rows_per_s
        The rate at its limit.
    work_s_per_row
        Time that its replicas compute for a row, summed over them; what is left of their time they wait.
    shares
        Share of the rows that each replica gets, in the order in which key groups are dealt.
    replica_work_s_per_row
        Time that each replica computes for a row of the operator: its part of ``work_s_per_row``.
    """

    rows_per_s: float
    work_s_per_row: float
    shares: tuple[float, ...] = ()
    replica_work_s_per_row: tuple[float, ...] = ()


def capacity(physics: FlinkPhysics, weights: Sequence[float], round_trips_ms: Sequence[float]) -> Capacity:
    """Return what replicas can do together.

    Parameters
    ----------
    physics
        Of the operator.
    weights
        Speed of each replica's node, in the order in which key groups are dealt.
    round_trips_ms
        From the source to each replica, ms.

    Returns
    -------
    Capacity
        Zero rows per second without replicas.

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
    """Return how far each replica is from where its rows come from, ms: from the farthest of these places.

    Parameters
    ----------
    physics
        Says where the source is.
    driver
        The driver's node.
    nodes
        Those of the replicas.
    rtt_ms
        Round trip of two nodes, 0 from a node to itself.
    """
    places = (driver, *nodes) if physics.sources_beside_replicas else (driver,)
    return [max(rtt_ms(place, node) for place in places) for node in nodes]


def circling_rate(tokens: int, service_s: float, delay_s: float) -> float:
    """Return how often per second tokens that circle pass a station that serves one at a time.

    Parameters
    ----------
    tokens
        How many circle, at least 1.
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
