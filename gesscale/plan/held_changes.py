"""Changes that cannot work now: the query does not run, or the API server refuses further executors."""

from collections.abc import Mapping
from dataclasses import replace

from gesscale.common.errors import Problem
from gesscale.model.decision import Plan, Reason
from gesscale.model.observation import WorkflowObservation
from gesscale.plan.node_ranking import unchanged_plan
from gesscale.ports import ClusterState, Node

#: Codes of missing readings with which no replica is changed, not even a lost one.
_NOT_RUNNING = frozenset({"queries-several", "query-ended", "query-not-found"})
_WAITING = frozenset({Reason.NO_CANDIDATE_NODE, Reason.RECONFIGURING})


def hold_without_query(plans: Mapping[str, Plan], observation: WorkflowObservation) -> Mapping[str, Plan]:
    """Change nothing for operators whose query does not run, or cannot be distinguished from others."""
    missing = observation.missing_readings
    return {
        name: unchanged_plan(plan, Reason.METRICS_MISSING, str(missing[name].problem))
        if name in missing and missing[name].code in _NOT_RUNNING
        else plan
        for name, plan in plans.items()
    }


def close_to_refused(cluster: ClusterState, observation: WorkflowObservation) -> ClusterState:
    """Close the nodes to operators whose executors the API server refuses: the nodes are not at fault."""
    refused = _refusals(observation)
    closed = {
        name: {
            node: Node(name=node, problem=problem, reason=Reason.POD_REFUSED)
            for node in cluster.nodes.keys() - {*cluster.placements.get(name, ())}
        }
        for name, problem in refused.items()
    }
    starting = {**cluster.starting, **dict.fromkeys(refused, ())}
    return replace(cluster, starting=starting, ineligible={**cluster.ineligible, **closed}) if closed else cluster


def name_refusals(plans: Mapping[str, Plan], observation: WorkflowObservation) -> Mapping[str, Plan]:
    """Name the API server's refusal in the plans that wait for executors."""
    refused = _refusals(observation)
    return {
        name: replace(plan, detail=f"{plan.detail}; {refused[name]}")
        if name in refused and plan.reason in _WAITING
        else plan
        for name, plan in plans.items()
    }


def _refusals(observation: WorkflowObservation) -> Mapping[str, str]:
    return {
        name: str(Problem("executor-refused", {"cause": reading.executor_refusal}))
        for name, reading in observation.readings.items()
        if reading.executor_refusal
    }
