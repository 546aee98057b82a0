"""Daedalus: its settings, what it computes, what it remembers, and the policy they make up."""

from gesscale.policies.card import ON_NODES, PolicyCard, on_nodes_as_told
from testbed.baselines.daedalus.policy import DaedalusPolicy
from testbed.baselines.daedalus.settings import DaedalusSettings

CARD = PolicyCard(
    name="daedalus",
    summary="the fewest replicas that carry the input, catch up in time after a stop, and carry the forecast",
    source="Pfister, Scheinert, Geldenhuys, Kao, Daedalus, ICPE 2024",
    build=on_nodes_as_told(DaedalusPolicy),
    settings=DaedalusSettings,
    accepts=ON_NODES,
    guide="reference/policies/daedalus.md",
    needs=("daedalus", "statsmodels"),
)
