"""Reason and detail of a decision of the sizing rule."""

from gesscale.model.decision import Reason, format_replicas
from gesscale.policies.gesscale import details
from gesscale.policies.gesscale.analysis.sizing import Size, SizingRule, Why


def reason_to_stay(rule: SizingRule, why: Why) -> Reason:
    """Return the reason of a plan without a change."""
    if why is Why.CAN_WAIT and rule.load.expected > rule.present.mid:
        return Reason.CHEAPER_TO_WAIT
    fewer = _next_smaller(rule)
    if why is Why.SMALLER_WAS_TOO_FEW or (
        why is Why.NO_SMALLER and fewer is not None and fewer.low < rule.load.expected <= fewer.mid
    ):
        return Reason.FEWER_WOULD_NOT_SUSTAIN
    return Reason.WITHIN_TARGET


def explain(rule: SizingRule, size: Size, why: Why) -> str:
    """Return the figures of a choice: the load, the capacity of the present replicas, and that of the others."""
    present, load = rule.present, rule.load
    parts = [details.load_and_capacity(load.expected, present.replicas, present.mid)]
    other = _next_smaller(rule) if size == present else size
    if other is not None and why in _COMPARES:
        parts[0] += ", " + details.other_capacity(other.replicas, other.mid, other.low, other.moved)
    if why in {Why.NEEDED, Why.CAN_WAIT, Why.LARGEST} and present.mid >= load.expected:
        parts.append(f"rows wait up to {min(rule.wait_s(present), 1e6):,.0f} s of {rule.allowed_s:.0f}")
    if why is Why.CAN_WAIT:
        parts.append(f"rows stay within {rule.allowed_s:.0f} s until replicas ordered in the next step serve")
    if why is Why.TRIAL:
        parts.append(f"a trial: rows stay within {rule.allowed_s:.0f} s even if they carry {size.low:,.0f}")
    if why is Why.SURPLUS_STAYS and other is not None:
        fewer = present.replicas - other.replicas
        those = f"{format_replicas(fewer)} fewer" if fewer > 0 else "cheaper nodes"
        parts.append(f"{those}, as soon as they have cost as much as a change")
    if why is Why.SMALLER_WAS_TOO_FEW and other is not None:
        load_then = min((each.rows_per_s for each in rule.too_few if other.replicas <= each.replicas), default=0.0)
        were = "was" if other.replicas == 1 else "were"
        parts.append(f"{other.replicas} {were} too few for {load_then:,.0f} within the last hour")
    if other is not None and any(each.unit_price != 1 for each in (present, other)):
        parts.append(f"price {present.price:.3g} now, {other.price:.3g} then")
    return "; ".join(parts)


_COMPARES = frozenset(Why) - {Why.CAN_WAIT, Why.LARGEST}


def _next_smaller(rule: SizingRule) -> Size | None:
    """Return the largest size that costs less than the present one; None if there is none."""
    return next((size for size in reversed(rule.sizes) if size.price < rule.present.price), None)
