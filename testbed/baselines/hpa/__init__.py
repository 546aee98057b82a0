"""The Horizontal Pod Autoscaler for single operators: two sets of settings, two policies."""

from gesscale.policies.card import ON_NODES, PolicyCard, on_nodes_as_told
from testbed.baselines.hpa.policy import HpaCpuPolicy, HpaVargaPolicy
from testbed.baselines.hpa.settings import HpaCpuSettings, HpaVargaSettings

CPU_CARD = PolicyCard(
    name="hpa-cpu",
    summary="the Horizontal Pod Autoscaler for each operator, on its CPU",
    source="the Kubernetes documentation; as in Kanis, TU Delft 2023, section 6.7.3",
    build=on_nodes_as_told(HpaCpuPolicy),
    settings=HpaCpuSettings,
    accepts=ON_NODES,
    guide="reference/policies/hpa.md",
)
VARGA_CARD = PolicyCard(
    name="hpa-varga",
    summary="the same on utilisation and, at a bottleneck, on how fast the lag grows",
    source="Varga et al., 2021; as in Kanis, TU Delft 2023, section 6.7.4",
    build=on_nodes_as_told(HpaVargaPolicy),
    settings=HpaVargaSettings,
    accepts=("back_pressure_threshold", *ON_NODES),
    guide="reference/policies/hpa.md",
)
