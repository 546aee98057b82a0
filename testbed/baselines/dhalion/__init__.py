"""Dhalion: its settings and the policy."""

from gesscale.policies.card import ON_NODES, PolicyCard, on_nodes_as_told
from testbed.baselines.dhalion.policy import DhalionPolicy
from testbed.baselines.dhalion.settings import DhalionSettings

CARD = PolicyCard(
    name="dhalion",
    summary="bottlenecks grow by the share of their load left undone; without any, operators shrink by a fifth",
    source="Floratou et al., Dhalion, VLDB 2017; as in Kanis, TU Delft 2023, section 6.7.1",
    build=on_nodes_as_told(DhalionPolicy),
    settings=DhalionSettings,
    accepts=("back_pressure_threshold", *ON_NODES),
    guide="reference/policies/dhalion.md",
)
