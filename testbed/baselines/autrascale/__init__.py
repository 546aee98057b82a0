"""AuTraScale+: its settings, what it computes, its steps, what it remembers, and the policy they make up."""

from gesscale.policies.card import ON_NODES, PolicyCard, on_nodes_as_told
from testbed.baselines.autrascale.policy import AutrascalePolicy
from testbed.baselines.autrascale.settings import AutrascaleSettings

CARD = PolicyCard(
    name="autrascale",
    summary="throughput, latency and backlog one after the other, by trial and Gaussian processes",
    source="Zhang et al., Bayesian-Driven Automated Scaling (AuTraScale+), IEEE TPDS 2024",
    build=on_nodes_as_told(AutrascalePolicy),
    settings=AutrascaleSettings,
    accepts=ON_NODES,
    guide="reference/policies/autrascale.md",
    needs=("autrascale", "sklearn"),
)
