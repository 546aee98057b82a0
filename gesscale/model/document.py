"""Domain values as documents: what JSON and YAML can say, for the command line and for knowledge."""

import dataclasses
import math
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any

from gesscale.model.decision import Analysis, Decision, Plan, Rejection
from gesscale.model.observation import OperatorReading
from perfmodel import Model

_OF_OTHERS = frozenset({"others", "other_nodes"})
"""What only a rejection has that stands for more than one node."""


def as_document(value: object) -> Any:  # noqa: PLR0911 - one return for each kind of value
    """Turn domain values into what JSON can say.

    Parameters
    ----------
    value
        Dataclasses, enums, mappings, sequences, sets, numbers, strings or None, nested at will.

    Returns
    -------
    object
        The same with dicts, lists, strings and finite numbers only; NaN and infinities become None.

    Examples
    --------
    >>> as_document({"mst": float("nan"), "nodes": ("a", "b")})
    {'mst': None, 'nodes': ['a', 'b']}
    """
    match value:
        case Enum():
            return value.value
        case float():
            return float(value) if math.isfinite(value) else None
        case None | bool() | int():
            return value
        case str():
            return str(value)
        case Mapping():
            return {str(key): as_document(item) for key, item in value.items()}
        case set() | frozenset():
            return sorted(as_document(item) for item in value)
        case Iterable():
            return [as_document(item) for item in value]
    if dataclasses.is_dataclass(value):
        fields = dataclasses.fields(value)
        return {field.name: as_document(getattr(value, field.name)) for field in fields}
    if hasattr(value, "item"):  # a NumPy scalar
        return as_document(value.item())
    return str(value)


def model_document(model: Model) -> dict[str, Any]:
    """Return what a person needs to judge a fitted model.

    Parameters
    ----------
    model
        Of any law.

    Returns
    -------
    dict
        Law, parameters in the law's units, which of them were fitted, and from how many readings.
    """
    return {
        "law": model.law,
        "parameters": as_document(model.parameters),
        "fitted": sorted(model.fitted),
        "readings_used": model.readings_used,
        "calibrated": model.calibrated,
        "drift": model.drift,
        "warnings": list(model.warnings),
    }


def decision_document(decision: Decision) -> dict[str, Any]:
    """Return a decision with all the numbers that led to it and the candidates that lost.

    Parameters
    ----------
    decision
        Of one operator and step.

    Returns
    -------
    dict
        A few kilobytes at most: of the batches behind the reading only their number is kept.
    """
    return {
        "at_s": decision.at_s,
        "operator": decision.operator,
        "policy": decision.policy,
        "reason": decision.plan.reason.value,
        "acted": decision.acted,
        "sentence": decision.sentence,
        "analysis": _analysis_document(decision.analysis),
        "plan": _plan_document(decision.plan),
        "outcome": as_document(decision.outcome),
        "latency_map": as_document(decision.latency_map),
        "unfit": _rejections_document(decision.unfit),
    }


def _plan_document(plan: Plan) -> dict[str, Any]:
    bare = as_document(dataclasses.replace(plan, rejections=()))
    return {
        **bare,
        "rejections": _rejections_document(plan.rejections),
        "change": as_document(plan.change),
    }


def _rejections_document(rejections: Iterable[Rejection]) -> list[dict[str, Any]]:
    return [
        {name: value for name, value in as_document(each).items() if value or name not in _OF_OTHERS}
        for each in rejections
    ]


def _analysis_document(analysis: Analysis) -> dict[str, Any]:
    replaced = {"reading", "model", "memo"}
    plain = {
        field.name: as_document(getattr(analysis, field.name))
        for field in dataclasses.fields(analysis)
        if field.name not in replaced
    }
    return {
        **plain,
        "reading": None if analysis.reading is None else _reading_document(analysis.reading),
        "model": None if analysis.model is None else model_document(analysis.model),
    }


def _reading_document(reading: OperatorReading) -> dict[str, Any]:
    counted = {"batches": len(reading.batches), "warm_batches": len(reading.warm_batches)}
    bare = dataclasses.replace(reading, batches=(), warm_batches=())
    return {**as_document(bare), **counted, "warm_rows_per_s": as_document(reading.warm_rows_per_s)}
