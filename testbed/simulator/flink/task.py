"""Simulates the tasks of an operator on Flink: rates, noise, and shares of limited buffers."""

import math
import zlib
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from gesscale.model.observation import Batch
from gesscale.model.workflow import Operator
from testbed.simulator.flink.physics import FlinkPhysics, PlacementCapacity, capacity, round_trips_ms
from testbed.simulator.fog import Fog
from testbed.simulator.plant import NO_EFFORT, Effort, Efforts, Tally
from testbed.simulator.stream import Stream, Topic


class Tick(NamedTuple):
    """A finished tick."""

    #: Number of the batch that reports it.
    number: int
    #: Nodes of the replicas, in the order of their key groups.
    nodes: tuple[str, ...]
    #: Capacity of the replicas, and their speed relative to it (capacity, speed).
    capacity: PlacementCapacity
    speed: float
    #: Rows processed by all of them.
    rows: float
    #: Time in which they worked on these rows or waited for each other.
    busy_s: float


def efforts(ticks: Iterable[Tick], batches: Iterable[Batch]) -> Mapping[str, Effort]:
    """Return the work of each replica in some ticks together, by node."""
    numbers = {batch.batch_id for batch in batches}
    found: dict[str, Effort] = {}
    for tick in (each for each in ticks if each.number in numbers):
        shares, per_row_s = tick.capacity.shares, tick.capacity.replica_work_s_per_row
        for node, share, row_s in zip(tick.nodes, shares, per_row_s, strict=True):
            work_s = min(tick.rows * row_s / tick.speed, tick.busy_s)
            total = found.get(node, NO_EFFORT)
            found[node] = Effort(
                total.rows + tick.rows * share, total.work_s + work_s, total.waiting_s + tick.busy_s - work_s
            )
    return found


_BLOCK = 512


class Noise:
    """Factors with mean 1; their logarithm is an autoregressive process of order 1.

    Parameters
    ----------
    memory_s
        Time after which the correlation has fallen to 1/e, seconds.
    tick_s
        Time between two factors, seconds.
    """

    def __init__(self, deviation: float, memory_s: float, tick_s: float, rng: np.random.Generator) -> None:
        self._keeps = math.exp(-tick_s / memory_s)
        self._step = deviation * math.sqrt(1 - self._keeps**2)
        self._mean = -(deviation**2) / 2
        self._rng = rng
        self._draws: list[float] = []
        self._value = deviation * float(rng.standard_normal())

    def next_factor(self) -> float:
        """Return the next factor."""
        if self._step == 0.0:
            return 1.0
        if not self._draws:
            self._draws = self._rng.standard_normal(_BLOCK).tolist()
        self._value = self._keeps * self._value + self._step * self._draws.pop()
        return math.exp(self._mean + self._value)


def fair_share(room: float, claims: Iterable[float]) -> float:
    """Return the share of a capacity for one operator; each other one gets an equal share, or less if it claims less.

    Examples
    --------
    >>> fair_share(12, []), fair_share(12, [100]), fair_share(12, [1]), fair_share(12, [1, 100])
    (12, 6.0, 11, 5.5)
    """
    others = sorted(claims)
    for sharing, claim in zip(range(len(others) + 1, 1, -1), others, strict=True):
        room -= min(claim, room / sharing)
    return room


_SHORTEST_S = 0.001  # busy time of an idle tick, as Monitor counts in milliseconds
_COLD_SPANS = 8.0  # warm-up times after which the cold start is over
_ROUNDING = 1e-9


class Task:
    """An operator that is simulated tick by tick.

    Attributes
    ----------
    placement
        Ordered nodes of its replicas, sorted; they cost.
    working
        Nodes of the running replicas: those of the former placement until the stop takes effect.
    lost
        The lost nodes if it lost all; its replicas return with them.
    position
        Next row; after a failure it is before `furthest`, and the rows between are processed again.
    furthest
        Next row that was never processed.
    lost_rows
        Rows before it that the retention of the source dropped instead.
    emitted_at_s, emitted_lag_s
        When a source last emitted rows, and how long the newest of them had waited before it.
    """

    def __init__(
        self,
        *,
        operator: Operator,
        physics: FlinkPhysics,
        stream: Stream,
        selectivity: float,
        retention_s: float | None,
        placement: Iterable[str],
        fog: Fog,
        tick_s: float,
        seed: int,
        kept_ticks: int,
    ) -> None:
        self.operator = operator
        self.physics = physics
        self.stream = stream
        self.selectivity = selectivity
        self.placement = tuple(sorted(placement))
        self.working = self.placement
        self.lost: tuple[str, ...] = ()
        self.position = self.furthest = self.lost_rows = 0.0
        self.emitted_at_s, self.emitted_lag_s = -math.inf, 0.0
        self.batches: deque[Batch] = deque(maxlen=kept_ticks)
        self._done: deque[Tick] = deque(maxlen=kept_ticks)
        self._retention_s = retention_s
        self._fog = fog
        self._tick_s = tick_s
        key = zlib.crc32(operator.name.encode())
        self._noise = Noise(physics.noise, physics.noise_memory_s, tick_s, np.random.default_rng([seed, key, 0]))
        self._restarts = np.random.default_rng([seed, key, 1])
        self._capacity = PlacementCapacity(rows_per_s=0.0, work_s_per_row=0.0)
        self._speed = 1.0
        self._down_from_s = self._down_until_s = -math.inf
        self._stopped = False
        self._started_s = -math.inf
        self._saved_position = 0.0
        self._next_checkpoint_s = physics.checkpoint_interval_s
        self._ticks = 0
        self._emitted_rows = 0
        self._offered_rows = 0.0
        self._work_s = self._waiting_s = self._replica_seconds = self._counted_until_s = 0.0
        self.update_capacity(0.0)

    # Stops and starts

    def is_down(self, at_s: float) -> bool:
        """Return whether it is stopped at an instant."""
        return not self.working or self._down_from_s <= at_s < self._down_until_s

    def draw_restart_s(self) -> float:
        """Return the duration of the next restart, seconds."""
        drawn = self._restarts.standard_normal()
        return self.physics.restart_s * math.exp(self.physics.restart_spread * float(drawn))

    def stop(self, from_s: float, until_s: float) -> None:
        """Stop with a savepoint, or extend a stop; infinity lasts until the next stop sets an end."""
        if not self._down_from_s <= from_s < self._down_until_s:
            self._down_from_s = from_s
        if math.isinf(self._down_until_s):
            self._down_until_s = until_s
        self._down_until_s = max(self._down_until_s, until_s)

    def lose_progress(self) -> None:
        """Return to the last checkpoint; later rows will be processed again."""
        self.position = self._saved_position
        self._stopped = True

    def count_replica_time(self, until_s: float) -> None:
        """Count the lifetime of the replicas until an instant."""
        if until_s > self._counted_until_s:
            self._replica_seconds += len(self.placement) * (until_s - self._counted_until_s)
            self._counted_until_s = until_s

    def update_capacity(self, at_s: float) -> None:
        """Update the capacity from the nodes of the replicas and their delays."""
        self._capacity = capacity(
            self.physics,
            [self._fog.nodes[node].weight for node in self.working],
            round_trips_ms(
                self.physics,
                self.operator.driver_node,
                self.working,
                lambda one, other: self._fog.rtt_ms(one, other, at_s),
            ),
        )

    def _move(self, at_s: float) -> None:
        if self.working != self.placement:
            self.working = self.placement
            self.update_capacity(at_s)

    # A tick

    def drop_unread(self, at_s: float) -> float:
        """Drop the rows that the source kept for its retention, and return those that were never processed."""
        if self._retention_s is None:
            return 0.0
        kept_from = self.stream.offered_rows(at_s - self._retention_s)
        self.position = max(self.position, kept_from)
        lost = max(0.0, kept_from - self.furthest)
        self.furthest += lost
        self.lost_rows += lost
        return lost

    def begin_tick(self, at_s: float) -> float:
        """Return the most rows that it can process in the tick that begins now."""
        noise = self._noise.next_factor()  # always drawn, so that a seed gives the same world
        if self.is_down(at_s):
            self._offered_rows = self.stream.offered_rows(at_s + self._tick_s)
            if not self._stopped:
                self._saved_position = self.position
                self._stopped = True
            self._move(at_s)
            return 0.0
        if self._down_until_s <= at_s:  # a restart of zero duration
            self._move(at_s)
        if self._stopped:
            self._stopped = False
            self._ticks += 1  # a missing number signals to Monitor that it was not idle
            self._started_s = at_s
            self._next_checkpoint_s = at_s + self.physics.checkpoint_interval_s
        self._speed = noise * self._warmth(at_s + self._tick_s / 2)
        return self._capacity.rows_per_s * self._speed * self._tick_s

    def end_tick(self, able_rows: float, max_output_rows: float, until_s: float) -> float:
        """Process rows up to the limits of its input, its capacity and its consumers."""
        offered = self.stream.offered_rows(until_s)
        waiting = offered - self.position
        rows = min(able_rows, waiting, self.limited_to(max_output_rows))
        after = offered if rows == waiting else self.position + rows
        self._report(rows, able_rows, after, offered, until_s)
        if until_s >= self._next_checkpoint_s - _ROUNDING:
            self._saved_position = after
            self._next_checkpoint_s = until_s + self.physics.checkpoint_interval_s
        self.position = after
        before, self.furthest = self.furthest, max(self.furthest, after)
        return self.furthest - before

    def limited_to(self, max_output_rows: float) -> float:
        """Return the most input rows for a limit of output rows."""
        again = self.furthest - self.position
        fresh = max(0.0, max_output_rows) / self.selectivity if self.selectivity else math.inf
        return again + fresh

    def event_span(self, rows: float) -> tuple[float, float]:
        """Return when the first and the last of the newest rows entered the workflow, and discard all of them."""
        span = self.stream.event_span(self.furthest - rows, self.furthest)
        self.stream.forget(self.furthest)
        return span

    def _report(self, rows: float, able_rows: float, after: float, offered: float, until_s: float) -> None:
        busy_s = self._tick_s
        if rows < able_rows * (1 - _ROUNDING):
            busy_s = self._tick_s * rows / able_rows
        work_s = min(rows * self._capacity.work_s_per_row / self._speed, busy_s * len(self.working))
        self._work_s += work_s
        self._waiting_s += busy_s * len(self.working) - work_s
        self._ticks += 1
        self._done.append(Tick(self._ticks, self.working, self._capacity, self._speed, rows, busy_s))
        # Monitor relates the offered rows to the start of the batch.
        arrived = (offered - self._offered_rows) * (1 - busy_s / self._tick_s)
        emitted_rows = int((max(self.furthest, after) - self.lost_rows) * self.selectivity + _ROUNDING)
        self.batches.append(
            Batch(
                batch_id=self._ticks,
                ended_at_s=until_s,
                rows=int(after + _ROUNDING) - int(self.position + _ROUNDING),
                seconds=max(_SHORTEST_S, busy_s),
                nodes=self.working,
                trigger_s=self._tick_s,
                offered_rows_total=self._offered_rows + arrived,
                backlog_rows=offered - after,
                output_rows=emitted_rows - self._emitted_rows,
            )
        )
        self._offered_rows, self._emitted_rows = offered, emitted_rows

    def _warmth(self, at_s: float) -> float:
        since = (at_s - self._started_s) / self.physics.warm_up_s
        return 1.0 if since > _COLD_SPANS else 1.0 - self.physics.cold_share * math.exp(-since)

    # State

    def waiting_rows(self, at_s: float) -> float:
        """Return the rows offered until an instant and not yet processed."""
        return self.stream.offered_rows(at_s) - self.position

    def room_rows(self, taking_rows: float, at_s: float) -> float:
        """Return the free rows of its input buffers while it takes some out."""
        if not isinstance(self.stream, Topic):
            return math.inf
        buffers = self.physics.buffered_rows(len(self.working))
        return max(0.0, buffers - self.waiting_rows(at_s) + taking_rows)

    def efforts(self, batches: Sequence[Batch]) -> Efforts:
        """Return a function for the work of its replicas in some of its ticks."""
        return partial(efforts, tuple(self._done), batches)

    def last_progress_at_s(self, by_s: float) -> float | None:
        """Return when the last tick up to an instant ended; idle ticks count."""
        return next((batch.ended_at_s for batch in reversed(self.batches) if batch.ended_at_s <= by_s), None)

    def tally(self, at_s: float) -> Tally:
        """Return its counters."""
        return Tally(
            offered_rows=self.stream.offered_rows(at_s),
            processed_rows=self.furthest - self.lost_rows,
            work_s=self._work_s,
            waiting_s=self._waiting_s,
            replica_seconds=self._replica_seconds + len(self.placement) * max(0.0, at_s - self._counted_until_s),
            supply_replicas=len(self.placement),
            serving_replicas=0 if self.is_down(at_s) else len(self.working),
            supply_price=self._fog.price_of(self.placement),
            lost_rows=self.lost_rows,
            emitted_lag_s=self.emitted_lag_s if at_s < self.emitted_at_s + self._tick_s else None,
        )
