"""DS2: its settings and the policy."""

from gesscale.policies.card import ON_NODES, PolicyCard, on_nodes_as_told
from testbed.baselines.ds2.policy import Ds2Policy
from testbed.baselines.ds2.settings import Ds2Settings

CARD = PolicyCard(
    name="ds2",
    summary="true rates, pushed down the workflow, size all operators in one decision",
    source="Kalavri et al., Three steps is all you need, OSDI 2018; as in Kanis, TU Delft 2023, section 6.7.2",
    build=on_nodes_as_told(Ds2Policy),
    settings=Ds2Settings,
    accepts=ON_NODES,
    guide="reference/policies/ds2.md",
)
