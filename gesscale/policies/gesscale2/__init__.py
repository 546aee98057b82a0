"""Replicas by expected bill: its settings and the policy."""

from gesscale.policies.card import PolicyCard
from gesscale.policies.gesscale2.policy import Gesscale2Policy
from gesscale.policies.gesscale2.settings import Gesscale2Settings


def _build(workflow, options, sizing):
    return Gesscale2Policy(workflow, options, sizing)


CARD = PolicyCard(
    name="gesscale2",
    summary="the number of replicas and the nodes of the least expected bill",
    source="Arkian, Pierre, Tordsson, Elmroth, Gesscale, ICCCN 2021, carried on",
    build=_build,
    settings=Gesscale2Settings,
    accepts=("stabilization_window_s",),
    guide="policies/gesscale2.md",
)
