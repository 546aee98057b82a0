"""What all policies share: their thresholds, the plans that change nothing, and why nothing may change."""

from collections.abc import Sequence
from dataclasses import dataclass

from gesscale.decision import Analysis, Plan, Reason
from gesscale.plan.placement import nd_max_ms
from gesscale.ports import ClusterState, Latencies


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyRules:
    """Thresholds of the policies; the settings of group ``analyze`` explain each.

    Attributes
    ----------
    law
        The law of the performance model.
    back_pressure_threshold
        Share of a window, 0..1 (Algorithm 1: 0.5).
    slack_threshold_pct
        DT from which Algorithm 2 asks for fewer replicas, per cent.
    recovery_target_s
        A backlog that will have drained within this time is no overload.
    hold_off_s
        For so long after a change nothing is judged.
    reading_half_life_s, reading_max_age_s
        How evidence loses weight and when it is left out.
    cpu_high_share, cpu_low_share
        The thresholds of THR, 0..1.
    seed
        Of the draws of policies that draw.
    """

    law: str = "gesscale"
    back_pressure_threshold: float = 0.5
    slack_threshold_pct: float = 30.0
    recovery_target_s: float = 600.0
    hold_off_s: float = 0.0
    reading_half_life_s: float | None = None
    reading_max_age_s: float | None = None
    cpu_high_share: float = 0.9
    cpu_low_share: float = 0.5
    seed: int = 0


def stay(analysis: Analysis, cluster: ClusterState, reason: Reason | None = None, detail: str = "") -> Plan:
    """Return the plan that changes nothing.

    Parameters
    ----------
    analysis
        What Analyze concluded.
    cluster
        Where the replicas are.
    reason, detail
        Why nothing changes, where it is not the analysis that says so.

    Returns
    -------
    Plan
        Without a change.
    """
    return Plan(
        operator=analysis.operator,
        reason=reason or analysis.reason,
        detail=detail or analysis.detail,
        placement=present_placement(analysis, cluster),
        mst=analysis.mst,
        nd_max_ms=analysis.nd_max_ms,
    )


def unknown_delays(
    latencies: Latencies, placement: Sequence[str], driver_node: str
) -> tuple[Reason, str] | None:
    """Say why it cannot be told how far a placement is apart, and what to do about it.

    Parameters
    ----------
    latencies
        What is known of the delays.
    placement
        The nodes that hold replicas.
    driver_node
        The node of the Spark driver.

    Returns
    -------
    tuple of Reason and str, or None
        LatencyMapMissing or DelayUnknown with a sentence; None where NDmax is known.
    """
    if latencies.map is None:
        return Reason.LATENCY_MAP_MISSING, latencies.standing.problem or "there has been no latency map yet"
    if nd_max_ms(latencies.map, placement, driver_node) is not None:
        return None
    nodes = ", ".join(sorted({*placement, driver_node}))
    return (
        Reason.DELAY_UNKNOWN,
        f"the latency map does not tell how far {nodes} are apart; name the replicas' hosts as its nodes "
        "(monitor.hosts), or fill its gaps",
    )


def present_placement(analysis: Analysis, cluster: ClusterState) -> tuple[str, ...]:
    """Return where an operator's replicas are: the cluster knows best, the driver's word is second."""
    seen = analysis.reading.placement if analysis.reading else ()
    return tuple(sorted(cluster.placements.get(analysis.operator, seen)))
