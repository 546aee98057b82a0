"""Texts of the decisions of `gesscale`: the figures behind a reason."""

from collections.abc import Sequence

from gesscale.model.decision import format_replicas

NOTHING_LEARNED = "no batch with rows and no offered rows yet"
CHEAPER_TO_WAIT = "a backlog costs less than more replicas"
METRICS_MISSING = "replicas, last batches or backlog unknown"
CONTENDED_NODE = "its last free slot goes to another operator, where it saves more"


def load_and_capacity(load_rows_per_s: float, replicas: int, capacity_rows_per_s: float) -> str:
    """Return the expected load and the capacity of the present replicas.

    Examples
    --------
    >>> load_and_capacity(350, 2, 200)
    '350 rows/s expected, 2 replicas sustain 200'
    """
    verb = "sustains" if replicas == 1 else "sustain"
    return f"{load_rows_per_s:.0f} rows/s expected, {format_replicas(replicas)} {verb} {capacity_rows_per_s:.0f}"


def lowest_cost(breakdown: str) -> str:
    """Return the cost of the present replicas, which is the lowest."""
    return f"lowest cost: {breakdown}"


def lower_cost(breakdown: str, present: str) -> str:
    """Return the cost of the new replicas and that of the present ones."""
    return f"{breakdown}; instead of {present}"


def limited_by_work(limit: int) -> str:
    """Return the number of replicas beyond which replicas got no work."""
    return f"more than {limit} replicas got no work"


def idle(nodes: Sequence[str]) -> str:
    """Return the nodes whose replicas got no work, and a likely cause."""
    return f"rows wait, but {', '.join(nodes)} took part in no batch; check that the source has enough partitions"
