"""From the replicas that a policy proposes to those that are permitted: growth, limits, and sharing what is scarce.

The order of the steps is that of the scale manager in Kanis (2023), section 6.6.4. It leaves open how its proportional
sharing rounds. Here shares go by largest remainder: their sum is exact, and each operator keeps a replica.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from gesscale.model.workflow import Operator

ROUNDING = 1e-9
"""How far a figure may lie from a whole number and still count as one: 5 x 0.14 / 0.7 is 1, not a little more."""


def ceiling(value: float) -> int:
    """Return the least whole number that is not below a value, for which rounding errors do not count.

    Examples
    --------
    >>> ceiling(5 * 0.14 / 0.7 * 1.0000000000000002), ceiling(1.01)
    (1, 2)
    """
    return math.ceil(value - ROUNDING)


def floor(value: float) -> int:
    """Return the greatest whole number that is not above a value, for which rounding errors do not count."""
    return math.floor(value + ROUNDING)


@dataclass(frozen=True, slots=True, kw_only=True)
class GrowthLimits:
    """What limits a proposal, in addition to the limits of its operator.

    Attributes
    ----------
    over_provision
        Factor on every proposal, at least 1.
    max_step_up, max_step_down
        Replicas of an operator that one change adds or removes at most; None: any number.
    total
        Replicas of all operators together; None: any number.
    """

    over_provision: float = 1.0
    max_step_up: int | None = None
    max_step_down: int | None = None
    total: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """How many replicas an operator may have.

    Attributes
    ----------
    replicas
        The number.
    limits
        What kept it from the proposal, in words; empty where nothing did.
    """

    replicas: int
    limits: tuple[str, ...] = ()


def targets(
    proposals: Mapping[str, int],
    present: Mapping[str, int],
    operators: Mapping[str, Operator],
    growth: GrowthLimits,
) -> Mapping[str, Target]:
    """Return what each operator may have of what is proposed for it.

    Parameters
    ----------
    proposals
        Replicas by operator; those that are not listed keep what they have.
    present
        Replicas now, of every operator that holds some.
    operators
        With their limits.
    growth
        What else holds.

    Returns
    -------
    Mapping of str to Target
        Of each proposal: times `over_provision` and rounded up, at most so many more or fewer than now, within
        ``min_replicas`` and ``max_replicas``, and sharing `total` where all together exceed it.
    """
    found = {
        name: _alone(proposal, present[name], operators[name], growth) for name, proposal in proposals.items()
    }
    if growth.total is None:
        return found
    others = sum(count for name, count in present.items() if name not in proposals)
    asked = {name: target.replicas for name, target in found.items()}
    if sum(asked.values()) + others <= growth.total:
        return found
    least = {name: operators[name].min_replicas for name in asked}
    shares = share_out(asked, max(0, growth.total - others), least)
    return {
        name: target
        if shares[name] == target.replicas
        else Target(
            replicas=shares[name],
            limits=(*target.limits, f"of {target.replicas} its share of {growth.total} replicas in all"),
        )
        for name, target in found.items()
    }


def share_out(proposals: Mapping[str, int], total: int, least: Mapping[str, int]) -> Mapping[str, int]:
    """Share replicas out in proportion to what is proposed beyond the least.

    Parameters
    ----------
    proposals
        Replicas by operator, each at least its least.
    total
        How many there are.
    least
        What each has in any case, even where these together exceed the total.

    Returns
    -------
    Mapping of str to int
        By largest remainder, among equals in the order of the proposals; never more than proposed.

    Examples
    --------
    The thesis's example (Kanis 2023, 6.4.1): of 60 proposed, 30 are there.

    >>> share_out({"a": 10, "b": 30, "c": 20}, 30, {"a": 1, "b": 1, "c": 1})
    {'a': 5, 'b': 15, 'c': 10}
    """
    beyond = {name: proposal - least[name] for name, proposal in proposals.items()}
    there, wanted = max(0, total - sum(least[name] for name in proposals)), sum(beyond.values())
    if wanted <= there:
        return dict(proposals)
    exact = {name: there * extra / wanted for name, extra in beyond.items()}
    shares = {name: floor(share) for name, share in exact.items()}
    order = sorted(exact, key=lambda name: shares[name] - exact[name])
    for name in order[: there - sum(shares.values())]:
        shares[name] += 1
    return {name: least[name] + shares[name] for name in proposals}


def _alone(proposal: int, now: int, operator: Operator, growth: GrowthLimits) -> Target:
    replicas = ceiling(max(0, proposal) * growth.over_provision)
    limits: list[str] = []
    if growth.max_step_up is not None and replicas > now + growth.max_step_up:
        replicas = now + growth.max_step_up
        limits.append(f"at most {growth.max_step_up} more at once")
    if growth.max_step_down is not None and replicas < now - growth.max_step_down:
        replicas = now - growth.max_step_down
        limits.append(f"at most {growth.max_step_down} fewer at once")
    if replicas > operator.max_replicas:
        replicas = operator.max_replicas
        limits.append(f"max_replicas is {operator.max_replicas}")
    if replicas < operator.min_replicas:
        replicas = operator.min_replicas
        limits.append(f"min_replicas is {operator.min_replicas}")
    return Target(replicas=replicas, limits=tuple(limits))
