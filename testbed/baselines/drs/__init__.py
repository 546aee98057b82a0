"""DRS: its settings, its queues and the policy."""

from gesscale.policies.card import ON_NODES, PolicyCard, on_nodes_as_told
from testbed.baselines.drs.policy import DrsPolicy
from testbed.baselines.drs.settings import DrsSettings

CARD = PolicyCard(
    name="drs",
    summary="the fewest replicas with which a network of queues promises the latency, by measured rates",
    source="Fu et al., DRS, ICDCS 2015 and IEEE/ACM ToN 2017; the baseline of AuTraScale+",
    build=on_nodes_as_told(DrsPolicy),
    settings=DrsSettings,
    accepts=ON_NODES,
    guide="reference/policies/drs.md",
)
