"""Texts of the decisions: the figures behind a reason."""

from collections.abc import Sequence

from gesscale.model.decision import format_replicas
from gesscale.model.observation import OperatorReading
from perfmodel import Estimate
from testbed.baselines.gesscale_2021.sized_placements import SizedPlacement

TOO_FAR = "every free node is too far away"


def upstream_lag(operators: Sequence[str]) -> str:
    """Return the upstream operators that lag."""
    return f"upstream operators lag: {', '.join(operators)}"


def back_pressure(consumers: Sequence[str]) -> str:
    """Return the consumers that saturate the operator."""
    return f"saturated by back pressure of {', '.join(consumers)}"


def draining(reading: OperatorReading) -> str:
    """Return the backlog that is drained."""
    return f"draining a backlog of {reading.backlog_rows or 0:.0f} rows"


def drains_within(reading: OperatorReading, drain_s: float) -> str:
    """Return the backlog and the time it takes to drain."""
    return f"a backlog of {reading.backlog_rows or 0:.0f} rows drains within {drain_s:.0f} s"


def saturated(reading: OperatorReading) -> str:
    """Return the rate at which the operator is saturated, and the offered one."""
    offered = "" if reading.input_rows_per_s is None else f", offered {reading.input_rows_per_s:.0f}"
    return f"saturated at {reading.warm_rows_per_s or reading.throughput_rows_per_s:.0f} rows/s{offered}"


def uncalibrated(stale: str) -> str:
    """Return why there is no model."""
    return "MST unknown: no saturated reading yet" + (f"; not learning: {stale}" if stale else "")


def headroom(reading: OperatorReading, mst: Estimate, headroom_pct: float, threshold_pct: float) -> str:
    """Return throughput, MST, headroom and threshold."""
    return (
        f"throughput {reading.throughput_rows_per_s:.0f} rows/s, MST at least {mst.low:.0f}, "
        f"headroom {headroom_pct:.0f} %, threshold {threshold_pct:.0f} %"
    )


def comparison(grown: SizedPlacement, present: str) -> str:
    """Return a larger placement and the present one."""
    return f"{grown}; now {present}"


def chosen_node(node: str, after: SizedPlacement, *, latency_aware: bool) -> str:
    """Return the node of the new replica and the placement with it."""
    return f"{'nearest node with a gain' if latency_aware else 'random node'} {node}: {after}"


def too_few(fewer: SizedPlacement, needed_rows_per_s: float) -> str:
    """Return the placement that would be too small."""
    return f"one replica fewer: {fewer}; {needed_rows_per_s:.0f} rows/s needed"


def enough(needed_rows_per_s: float, fewer: SizedPlacement) -> str:
    """Return the smaller placement that is enough."""
    return f"{needed_rows_per_s:.0f} rows/s needed; {format_replicas(len(fewer.placement))}: {fewer}"


def little_headroom(remaining: SizedPlacement, headroom_pct: float, threshold_pct: float) -> str:
    """Return the headroom of the placement that remains, which stops the removals."""
    return f"{remaining}; headroom {headroom_pct:.0f} %, threshold {threshold_pct:.0f} %"
