"""The policy `gesscale2`: minimises the expected cost of replicas, lateness and changes."""

from gesscale.policies.gesscale2.policy import Gesscale2Policy
from gesscale.policies.gesscale2.settings import Gesscale2Settings
from gesscale.policies.registry import PolicyInfo

POLICY = PolicyInfo(
    name="gesscale2",
    summary="lowest expected cost: replica-minutes, late minutes and changes in one currency",
    source="this project; from the model of Arkian et al., Gesscale, ICCCN 2021",
    build=Gesscale2Policy,
    settings=Gesscale2Settings,
    accepts=("stabilization_window_s",),
    guide="reference/policies/gesscale2.md",
)
