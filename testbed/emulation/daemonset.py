"""The scripts of a plan as a Kubernetes DaemonSet, which runs each node's own on that node."""

from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any

import yaml

from latency_map.emulate.plan import EmulationPlan
from latency_map.emulate.script import ScriptAction, render_script, script_name
from latency_map.emulate.tc import ROOT
from latency_map.shell import command_line
from testbed.emulation.defaults import IMAGE, NAMESPACE

NAME = "gesscale-delays"
_LARGEST_BYTES = 200_000
"""Of one ConfigMap: kubectl keeps what it applied in an annotation of at most 262 144 bytes."""

_FOLDER = "/scripts"
_ENTRY = "run.sh"
_ENTRY_SCRIPT = f"""\
#!/bin/sh
# Delays the node that this pod is on, until the pod is ended.
folder=$(dirname "$0") pause=
undo() {{
  trap - TERM INT
  kill "$pause" 2>/dev/null
  sh "$folder/{ScriptAction.UNDO.value}-$NODE_NAME.sh"
  exit 0
}}
trap undo TERM INT
sh "$folder/{ScriptAction.APPLY.value}-$NODE_NAME.sh" || exit 1
while :; do
  sleep 3600 &
  pause=$!
  wait "$pause"
done
"""
_IS_DELAYED = f"tc qdisc show | {command_line(('grep', '-q', f'^qdisc htb {ROOT} .*root'))}"


class _Script(str):
    """Text that YAML shows as it is."""

    __slots__ = ()


class _Dumper(yaml.SafeDumper):
    """Writes scripts line by line."""


_Dumper.add_representer(
    _Script, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", str(text), style="|")
)


def render_daemonset(plan: EmulationPlan, *, namespace: str = NAMESPACE, image: str = IMAGE) -> str:
    """Write the manifest that delays the nodes of a Kubernetes cluster for as long as it is applied.

    The pods run in their nodes' networks with the right to administer these and no other. A pod that ends
    takes its node's delays away; one that starts again replaces what is left of them.

    Parameters
    ----------
    plan
        Delays between nodes that bear the names that Kubernetes gives them.
    namespace
        Where it is to run.
    image
        An image with ``sh`` and ``tc``.

    Returns
    -------
    str
        YAML for ``kubectl apply -f -``: ConfigMaps with the scripts, and the DaemonSet.
    """
    scripts = {
        script_name(action, node.host.name): _Script(render_script(node, action))
        for node in plan.nodes
        for action in (ScriptAction.APPLY, ScriptAction.UNDO)
    }
    groups = list(_groups({_ENTRY: _Script(_ENTRY_SCRIPT), **scripts}))
    names = [f"{NAME}-{number}" for number in range(1, len(groups) + 1)]
    maps = [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": name, "namespace": namespace, "labels": {"app": NAME}},
            "data": dict(group),
        }
        for name, group in zip(names, groups, strict=True)
    ]
    digest = sha256("".join(scripts.values()).encode()).hexdigest()[:16]
    nodes = [node.host.name for node in plan.nodes]
    daemonset = {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": NAME, "namespace": namespace, "labels": {"app": NAME}},
        "spec": {
            "selector": {"matchLabels": {"app": NAME}},
            "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "100%"}},
            "template": {
                "metadata": {"labels": {"app": NAME}, "annotations": {"gesscale.dev/scripts": digest}},
                "spec": _pod(nodes, names, image),
            },
        },
    }
    return yaml.dump_all([*maps, daemonset], Dumper=_Dumper, sort_keys=False, width=1000)


def _groups(scripts: Mapping[str, str]) -> Iterator[dict[str, str]]:
    group: dict[str, str] = {}
    size = 0
    for name, script in scripts.items():
        if group and size + len(script) > _LARGEST_BYTES:
            yield group
            group, size = {}, 0
        group[name] = script
        size += len(script)
    yield group


def _pod(nodes: list[str], config_maps: list[str], image: str) -> dict[str, Any]:
    on_nodes = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": nodes}]}
    container = {
        "name": "delays",
        "image": image,
        "command": ["sh", f"{_FOLDER}/{_ENTRY}"],
        "env": [{"name": "NODE_NAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}],
        "securityContext": {
            "runAsUser": 0,
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"], "add": ["NET_ADMIN"]},
        },
        "readinessProbe": {
            "exec": {"command": ["sh", "-c", _IS_DELAYED]},
            "periodSeconds": 10,
        },
        "resources": {"requests": {"cpu": "5m", "memory": "8Mi"}, "limits": {"memory": "64Mi"}},
        "volumeMounts": [{"name": "scripts", "mountPath": _FOLDER, "readOnly": True}],
    }
    return {
        "hostNetwork": True,
        "automountServiceAccountToken": False,
        "terminationGracePeriodSeconds": 30,
        "tolerations": [{"operator": "Exists"}],
        "affinity": {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [on_nodes]}
            }
        },
        "containers": [container],
        "volumes": [
            {
                "name": "scripts",
                "projected": {"sources": [{"configMap": {"name": name}} for name in config_maps]},
            }
        ],
    }
