"""What is kept of a decision, and how much of it."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from gesscale.errors import InputError, KnowledgeError
from gesscale.model.decision import Decision
from gesscale.model.order import Order
from gesscale.ports import Knowledge

PARAMETER_TOLERANCE = 0.01
"""Relative change of a parameter that makes a new version of a model: below it a refit is only noise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnowledgeLimits:
    """How many rows of each kind are kept per operator, the newest; the settings explain the defaults.

    Saturated and other readings are counted apart: a long calm must not push out the few that tell the MST.
    """

    readings_per_operator: int = 200
    models_per_operator: int = 100
    decisions_per_operator: int = 10_000
    orders_per_operator: int = 200

    def __post_init__(self) -> None:
        for item in fields(self):
            if getattr(self, item.name) < 1:
                message = f"{item.name}: expected at least 1 row, got {getattr(self, item.name)}"
                raise InputError(message)


def order_of(decision: Decision) -> Order | None:
    """Return the order that a decision gave; None where it did not act."""
    if not decision.acted:
        return None
    plan = decision.plan
    return Order(
        placement=plan.placement, at_s=decision.at_s, before=len(plan.before), reason=plan.reason.value
    )


def unknown_order(operator: str, order: Order) -> KnowledgeError:
    """Return the error of a store that is to settle an order that it does not hold."""
    return KnowledgeError(f"no order of operator {operator!r} at {order.at_s} s is known")


def operators_of(known: Knowledge) -> tuple[str, ...]:
    """Return the operators with any knowledge, by name."""
    return tuple(sorted(known.readings.keys() | known.orders.keys() | known.memos.keys()))


def is_new_version(previous: Mapping[str, Any] | None, model: Mapping[str, Any]) -> bool:
    """Say whether a model differs noticeably from the version kept last.

    Parameters
    ----------
    previous, model
        Documents of `gesscale.model.decision.ModelSummary`; None where there is no previous one.

    Returns
    -------
    bool
        True for another law, other fitted parameters, a change of ``calibrated`` or ``drift``, or a
        parameter that moved by more than 1 %.
    """
    if previous is None or any(
        previous[key] != model[key] for key in ("law", "fitted", "calibrated", "drift")
    ):
        return True
    before, after = previous["parameters"], model["parameters"]
    return before.keys() != after.keys() or any(_moved(before[name], after[name]) for name in after)


def _moved(before: float | None, after: float | None) -> bool:
    if before is None or after is None:
        return before is not after
    return abs(after - before) > PARAMETER_TOLERANCE * max(abs(before), abs(after))
