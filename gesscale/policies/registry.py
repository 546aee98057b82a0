"""The policies by name, and the settings they share."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from gesscale.errors import SettingsError
from gesscale.options import PolicyOptions
from gesscale.policies.gesscale import GesscalePolicy
from gesscale.policies.static import StaticPolicy
from gesscale.policies.threshold import ThresholdPolicy
from gesscale.ports import Policy
from gesscale.workflow import Workflow


@dataclass(frozen=True, slots=True)
class _Entry:
    summary: str
    build: Callable[[Workflow, PolicyOptions], Policy]


_POLICIES: Mapping[str, _Entry] = {
    "gesscale": _Entry("the performance model of Eq. 1-3 and the latency map", GesscalePolicy),
    "mdl-nlunaware": _Entry(
        "Eq. 2 alone, which knows no delays; nodes drawn at random",
        lambda workflow, options: GesscalePolicy(workflow, options, latency_aware=False),
    ),
    "static": _Entry("as many replicas as it began with", StaticPolicy),
    "thr-nlaware": _Entry("CPU thresholds; nearest node added, farthest removed", ThresholdPolicy),
    "thr-nlunaware": _Entry(
        "CPU thresholds; nodes drawn at random",
        lambda workflow, options: ThresholdPolicy(workflow, options, latency_aware=False),
    ),
}


def policy_names() -> Mapping[str, str]:
    """Return each policy's name with one line on what it does."""
    return {name: entry.summary for name, entry in _POLICIES.items()}


def policy_named(name: str, workflow: Workflow, options: PolicyOptions) -> Policy:
    """Build a policy.

    Parameters
    ----------
    name
        One of `policy_names`.
    workflow
        What it is to scale.
    options
        What it is told.

    Returns
    -------
    Policy
        Ready for the loop.

    Raises
    ------
    SettingsError
        When there is no policy of that name.
    """
    if name not in _POLICIES:
        message = f"there is no policy {name!r}; choose one of {', '.join(_POLICIES)}"
        raise SettingsError(message)
    return _POLICIES[name].build(workflow, options)
