"""Names of version 0.1 and what they are called now.

A settings file or a resource with an old name is refused with the new one. A record of a run, and the decisions that a
knowledge file keeps, are read with their old names, since they are not rewritten.
"""

from collections.abc import Collection, Mapping
from typing import Any

from pydantic.alias_generators import to_camel

SETTINGS: Mapping[str, str] = {
    "busy_most_share": "max_busy_share",
    "hold_off": "stabilization_window",
    "most_down": "max_step_down",
    "most_up": "max_step_up",
    "reconfigurations_per_operator": "orders_per_operator",
    "samples_while_cooling": "samples_during_cooldown",
    "scale_down_window": "scale_down_stabilization",
    "settle_timeout": "rescale_timeout",
    "slack_threshold_pct": "headroom_threshold_pct",
    "told_weights": "reported_weights",
    "warmup": "warm_up",
}
"""Settings by their old name; the resource has the same in camelCase."""

VALUES: Mapping[tuple[str, object], str] = {
    ("node_choice", "drawn"): "random",
    ("nodeChoice", "drawn"): "random",
}
"""Values by setting and old value."""

_FIGURES: Mapping[str, str] = {"slack_pct": "headroom_pct", "wanted_replicas": "desired_replicas"}
_REASONS: Mapping[object, str] = {"NotDrawn": "NotSelected"}


def new_name(old: str, known: Collection[str]) -> str | None:
    """Return what a setting is called now; None where none of the known ones had that name.

    Examples
    --------
    >>> new_name("hold_off", ["stabilization_window"]), new_name("holdOff", ["stabilizationWindow"])
    ('stabilization_window', 'stabilizationWindow')
    """
    spelled = ((before, now) for pair in SETTINGS.items() for before, now in (pair, map(to_camel, pair)))
    return next((now for before, now in spelled if before == old and now in known), None)


def settings_with_new_names(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a record under today's names.

    Parameters
    ----------
    document
        Nested mappings, as the file holds them.

    Examples
    --------
    >>> settings_with_new_names({"plan": {"settle_timeout": "60s"}, "analyze": {"node_choice": "drawn"}})
    {'plan': {'rescale_timeout': '60s'}, 'analyze': {'node_choice': 'random'}}
    """
    return {
        SETTINGS.get(name, name): settings_with_new_names(value)
        if isinstance(value, Mapping)
        else VALUES.get((name, value), value)
        if isinstance(value, str)
        else value
        for name, value in document.items()
    }


def decision_with_new_names(document: Any) -> Any:
    """Return the document of a decision as `gesscale.model.document.decision_document` would write it today.

    Parameters
    ----------
    document
        Of any version; what is no such document is returned as it is.

    Examples
    --------
    >>> decision_with_new_names({"analysis": {"slack_pct": 40.0}, "plan": {"rejections": [{"reason": "NotDrawn"}]}})
    {'analysis': {'headroom_pct': 40.0}, 'plan': {'rejections': [{'reason': 'NotSelected'}]}}
    """
    if not isinstance(document, Mapping):
        return document
    renamed = dict(document)
    analysis, plan = document.get("analysis"), document.get("plan")
    if isinstance(analysis, Mapping):
        renamed["analysis"] = {_FIGURES.get(name, name): value for name, value in analysis.items()}
    if isinstance(plan, Mapping) and isinstance(plan.get("rejections"), list):
        renamed["plan"] = {**plan, "rejections": [_rejection(each) for each in plan["rejections"]]}
    return renamed


def _rejection(document: Any) -> Any:
    if not isinstance(document, Mapping) or not isinstance(document.get("reason"), str):
        return document
    return {**document, "reason": _REASONS.get(document["reason"], document["reason"])}
