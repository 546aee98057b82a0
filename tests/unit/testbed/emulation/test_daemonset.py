"""The manifest that Kubernetes gets."""

import numpy as np
import pytest
import yaml

from latency_map import LatencyMap
from latency_map.emulate.hosts import number_hosts
from latency_map.emulate.plan import tc_plan
from latency_map.emulate.script import ScriptAction, render_script
from testbed.emulation.daemonset import render_daemonset


def plan_of(size):
    names = [f"edge{number}" for number in range(1, size + 1)]
    latencies = LatencyMap(names=tuple(names), rtt_ms=20 * (1 - np.eye(size)))
    return tc_plan(latencies, number_hosts(names, "10.0.0.0/16", device="ens3"))


def parts(manifest):
    *config_maps, daemonset = yaml.safe_load_all(manifest)
    return config_maps, daemonset


def test_every_node_finds_its_scripts_by_its_name():
    plan = plan_of(3)
    config_maps, daemonset = parts(render_daemonset(plan, namespace="lab", image="my/tc:1"))
    assert [(part["kind"], part["metadata"]["namespace"]) for part in (*config_maps, daemonset)] == [
        ("ConfigMap", "lab"),
        ("DaemonSet", "lab"),
    ]
    scripts = config_maps[0]["data"]
    assert set(scripts) == {
        "run.sh",
        *(f"{action}-edge{number}.sh" for action in ("apply", "undo") for number in (1, 2, 3)),
    }
    assert scripts["apply-edge2.sh"] == render_script(plan.node("edge2"), ScriptAction.APPLY)
    pod = daemonset["spec"]["template"]["spec"]
    assert pod["containers"][0]["env"][0] == {
        "name": "NODE_NAME",
        "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}},
    }
    assert pod["containers"][0]["image"] == "my/tc:1"


def test_pods_run_on_the_nodes_of_the_map_with_the_right_to_their_network_alone():
    pod = parts(render_daemonset(plan_of(2)))[1]["spec"]["template"]["spec"]
    rights = pod["containers"][0]["securityContext"]
    assert pod["hostNetwork"] is True
    assert rights["capabilities"] == {"drop": ["ALL"], "add": ["NET_ADMIN"]}
    assert rights["allowPrivilegeEscalation"] is False
    assert "privileged" not in rights
    assert pod["automountServiceAccountToken"] is False
    terms = pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert terms["nodeSelectorTerms"][0]["matchExpressions"] == [
        {"key": "kubernetes.io/hostname", "operator": "In", "values": ["edge1", "edge2"]}
    ]


def test_no_config_map_outgrows_what_kubectl_may_keep_of_it():
    config_maps, daemonset = parts(render_daemonset(plan_of(40)))
    assert len(config_maps) > 1
    assert max(len(yaml.safe_dump(part["data"])) for part in config_maps) < 262_144
    assert sum(len(part["data"]) for part in config_maps) == 2 * 40 + 1
    mounted = daemonset["spec"]["template"]["spec"]["volumes"][0]["projected"]["sources"]
    assert [source["configMap"]["name"] for source in mounted] == [p["metadata"]["name"] for p in config_maps]


@pytest.mark.parametrize(("first", "second", "same"), [(2, 2, True), (2, 3, False)])
def test_pods_are_replaced_when_the_delays_change(first, second, same):
    def digest(size):
        template = parts(render_daemonset(plan_of(size)))[1]["spec"]["template"]
        return template["metadata"]["annotations"]["gesscale.dev/scripts"]

    assert (digest(first) == digest(second)) is same


def test_scripts_are_written_line_by_line_for_people():
    manifest = render_daemonset(plan_of(2))
    assert "  apply-edge1.sh: |\n    #!/bin/sh\n    # Delays of node edge1" in manifest
