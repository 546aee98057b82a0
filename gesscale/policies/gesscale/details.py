"""Texts of the decisions of `gesscale`: the figures behind a reason."""

from collections.abc import Sequence
from datetime import UTC, datetime

from gesscale.model.decision import format_replicas
from gesscale.model.observation import OperatorReading

METRICS_MISSING = "replicas, offered rows or backlog unknown"
CONTENDED_NODE = "its last free slot goes to another operator, whose rows would be late without it"


def not_learned(reading: OperatorReading) -> str:
    """Return what the operator lacks for load or capacity."""
    if not any(batch.rows for batch in reading.batches):
        return "no batch with rows yet"
    if not reading.offered_points:
        return "the sources do not report the offered rows"
    if len(reading.offered_points) == 1:
        return "the load is known after the next batch: it is the difference of two"
    return "the capacity is known after the next batch: the first ones, and those after a change, are no evidence"


def objective_below_trigger(slo_s: float, trigger_s: float, objective_s: float) -> str:
    """Return which objective counts, as the trigger is too long for the one in the settings."""
    return f"with a trigger of {trigger_s:g} s the objective is {objective_s:g} s, not {slo_s:g} s"


def load_and_capacity(load_rows_per_s: float, replicas: int, capacity_rows_per_s: float) -> str:
    """Return the expected load and the capacity of the present replicas.

    Examples
    --------
    >>> load_and_capacity(980, 3, 1093)
    '980 rows/s expected; 3 replicas carry 1,093'
    """
    verb = "carries" if replicas == 1 else "carry"
    return f"{load_rows_per_s:,.0f} rows/s expected; {format_replicas(replicas)} {verb} {capacity_rows_per_s:,.0f}"


def other_capacity(replicas: int, mid_rows_per_s: float, low_rows_per_s: float, moved: int = 0) -> str:
    """Return the capacity of another number of replicas; with its low end, if that is lower.

    Examples
    --------
    >>> other_capacity(2, 750, 750), other_capacity(2, 1010, 940), other_capacity(1, 410, 410, 1)
    ('2 would carry 750', '2 would carry 940 to 1,010', '1 on a better node would carry 410')
    """
    low, mid = f"{low_rows_per_s:,.0f}", f"{mid_rows_per_s:,.0f}"
    elsewhere = f" on {'a better node' if replicas == 1 else 'better nodes'}" if moved else ""
    return f"{replicas}{elsewhere} would carry {mid if low == mid else f'{low} to {mid}'}"


def one_more(node: str, delay_ms: float, replicas: int, rows_per_s: float) -> str:
    """Return the capacity with one more replica on a node."""
    return f"with {node}, {delay_ms:.0f} ms away, {replicas} would carry {rows_per_s:,.0f}"


def too_far(delay_ms: float, more_rows_per_s: float, rows_per_s: float) -> str:
    """Return how far away a node is, and the capacity with it and without."""
    return f"{delay_ms:.0f} ms away: {more_rows_per_s:,.0f} rows/s with it, {rows_per_s:,.0f} without"


def cap_limits(rows: int, trigger_s: float, rows_per_s: float) -> str:
    """Return what the cap of a batch allows.

    Examples
    --------
    >>> cap_limits(200, 2.0, 100.0)
    'the cap of 200 rows per 2 s batch allows 100 rows/s with any number of replicas'
    """
    cap = f"the cap of {rows:,} rows per {trigger_s:g} s batch"
    return f"{cap} allows {rows_per_s:,.0f} rows/s with any number of replicas"


def limited_by_work(limit: int) -> str:
    """Return the number of replicas beyond which replicas got no work, or brought nothing."""
    return f"replicas beyond {limit} brought nothing within the last hour"


def limited_by_idleness(limit: int, until_s: float) -> str:
    """Return until when no replica is added beyond those that got work, why, and what ends it.

    Examples
    --------
    >>> limited_by_idleness(2, 0.0)[:83]
    'replicas beyond 2 got no task while others were busy; until 1970-01-01T00:00:00Z no'
    """
    until = datetime.fromtimestamp(until_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return (
        f"replicas beyond {limit} got no task while others were busy; until {until} none is added, unless the "
        "placement, the usable nodes or the partitions change; a higher min_replicas adds one at once"
    )


def idle(nodes: Sequence[str]) -> str:
    """Return the nodes whose replicas got no work, and a likely cause."""
    return f"{', '.join(nodes)} got no rows; check that the source has enough partitions"


def no_gain(before: int, after: int, faster_pct: float, expected_pct: float, busiest_pct: float | None) -> str:
    """Return what an addition brought, and the share of the busiest replica if it is the cause.

    Examples
    --------
    >>> no_gain(3, 6, 1, 100, 70)
    'from 3 to 6 replicas rows became 1 % faster, not 100 %; one replica has 70 % of a batch'
    """
    cause = "the sink, or what all replicas share, is the limit"
    if busiest_pct is not None:
        cause = f"one replica has {busiest_pct:.0f} % of a batch"
    return f"from {before} to {after} replicas rows became {faster_pct:.0f} % faster, not {expected_pct:.0f} %; {cause}"


def surplus(replicas: int, bound: str) -> str:
    """Return that some replicas get no work, and why."""
    return f"not all of {format_replicas(replicas)} get work: {bound}"
