"""Replicas that get no work, and how long that is remembered."""

import zlib
from collections.abc import Sequence
from typing import ClassVar, Self

from pydantic import BaseModel, ConfigDict

from gesscale.model.observation import Batch, OperatorReading

#: Rows of a batch, for each replica, from which a replica without any gets no work.
_ENOUGH_ROWS, _ENOUGH_BATCHES = 10, 3
#: A replica that was busy for this share of the busiest one's time works, though it reads no rows: after a shuffle.
_IDLE_SHARE = 0.1

_Nodes = tuple[str, ...]


def idle_replicas(present: _Nodes, reading: OperatorReading) -> _Nodes:
    """Return the replicas that got no rows though the last batches had enough; Spark lists them with each batch."""
    newest = reading.batches[-_ENOUGH_BATCHES:]
    enough = len(newest) == _ENOUGH_BATCHES and all(_feeds_all(batch, present) for batch in newest)
    return without_rows(reading) if enough else ()


def without_rows(reading: OperatorReading) -> _Nodes:
    """Return the replicas that neither read rows nor held a task in the window, sorted."""
    work = reading.by_node
    busiest = max((each.busy_share for each in work.values()), default=0.0)
    idle = [node for node, each in work.items() if not each.throughput_rows_per_s]
    return tuple(sorted(node for node in idle if work[node].busy_share < _IDLE_SHARE * busiest))


def _feeds_all(batch: Batch, present: _Nodes) -> bool:
    """Return whether a batch on these nodes had rows and tasks for all; fewer tasks bound the useful replicas."""
    has_tasks = batch.tasks is None or batch.tasks >= len(present)
    return set(batch.nodes) == set(present) and batch.rows >= _ENOUGH_ROWS * len(present) and has_tasks


class IdleMemory(BaseModel):
    """The usable nodes when replicas without work were given back: the memory ends when they change."""

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="forbid")

    #: When the order was written that gave them back.
    order_at_s: float
    #: Checksum of the names of the usable nodes.
    pool: int
    #: Whether they have changed since.
    ended: bool = False

    @classmethod
    def of(cls, order_at_s: float, usable: Sequence[str]) -> Self:
        """Return the memory of an order."""
        return cls(order_at_s=order_at_s, pool=zlib.crc32("\n".join(usable).encode()))

    def updated(self, now: Self) -> Self:
        """Return the memory after an observation: that of a newer order, or whether the nodes have changed."""
        if now.order_at_s != self.order_at_s:
            return now
        return self if now.pool == self.pool else self.model_copy(update={"ended": True})
