"""The policy `gesscale`: the fewest replicas that carry the expected load within the objective."""

from gesscale.policies.gesscale.policy import GesscalePolicy
from gesscale.policies.gesscale.settings import GesscaleSettings
from gesscale.policies.registry import PolicyInfo

POLICY = PolicyInfo(
    name="gesscale",
    summary="fewest replicas that carry the expected load and keep rows within the objective",
    source="this project; from the model of Arkian et al., Gesscale, ICCCN 2021",
    build=GesscalePolicy,
    settings=GesscaleSettings,
    accepts=("stabilization_window_s",),
    guide="reference/policies/gesscale.md",
    knows_price=True,
)
