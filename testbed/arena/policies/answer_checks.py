"""What is wrong with a policy's answer: the first fault in words, or nothing."""

import math
from collections.abc import Mapping

from gesscale.model.decision import Analysis, Plan, Reason, Rejection, Verdict
from gesscale.model.observation import OperatorReading
from gesscale.model.workflow import Operator, Workflow
from gesscale.ports import ClusterState
from perfmodel import Estimate, Reading

_SHOWN = 60
_OF_A_MODEL = ("law", "parameters", "fitted", "readings_used", "calibrated", "drift", "warnings", "predict")


def fault_of_analyses(analyses: object, workflow: Workflow) -> str:
    """Say what is wrong with what Analyze returned.

    Parameters
    ----------
    analyses
        Anything at all.
    workflow
        Of which every operator is to be answered for, and no other.

    Returns
    -------
    str
        What was expected and what came; empty where nothing is wrong.
    """
    if not isinstance(analyses, Mapping):
        return f"expected a mapping of operators to analyses, got {shown(analyses)}"
    if fault := _fault_of_names(analyses, workflow):
        return fault
    for name, analysis in analyses.items():
        if fault := _fault_of_analysis(name, analysis):
            return f"operator {name}: {fault}"
    return ""


def fault_of_plans(plans: object, workflow: Workflow, cluster: ClusterState) -> str:
    """Say what is wrong with what Plan returned.

    Parameters
    ----------
    plans
        Anything at all.
    workflow
        Of which every operator is to be answered for, and no other, within its limits.
    cluster
        The nodes there are, and where replicas are.

    Returns
    -------
    str
        What was expected and what came; empty where nothing is wrong.
    """
    if not isinstance(plans, Mapping):
        return f"expected a mapping of operators to plans, got {shown(plans)}"
    if fault := _fault_of_names(plans, workflow):
        return fault
    for name, plan in plans.items():
        if fault := _fault_of_plan(name, plan) or _fault_of_change(plan, workflow.operators[name], cluster):
            return f"operator {name}: {fault}"
    return ""


def shown(value: object) -> str:
    """Return any value in a few characters of one line; one that cannot be shown by its type."""
    try:
        text = " ".join(repr(value).split())
    except Exception:  # noqa: BLE001 - a policy's own object may do anything when it is shown
        return f"a {type(value).__name__}"
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."


def _fault_of_names(answers: Mapping[object, object], workflow: Workflow) -> str:
    if answers.keys() == workflow.operators.keys():
        return ""
    missing = [name for name in workflow.operators if name not in answers]
    unknown = [name for name in answers if name not in workflow.operators]
    if missing:
        return f"nothing was said of operator {missing[0]!r}; every operator needs an answer"
    if unknown:
        return (
            f"operator {shown(unknown[0])} is not of the workflow, which has {', '.join(workflow.operators)}"
        )
    return ""


def _fault_of_analysis(name: str, analysis: object) -> str:
    if not isinstance(analysis, Analysis):
        return f"expected an Analysis, got {shown(analysis)}"
    return (
        _differs("operator", analysis.operator, name)
        or _is_no("verdict", analysis.verdict, Verdict)
        or _is_no("reason", analysis.reason, Reason)
        or _is_no("detail", analysis.detail, str)
        or _is_no("reading", analysis.reading, OperatorReading, optional=True)
        or _are_no("evidence", analysis.evidence, Reading)
        or _is_no_estimate(analysis.mst)
        or _is_no_number("nd_max_ms", analysis.nd_max_ms)
        or _is_no_number("headroom_pct", analysis.headroom_pct)
        or _is_no_model(analysis.model)
    )


def _fault_of_plan(name: str, plan: object) -> str:
    if not isinstance(plan, Plan):
        return f"expected a Plan, got {shown(plan)}"
    return (
        _differs("operator", plan.operator, name)
        or _is_no("reason", plan.reason, Reason)
        or _is_no("detail", plan.detail, str)
        or _are_no("before", plan.before, str)
        or _are_no("placement", plan.placement, str)
        or _are_no("rejections", plan.rejections, Rejection)
        or _is_no_estimate(plan.mst)
        or _is_no_number("nd_max_ms", plan.nd_max_ms)
    )


def _fault_of_change(plan: Plan, operator: Operator, cluster: ClusterState) -> str:
    if plan.placement == plan.before or operator.name not in cluster.placements:
        return ""  # an operator whose driver is down is not listed; the cluster refuses the order, which is no foul
    present, after = tuple(sorted(cluster.placements[operator.name])), plan.placement
    unknown = [node for node in after if node not in cluster.nodes]
    grows = bool(set(after) - set(present))
    fault = ""
    if plan.before != present:
        fault = f"expected a plan from the present placement, {_nodes(present)}, got {shown(plan.before)}"
    elif after != tuple(sorted(set(after))):
        fault = f"expected a placement that is sorted and names each node once, got {shown(after)}"
    elif unknown:
        fault = f"asked for node {unknown[0]!r}, which is not among {', '.join(cluster.nodes)}"
    elif grows and len(after) > operator.max_replicas:
        fault = f"asked for {len(after)} replicas, max_replicas is {operator.max_replicas}"
    elif not set(present) <= set(after) and len(after) < operator.min_replicas:
        fault = f"asked for {len(after)} replicas, min_replicas is {operator.min_replicas}"
    return fault


def _nodes(names: tuple[str, ...]) -> str:
    return ", ".join(names) or "no node"


def _differs(what: str, value: object, expected: str) -> str:
    return "" if value == expected else f"expected {what} {expected!r}, got {shown(value)}"


def _is_no(what: str, value: object, kind: type, *, optional: bool = False) -> str:
    if isinstance(value, kind) or (optional and value is None):
        return ""
    return f"expected {what} to be a {kind.__name__}{' or None' if optional else ''}, got {shown(value)}"


def _are_no(what: str, values: object, kind: type) -> str:
    if isinstance(values, tuple) and all(isinstance(value, kind) for value in values):
        return ""
    return f"expected {what} to be a tuple of {kind.__name__}, got {shown(values)}"


def _is_no_number(what: str, value: object) -> str:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if value is None or (number and math.isfinite(value)):  # type: ignore[arg-type]  # a number by then
        return ""
    return f"expected {what} to be a finite number or None, got {shown(value)}"


def _is_no_estimate(value: object) -> str:
    if value is None:
        return ""
    if not isinstance(value, Estimate):
        return f"expected mst to be an Estimate or None, got {shown(value)}"
    return next(filter(None, (_is_no_number("mst", end) for end in (value.low, value.mid, value.high))), "")


def _is_no_model(value: object) -> str:
    lacks = [name for name in _OF_A_MODEL if value is not None and not hasattr(value, name)]
    return f"expected model to be a perfmodel.Model or None, got one without {lacks[0]}" if lacks else ""
