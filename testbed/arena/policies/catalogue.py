"""The policies of the arena: those of gesscale, the oracle, and anybody's own."""

from collections.abc import Mapping

from gesscale.errors import InputError
from gesscale.options import PolicyOptions
from gesscale.policies import policy_names as names_of_gesscale
from gesscale.policies.loading import OWN
from gesscale.policies.registry import any_card, own_card, unusable
from gesscale.ports import Policy
from gesscale.words import suggestion
from testbed.arena.policies.oracle import OraclePolicy
from testbed.simulator.demand import BestPlacements
from testbed.simulator.scene import Scene

IDEAL = "ideal"
STATIC = "static"
"""Begins with the replicas that the peak of its load needs; it would otherwise have one for ever."""


def policy_names() -> Mapping[str, str]:
    """Return each policy's name with one line on what it does."""
    own = {IDEAL: "the oracle: knows the load, and changes take no time (for the metrics, not to be had)"}
    return dict(sorted({**names_of_gesscale(), **own}.items()))


def check_policy(name: str) -> None:
    """Check that there is such a policy; one's own is imported.

    Raises
    ------
    InputError
        When there is none, or it cannot be imported.
    """
    if ":" in name:
        own_card(name)
    elif name not in policy_names():
        hint = f"{suggestion(name, policy_names())} One's own is named {OWN}"
        message = unusable().get(name, f"there is no policy {name!r}; {hint}")
        raise InputError(message)


def build_policy(name: str, scene: Scene, rules: PolicyOptions, best: Mapping[str, BestPlacements]) -> Policy:
    """Build a policy for a run.

    Parameters
    ----------
    name
        One of `policy_names`, or one's own, by file or module.
    scene
        Where it runs.
    rules
        Its thresholds.
    best
        The best placements of each operator; for the oracle only.

    Raises
    ------
    InputError
        When there is no such policy. What one's own callable raises is not caught.
    """
    check_policy(name)
    if name == IDEAL:
        return OraclePolicy(scene=scene, best=best)
    return any_card(name).built(scene.workflow, rules)
