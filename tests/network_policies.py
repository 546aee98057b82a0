"""Enforcement of network policies: runs the controller of k3s on every node within a context."""

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from gesscale.errors import ClusterError
from testbed.cluster import processes
from testbed.cluster.commands import run
from testbed.cluster.namespaces import inside
from testbed.cluster.processes import Mark, Role
from testbed.cluster.state import state_directory
from testbed.kubernetes.cluster import KubernetesTestBed
from testbed.kubernetes.control_plane import wait_until
from testbed.kubernetes.network import SERVICES
from testbed.kubernetes.tools import POLICY_SOURCES, SYSTEM, build, find_go, is_built

_PROGRAMS = ("iptables", "iptables-save", "iptables-restore", "ipset")
_TRIAL = "ipset create trial hash:ip && iptables -A FORWARD -m set --match-set trial src -j REJECT"
"""Run in a temporary network namespace."""
_CHAIN = "KUBE-ROUTER-FORWARD"
"""Exists once the controller runs."""
_START_TIMEOUT_S = 240.0
_CLEAR = "iptables -F && iptables -X && ipset destroy"
"""Rules first, as a set in use cannot be destroyed. Affects only the node's network namespace."""


def obstacle() -> str:
    """Return why network policies cannot be enforced here, in one line; empty if they can."""
    missing = [name for name in _PROGRAMS if shutil.which(name, path=_search_path()) is None]
    if missing:
        return f"needs {', '.join(missing)}; install the packages iptables and ipset"
    if not is_built(POLICY_SOURCES) and find_go() is None:
        return "needs Go 1.26 or newer, to build the controller of network policies"
    try:
        run(("unshare", "--net", *_shell(_TRIAL)))
    except ClusterError as error:
        return f"cannot make rules in this kernel: {error}"
    return ""


@contextlib.contextmanager
def policies_enforced(cluster: KubernetesTestBed) -> Iterator[None]:
    """Enforce the NetworkPolicies of a cluster on its nodes within the context."""
    if why := obstacle():
        message = f"network policies cannot be enforced here: it {why}"
        raise ClusterError(message)
    program = build(POLICY_SOURCES)
    started = [_start(cluster, node, program) for node in cluster.node_names]
    try:
        for node in cluster.node_names:
            _wait_until_it_rules(cluster, node)
        yield
    finally:
        processes.stop(started, grace_s=3.0)
        for node in cluster.node_names:
            run(inside(cluster.topology.name, node, _shell(_CLEAR)))


def _wait_until_it_rules(cluster: KubernetesTestBed, node: str) -> None:
    def has_chain() -> bool:
        try:
            return bool(run(inside(cluster.topology.name, node, _shell(f"iptables -S {_CHAIN}"))))
        except ClusterError:
            return False

    wait_until(has_chain, what=f"network policies of {node}", timeout_s=_START_TIMEOUT_S, log=_log(cluster, node))


def _start(cluster: KubernetesTestBed, node: str, program: Path) -> processes.Process:
    topology = cluster.topology
    flags = ("--kubeconfig", str(cluster.kubeconfig), "--node", node, "--services", str(SERVICES))
    return processes.start(
        inside(topology.name, node, (str(program), *flags)),
        Mark(cluster=str(state_directory(topology.name)), role=Role.NODE, node=node, operator="network-policies"),
        environment={**processes.base_environment(), "PATH": _search_path()},
        log=_log(cluster, node),
    )


def _log(cluster: KubernetesTestBed, node: str) -> Path:
    return cluster.files.log(f"network-policies-{node}")


def _shell(script: str) -> tuple[str, ...]:
    return ("env", f"PATH={_search_path()}", "sh", "-c", script)


def _search_path() -> str:
    return os.pathsep.join((os.environ.get("PATH", os.defpath), *SYSTEM))
