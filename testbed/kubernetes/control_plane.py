"""The control plane on the driver node: its start, its credentials, and a minimal client of its API."""

import json
import secrets
import ssl
import time
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gesscale.common.http_client import UNRESTRICTED_CLIENT, FetchError
from gesscale.common.yaml_text import read_yaml
from gesscale.errors import ClusterError
from testbed.cluster import processes
from testbed.cluster.commands import run
from testbed.cluster.namespaces import inside
from testbed.cluster.processes import Mark, Role
from testbed.cluster.state import state_directory
from testbed.cluster.topology import Topology
from testbed.kubernetes.network import SERVICES, PodNetwork
from testbed.kubernetes.store import Store
from testbed.kubernetes.tools import CONFIG

ADMIN = "admin"


@dataclass(frozen=True, slots=True, kw_only=True)
class Files:
    """Paths of a cluster's files."""

    #: ``kubernetes`` in the state directory of the cluster; only its owner may enter.
    directory: Path

    @property
    def authority(self) -> Path:
        """CA certificates of the API server."""
        return self.directory / "certificates" / "apiserver.crt"

    @property
    def store(self) -> Path:
        """What `Store.save` wrote."""
        return self.directory / "store.json"

    @property
    def audit_log(self) -> Path:
        """The requests that it recorded, one JSON object a line."""
        return self.directory / "audit.log"

    def kubeconfig(self, user: str) -> Path:
        """Return the kubeconfig of a user."""
        return self.directory / f"{user}.kubeconfig"

    def log(self, part: str) -> Path:
        """Return the log of a part of the control plane."""
        return self.directory / "logs" / f"{part}.log"

    def node(self, name: str) -> Path:
        """Return the directory of a node."""
        return self.directory / "nodes" / name


def write_tokens(files: Files, kubelets: tuple[str, ...]) -> dict[str, str]:
    """Create tokens for the administrator and for each node; return them by user."""
    tokens = {user: secrets.token_hex(16) for user in (ADMIN, *kubelets)}
    lines = [f"{tokens[ADMIN]},admin,admin,system:masters"]
    lines += [f"{tokens[node]},system:node:{node},{node},system:nodes" for node in kubelets]
    (files.directory / "tokens.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tokens


def write_signing_key(files: Files) -> None:
    """Create the key pair of service account tokens."""
    private, public = (str(files.directory / f"service_accounts.{suffix}") for suffix in ("key", "pub"))
    run(("openssl", "genrsa", "-out", private, "2048"))
    run(("openssl", "rsa", "-in", private, "-pubout", "-out", public))


def write_kubeconfig(files: Files, user: str, *, url: str, token: str) -> Path:
    """Write the kubeconfig of a user atomically, as kubelets wait for theirs."""
    template = (CONFIG / "kubeconfig.yaml").read_text()
    path = files.kubeconfig(user)
    scratch = path.with_suffix(".new")
    scratch.write_text(template.format(url=url, authority=files.authority, user=user, token=token), encoding="utf-8")
    return scratch.replace(path)


_ANSWER_TIMEOUT_S = 5.0
_LARGEST_ANSWER = 16 << 20
_PAUSE_S = 0.1
_MESSAGE_CHARACTERS = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Api:
    """Client of an API server, for one user."""

    url: str
    #: Its CA certificates.
    authority: Path
    token: str

    def get(self, path: str) -> str:
        """Return the response to a GET.

        Raises
        ------
        OSError
            If there is none, or its status is an error.
        """
        context = ssl.create_default_context(cafile=str(self.authority))
        request = urllib.request.Request(  # noqa: S310 - always https, built here
            f"{self.url}{path}", headers={"Authorization": f"Bearer {self.token}"}
        )
        with urllib.request.urlopen(request, timeout=_ANSWER_TIMEOUT_S, context=context) as answer:  # noqa: S310
            return str(answer.read(_LARGEST_ANSWER).decode())

    def document(self, path: str) -> dict[str, Any]:
        """Return the JSON response to a GET."""
        answer: dict[str, Any] = json.loads(self.get(path))
        return answer


def wait_until(is_ready: Callable[[], bool], *, what: str, timeout_s: float, log: Path) -> None:
    """Poll until a component is ready; an API server that does not respond counts as not ready.

    Parameters
    ----------
    what
        The part that is waited for, for the message.
    log
        Its log; the message quotes the end.

    Raises
    ------
    ClusterError
        If it is not ready in time.
    """
    deadline = time.monotonic() + timeout_s
    last = ""
    while time.monotonic() < deadline:
        try:
            if is_ready():
                return
            last = "no error"
        except (OSError, ValueError) as error:
            last = str(error)
        time.sleep(_PAUSE_S)
    raise ClusterError(
        "kubernetes-part-timeout", part=what, timeout_s=timeout_s, cause=last, log=str(log), end=_end_of(log)
    )


def ready_nodes(api: Api) -> dict[str, bool]:
    """Return the registered nodes, and whether each is ready."""
    return {
        item["metadata"]["name"]: any(
            condition["type"] == "Ready" and condition["status"] == "True"
            for condition in item["status"].get("conditions", ())
        )
        for item in api.document("/api/v1/nodes")["items"]
    }


def _end_of(log: Path) -> str:
    try:
        return log.read_text(encoding="utf-8", errors="replace")[-_MESSAGE_CHARACTERS:].strip() or "empty"
    except OSError:
        return "no such file"


API_PORT = 443
API_SERVER = "kube-apiserver"
START_TIMEOUT_S = 240.0

_NAMES_READY_PORT = 8181  # of CoreDNS's plugin `ready`


def start_control_plane(
    topology: Topology, kubelets: tuple[str, ...], *, store: Store, program: Path, files: Files
) -> Api:
    """Start every component and wait until pods can be created.

    Raises
    ------
    ClusterError
        If a part is not ready in time.
    """
    address = PodNetwork(topology=topology).address(topology.driver.host)
    url = f"https://{address}:{API_PORT}"
    tokens = write_tokens(files, kubelets)
    write_signing_key(files)
    store.save(files.store)
    start_part(topology, store.kind, program=program, files=files, store=store)
    start_part(topology, API_SERVER, program=program, files=files)
    api = Api(url=url, authority=files.authority, token=tokens[ADMIN])
    wait_until(
        lambda: files.authority.exists() and api.get("/readyz") == "ok",
        what="API server",
        timeout_s=START_TIMEOUT_S,
        log=files.log(API_SERVER),
    )
    admin = str(write_kubeconfig(files, ADMIN, url=url, token=tokens[ADMIN]))
    for kubelet in kubelets:
        write_kubeconfig(files, kubelet, url=url, token=tokens[kubelet])
    corefile = (CONFIG / "Corefile").read_text().replace("KUBECONFIG", admin)
    (files.directory / "Corefile").write_text(corefile, encoding="utf-8")
    for part in ("kube-scheduler", "kube-controller-manager", "coredns"):
        start_part(topology, part, program=program, files=files)
    wait_until(
        lambda: _answers(f"http://{address}:{_NAMES_READY_PORT}/ready"),
        what="CoreDNS",
        timeout_s=START_TIMEOUT_S,
        log=files.log("coredns"),
    )
    return api


def wait_for_accounts(api: Api, files: Files) -> None:
    """Wait until the default namespace has its service account and CA certificates, which each pod needs.

    Raises
    ------
    ClusterError
        If it does not have them in time.
    """
    wait_until(
        lambda: bool(
            api.get("/api/v1/namespaces/default/serviceaccounts/default")
            and api.get("/api/v1/namespaces/default/configmaps/kube-root-ca.crt")
        ),
        what="default service account",
        timeout_s=START_TIMEOUT_S,
        log=files.log("kube-controller-manager"),
    )


def start_part(topology: Topology, part: str, *, program: Path, files: Files, store: Store | None = None) -> None:
    """Start a component of the control plane, for the first time or again; `store` if it is the store."""
    directory, node, network = str(state_directory(topology.name)), topology.driver_node, PodNetwork(topology=topology)
    values = {
        "files": files,
        "admin": files.kubeconfig(ADMIN),
        "config": CONFIG,
        "address": network.address(topology.driver.host),
        "port": API_PORT,
        "services": SERVICES,
        "pods": network.whole,
    }
    flags = [flag.format(**values) for flag in read_yaml(CONFIG / "flags.yaml")[part]]
    command = (str(program), part, *flags)
    processes.start(
        inside(topology.name, node, command if store is None else store.command(command, files.log("fsync"))),
        Mark(cluster=directory, role=Role.CONTROL_PLANE, node=node, operator=part),
        environment=processes.base_environment(),
        log=files.log(part),
    )


def _answers(url: str) -> bool:
    try:
        UNRESTRICTED_CLIENT.fetch(url, timeout_s=1.0, max_bytes=4096)
    except FetchError as error:
        raise OSError(str(error)) from error
    return True
