"""The control plane in the namespace of the driver node: etcd, API server, controllers, scheduler, names."""

from pathlib import Path

import yaml

from gesscale.common.http_client import ANYWHERE, FetchError
from testbed.cluster import processes
from testbed.cluster.namespaces import inside
from testbed.cluster.processes import Mark, Role
from testbed.cluster.state import state_directory
from testbed.cluster.topology import Topology
from testbed.kubernetes.api import Api, wait_until
from testbed.kubernetes.credentials import ADMIN, Files, write_kubeconfig, write_signing_key, write_tokens
from testbed.kubernetes.network import SERVICES, PodNetwork

API_PORT = 443
API_SERVER = "kube-apiserver"
START_TIMEOUT_S = 240.0
UNREACHABLE_AFTER_S = 8
"""Silence after which a node counts as unreachable; Kubernetes has 50 s, tests should not wait as long."""

_STORE = "http://127.0.0.1:2379"
_NAMES_READY_PORT = 8181  # of CoreDNS's plugin `ready`
_DOMAIN = "cluster.local"
_NAMES = f"""\
.:53 {{
    errors
    ready
    kubernetes {_DOMAIN} in-addr.arpa {{
        kubeconfig %s
        pods insecure
        ttl 1
    }}
}}
"""


def start_control_plane(topology: Topology, kubelets: tuple[str, ...], *, program: Path, files: Files) -> Api:
    """Start every part and wait until pods could be created.

    Parameters
    ----------
    kubelets
        The nodes that will register.
    program
        What `testbed.kubernetes.build` made.

    Raises
    ------
    ClusterError
        Where a part does not come up in time.
    """
    address = PodNetwork(topology=topology).address(topology.driver.host)
    url = f"https://{address}:{API_PORT}"
    tokens = write_tokens(files, kubelets)
    write_signing_key(files)
    write_audit_policy(files)
    _start(topology, files, program, "etcd", ("--data-dir", str(files.directory / "etcd")))
    start_api_server(topology, program=program, files=files)
    api = Api(url=url, authority=files.authority, token=tokens[ADMIN])
    wait_until(
        lambda: files.authority.exists() and api.get("/readyz") == "ok",
        what="the API server is ready",
        timeout_s=START_TIMEOUT_S,
        look_at=files.log("kube-apiserver"),
    )
    admin = str(write_kubeconfig(files, ADMIN, url=url, token=tokens[ADMIN]))
    for kubelet in kubelets:
        write_kubeconfig(files, kubelet, url=url, token=tokens[kubelet])
    common = ("--kubeconfig", admin, "--leader-elect=false", "--bind-address=127.0.0.1")
    _start(topology, files, program, "kube-scheduler", common)
    _start(
        topology, files, program, "kube-controller-manager", (*common, *_controller_flags(topology, files))
    )
    corefile = files.directory / "Corefile"
    corefile.write_text(_NAMES % admin, encoding="utf-8")
    _start(topology, files, program, "coredns", ("-conf", str(corefile)))
    wait_until(
        lambda: _answers(f"http://{address}:{_NAMES_READY_PORT}/ready"),
        what="names are served",
        timeout_s=START_TIMEOUT_S,
        look_at=files.log("coredns"),
    )
    return api


def start_api_server(topology: Topology, *, program: Path, files: Files) -> None:
    """Start the API server, also again after its end: what it stores is etcd's."""
    address = PodNetwork(topology=topology).address(topology.driver.host)
    _start(topology, files, program, API_SERVER, _api_server_flags(files, address))


def wait_for_accounts(api: Api, files: Files) -> None:
    """Wait until the default namespace has what each pod needs: its service account and the authority.

    Raises
    ------
    ClusterError
        Where it has not in time.
    """
    wait_until(
        lambda: bool(
            api.get("/api/v1/namespaces/default/serviceaccounts/default")
            and api.get("/api/v1/namespaces/default/configmaps/kube-root-ca.crt")
        ),
        what="the controller manager made the default service account",
        timeout_s=START_TIMEOUT_S,
        look_at=files.log("kube-controller-manager"),
    )


def _start(topology: Topology, files: Files, program: Path, part: str, flags: tuple[str, ...]) -> None:
    directory = str(state_directory(topology.name))
    node = topology.driver_node
    processes.start(
        inside(topology.name, node, (str(program), part, *flags)),
        Mark(cluster=directory, role=Role.CONTROL_PLANE, node=node, operator=part),
        environment=processes.base_environment(),
        log=files.log(part),
    )


def _answers(url: str) -> bool:
    try:
        ANYWHERE.fetch(url, timeout_s=1.0, max_bytes=4096)
    except FetchError as error:
        raise OSError(str(error)) from error
    return True


def _api_server_flags(files: Files, address: str) -> tuple[str, ...]:
    return (
        *("--etcd-servers", _STORE, "--bind-address=0.0.0.0", f"--secure-port={API_PORT}"),
        *("--advertise-address", address, "--external-hostname", address),
        *("--cert-dir", str(files.certificates), "--service-cluster-ip-range", str(SERVICES)),
        *("--token-auth-file", str(files.tokens), "--authorization-mode=Node,RBAC"),
        "--enable-admission-plugins=NodeRestriction",
        *("--service-account-issuer", f"https://kubernetes.default.svc.{_DOMAIN}"),
        *("--service-account-key-file", str(files.public_key)),
        *("--service-account-signing-key-file", str(files.signing_key)),
        *("--audit-policy-file", str(files.audit_policy), "--audit-log-path", str(files.audit_log)),
        "--kubelet-preferred-address-types=InternalIP",
        *("--allow-privileged", "--profiling=false"),
    )


def _controller_flags(topology: Topology, files: Files) -> tuple[str, ...]:
    return (
        *("--service-account-private-key-file", str(files.signing_key)),
        *("--root-ca-file", str(files.authority), "--cluster-cidr", PodNetwork(topology=topology).whole),
        *("--node-monitor-period=1s", f"--node-monitor-grace-period={UNREACHABLE_AFTER_S}s"),
        "--profiling=false",
    )


def write_audit_policy(files: Files) -> None:
    """Have the API server record what service accounts ask for, without the contents."""
    policy = {
        "apiVersion": "audit.k8s.io/v1",
        "kind": "Policy",
        "omitStages": ["RequestReceived"],
        "rules": [{"level": "Metadata", "userGroups": ["system:serviceaccounts"]}, {"level": "None"}],
    }
    files.audit_policy.write_text(yaml.safe_dump(policy), encoding="utf-8")
