"""The policy `gesscale`: minimises the expected cost of replicas, lateness and changes."""

from gesscale.policies.gesscale.policy import GesscalePolicy
from gesscale.policies.gesscale.settings import GesscaleSettings
from gesscale.policies.registry import PolicyInfo

POLICY = PolicyInfo(
    name="gesscale",
    summary="lowest expected cost: replica-minutes, late minutes and changes in one currency",
    source="this project; from the model of Arkian et al., Gesscale, ICCCN 2021",
    build=GesscalePolicy,
    settings=GesscaleSettings,
    accepts=("stabilization_window_s",),
    guide="reference/policies/gesscale.md",
)
