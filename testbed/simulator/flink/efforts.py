"""How the replicas of a task shared the work of its ticks: reckoned from its capacity, when somebody asks."""

from collections.abc import Iterable, Mapping

from testbed.simulator.flink.throughput import Capacity
from testbed.simulator.plant import NO_EFFORT, Effort

Tick = tuple[tuple[str, ...], Capacity, float, float, float]
"""A tick that is over: the nodes of the replicas in the order in which key groups are dealt, their capacity, how fast
they were against it, how many rows they processed, and for how long they worked or waited for one another, seconds."""


def efforts(ticks: Iterable[Tick]) -> Mapping[str, Effort]:
    """Return what each replica did in some ticks together, by node: its keys' rows, and the time that these take."""
    found: dict[str, Effort] = {}
    for nodes, capacity, speed, rows, busy_s in ticks:
        for node, share, row_s in zip(nodes, capacity.shares, capacity.replica_work_s_per_row, strict=True):
            work_s = min(rows * row_s / speed, busy_s)
            sofar = found.get(node, NO_EFFORT)
            found[node] = Effort(
                sofar.rows + rows * share, sofar.work_s + work_s, sofar.waiting_s + busy_s - work_s
            )
    return found
