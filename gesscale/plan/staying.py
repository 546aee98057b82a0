"""Plans that change nothing, and why nothing may change."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from gesscale.model.decision import Analysis, Plan, Reason
from gesscale.plan.placement import nd_max_ms
from gesscale.ports import ClusterState, Latencies


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
        Without a change. It has no MST and no NDmax while the driver's figures are still of other replicas.
    """
    present = present_placement(analysis, cluster)
    seen = analysis.reading is None or {*analysis.reading.placement} == {*present}
    return Plan(
        operator=analysis.operator,
        reason=reason or analysis.reason,
        detail=detail or analysis.detail,
        before=present,
        placement=present,
        mst=analysis.mst if seen else None,
        nd_max_ms=analysis.nd_max_ms if seen else None,
    )


def keep_on_doubt(plans: Mapping[str, Plan], analyses: Mapping[str, Analysis]) -> Mapping[str, Plan]:
    """Let no replica be removed by figures whose newest could not be believed; adding is allowed.

    Parameters
    ----------
    plans, analyses
        By operator.

    Returns
    -------
    mapping of str to Plan
        The same, with reason MetricsStale and no change where one would remove a replica on doubt.
    """
    return {name: _kept_on_doubt(plan, analyses[name]) for name, plan in plans.items()}


def _kept_on_doubt(plan: Plan, analysis: Analysis) -> Plan:
    doubt = analysis.reading.doubt if analysis.reading is not None else ""
    if not doubt or plan.change is None or not plan.change.remove:
        return plan
    return replace(
        plan,
        reason=Reason.METRICS_STALE,
        detail=f"{plan.detail}; but nothing is removed: {doubt}",
        placement=plan.before,
        mst=None,
        nd_max_ms=None,
    )


def unknown_delays(
    latencies: Latencies, placement: Sequence[str], driver_node: str
) -> tuple[Reason, str] | None:
    """Say why the distances of a placement are not known, and what to do about it.

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
        f"the latency map does not say how far {nodes} are apart; name the replicas' hosts as its nodes "
        "(monitor.hosts), or fill its gaps",
    )


def present_placement(analysis: Analysis, cluster: ClusterState) -> tuple[str, ...]:
    """Return where an operator's replicas are: by the cluster, else by the driver."""
    seen = analysis.reading.placement if analysis.reading else ()
    return tuple(sorted(cluster.placements.get(analysis.operator, seen)))
