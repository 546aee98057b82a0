"""Texts of the decisions of `gesscale`: the figures behind a reason."""

from collections.abc import Sequence

from gesscale.model.decision import format_replicas

NOTHING_LEARNED = "no batch with rows and no offered rows yet"
CHEAPER_TO_WAIT = "a backlog costs less than more replicas"
METRICS_MISSING = "replicas, offered rows or backlog unknown"
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


def one_more(replicas: int, rows_per_s: float, node: str, delay_ms: float, more_rows_per_s: float) -> str:
    """Return the capacity of the replicas, and that with one more on a node.

    Examples
    --------
    >>> one_more(1, 1525, "edge2", 150, 1010)
    '1 replica carries 1,525; with edge2, 150 ms away, it would be 1,010'
    """
    verb = "carries" if replicas == 1 else "carry"
    added = f"with {node}, {delay_ms:.0f} ms away, it would be {more_rows_per_s:,.0f}"
    return f"{format_replicas(replicas)} {verb} {rows_per_s:,.0f}; {added}"


def too_far(delay_ms: float, more_rows_per_s: float, rows_per_s: float) -> str:
    """Return how far away a node is, and the capacity with it and without.

    Examples
    --------
    >>> too_far(150, 1010, 1525)
    '150 ms away: 1,010 rows/s with it, 1,525 without'
    """
    return f"{delay_ms:.0f} ms away: {more_rows_per_s:,.0f} rows/s with it, {rows_per_s:,.0f} without"


def limited_by_work(limit: int) -> str:
    """Return the number of replicas beyond which replicas got no work."""
    return f"more than {limit} replicas got no work"


def idle(nodes: Sequence[str]) -> str:
    """Return the nodes whose replicas got no work, and a likely cause."""
    return f"rows wait, but {', '.join(nodes)} took part in no batch; check that the source has enough partitions"


def surplus(replicas: int, bound: str) -> str:
    """Return that some replicas get no work, and why.

    Examples
    --------
    >>> surplus(5, "the source has 4 partitions")
    'not all of 5 replicas get work: the source has 4 partitions'
    """
    return f"not all of {format_replicas(replicas)} get work: {bound}"
