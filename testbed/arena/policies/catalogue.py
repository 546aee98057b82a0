"""The policies of the arena: those of gesscale, those that know the load, and anybody's own."""

from collections.abc import Mapping

from gesscale.errors import InputError
from gesscale.options import PolicyOptions
from gesscale.policies import policy_names as names_of_gesscale
from gesscale.policies.registry import any_card, own_card, unknown_policy
from gesscale.ports import Policy
from testbed.arena.policies.foresight import foresight
from testbed.arena.policies.oracle import OraclePolicy, ideal_replicas
from testbed.arena.policies.oracle_names import FORESIGHT, IDEAL
from testbed.arena.worlds.scenes import World


def policy_names() -> Mapping[str, str]:
    """Return each policy's name with one line on what it does."""
    own = {
        IDEAL: "the oracle: knows load and backlog, and changes take no time (for the metrics, not to be had)",
        FORESIGHT: "the reference: knows the load and the capacities, and follows the cheapest plan of the run",
    }
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
        raise InputError(unknown_policy(name, policy_names()))


def build_policy(name: str, world: World, rules: PolicyOptions) -> Policy:
    """Build a policy for a run.

    Parameters
    ----------
    name
        One of `policy_names`, or one's own, by file or module.
    world
        Where it runs. Only who knows the load gets more of it than the workflow.
    rules
        Its thresholds.

    Raises
    ------
    InputError
        When there is no such policy. What one's own callable raises is not caught.
    """
    check_policy(name)
    if name == IDEAL:
        return OraclePolicy(name=name, replicas=ideal_replicas(world.scene, world.best), best=world.best)
    if name == FORESIGHT:
        return OraclePolicy(name=name, replicas=foresight(world), best=world.best)
    return any_card(name).built(world.scene.workflow, rules)
