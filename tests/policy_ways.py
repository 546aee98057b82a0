"""Pods as deploy/k3s and its users have them, and which of them may reach which under its NetworkPolicies.

Places are NAMESPACE/NAME, by the namespaces of the manifests; ``watchers`` is where Prometheus is.
"""

CONTROLLER = {"app.kubernetes.io/name": "gesscale", "app.kubernetes.io/component": "controller"}
AGENT = {"app.kubernetes.io/name": "gesscale", "app.kubernetes.io/component": "probe"}
DRIVER = {"spark-role": "driver", "gesscale.dev/autoscaler": "taxi"}

WATCHERS = {"gesscale.dev/monitoring": "true"}
"""Labels of the namespace of Prometheus."""
PODS = {
    "gesscale/controller": ("near", CONTROLLER),
    "gesscale/agent-near": ("near", AGENT),
    "gesscale/agent-far": ("far", AGENT),
    "gesscale/other": ("mid", {}),
    "taxi/driver-near": ("near", DRIVER),
    "taxi/driver-far": ("far", DRIVER),
    "taxi/stranger": ("near", {}),
    "taxi/unnamed-driver": ("mid", {"spark-role": "driver"}),
    "taxi/kafka": ("mid", {"app.kubernetes.io/name": "kafka"}),
    "watchers/prometheus": ("far", {"app.kubernetes.io/name": "prometheus"}),
}
"""Which of three nodes each is on, and its labels."""
POLICIES = ("base/networkpolicy.yaml", "controller/networkpolicy.yaml", "latency-agent/networkpolicy.yaml")

ALLOWED = (
    ("gesscale/controller", "taxi/driver-near", 9108),
    ("gesscale/controller", "taxi/driver-far", 9108),
    ("gesscale/controller", "gesscale/agent-near", 9109),
    ("gesscale/controller", "gesscale/agent-far", 9109),
    ("gesscale/agent-near", "gesscale/agent-far", 9109),
    ("watchers/prometheus", "gesscale/controller", 8080),
    ("watchers/prometheus", "gesscale/agent-near", 9109),
)
DENIED = (
    ("gesscale/controller", "taxi/driver-near", 9999),  # another port of a driver
    ("gesscale/controller", "taxi/driver-far", 9999),
    ("gesscale/controller", "taxi/stranger", 9108),  # a port of drivers, of no driver
    ("gesscale/controller", "taxi/unnamed-driver", 9108),
    ("gesscale/controller", "gesscale/agent-far", 8080),
    ("gesscale/controller", "gesscale/other", 9109),
    ("gesscale/agent-near", "gesscale/controller", 8080),
    ("gesscale/agent-near", "taxi/driver-near", 9108),
    ("gesscale/other", "gesscale/agent-near", 9109),
    ("gesscale/other", "taxi/stranger", 8080),
    ("taxi/stranger", "gesscale/controller", 8080),
    ("taxi/driver-far", "gesscale/controller", 8080),
    ("taxi/stranger", "gesscale/agent-near", 9109),
    ("watchers/prometheus", "gesscale/controller", 9999),
)
OPTED_IN = (
    ("gesscale/controller", "taxi/kafka", 9092, "components/kafka-egress/networkpolicy.yaml"),
    ("gesscale/controller", "watchers/prometheus", 9090, "components/prometheus-egress/networkpolicy.yaml"),
)
