"""How the replicas of a task shared the work of its ticks: computed from its capacity on demand."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from gesscale.model.observation import Batch
from testbed.simulator.flink.throughput import Capacity
from testbed.simulator.plant import NO_EFFORT, Effort


class Tick(NamedTuple):
    """A tick that is over.

    Attributes
    ----------
    number
        That of the batch by which it is reported.
    nodes
        Those of the replicas, in the order in which key groups are dealt.
    capacity, speed
        Theirs, and how fast they were against it.
    rows
        How many they processed together.
    busy_s
        For how long they worked on these or waited for one another.
    """

    number: int
    nodes: tuple[str, ...]
    capacity: Capacity
    speed: float
    rows: float
    busy_s: float


def efforts(ticks: Iterable[Tick], batches: Iterable[Batch]) -> Mapping[str, Effort]:
    """Return what each replica did in some ticks together, by node: its keys' rows, and the time that these take.

    Parameters
    ----------
    ticks
        All that are known.
    batches
        Which ones, by their numbers.
    """
    wanted = {batch.batch_id for batch in batches}
    found: dict[str, Effort] = {}
    for tick in (each for each in ticks if each.number in wanted):
        shares, per_row_s = tick.capacity.shares, tick.capacity.replica_work_s_per_row
        for node, share, row_s in zip(tick.nodes, shares, per_row_s, strict=True):
            work_s = min(tick.rows * row_s / tick.speed, tick.busy_s)
            sofar = found.get(node, NO_EFFORT)
            found[node] = Effort(
                sofar.rows + tick.rows * share,
                sofar.work_s + work_s,
                sofar.waiting_s + tick.busy_s - work_s,
            )
    return found
