"""What a driver asks of the API server, with the standard library: its StreamAutoscaler and its executors' pods.

Inside a pod the driver is who its ServiceAccount is; outside, in client mode, who the kubeconfig says.
"""

import json
import os
import ssl
import tempfile
from base64 import b64decode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote, urlencode
from urllib.request import Request, urlopen

from gesscale.common.errors import GesscaleError
from gesscale.spark.pod_template import ORDER_ANNOTATION
from gesscale.spark.reconcile import ExecutorPod
from gesscale.wire import AUTOSCALERS_PATH

_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_MOST_BYTES = 8 << 20
#: After which a watch without a line counts as lost; bookmarks come about every minute.
_SILENCE_S = 90.0
_SAID_BYTES = 1000


class ApiRequestError(GesscaleError):
    """A request that the API server refused, or that got no answer: its status is 0 then."""

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status

    @property
    def transient(self) -> bool:
        """Whether the same request may succeed later without anybody's help."""
        return self.status in {0, 408, 409, 410, 429} or self.status >= 500


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiServer:
    """Where the API server is, and who we are there."""

    #: Such as ``https://10.0.0.1:6443``.
    url: str
    #: Our own.
    namespace: str = "default"
    tls: ssl.SSLContext | None = None
    token: str = field(default="", repr=False)
    #: Read for each request: kubelets renew it.
    token_file: Path | None = None
    timeout_s: float = 10.0

    def autoscaler(self, namespace: str, name: str) -> dict[str, Any]:
        """Read a StreamAutoscaler; raises ApiRequestError, as all requests here."""
        return self._ask(f"{AUTOSCALERS_PATH.format(namespace=quote(namespace))}/{quote(name)}")

    def autoscaler_events(self, namespace: str, name: str, version: str, lasts_s: float) -> Iterator[Any]:
        """Yield None once a watch of a StreamAutoscaler is open, then its events, for so long."""
        query = {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "fieldSelector": f"metadata.name={name}",
            "resourceVersion": version,
            "timeoutSeconds": f"{lasts_s:.0f}",
        }
        path = AUTOSCALERS_PATH.format(namespace=quote(namespace))
        with self._opened(path, query=query, timeout_s=_SILENCE_S) as answer:
            yield None
            while line := answer.readline(_MOST_BYTES):
                yield json.loads(line)

    def executor_pods(self, namespace: str, application: str) -> list[ExecutorPod]:
        """Return the pods of an application's executors that are not on their way out."""
        query = {"labelSelector": f"spark-app-selector={application},spark-role=executor"}
        found = self._ask(_pods_path(namespace), query=query)["items"]
        return [_executor_pod(pod) for pod in found if "deletionTimestamp" not in pod["metadata"]]

    def delete_pod(self, namespace: str, name: str) -> None:
        """Delete a pod; that it is gone already is as good."""
        try:
            self._ask(f"{_pods_path(namespace)}/{quote(name)}", method="DELETE")
        except ApiRequestError as error:
            if error.status != 404:
                raise

    def _ask(self, path: str, *, method: str = "GET", query: Mapping[str, str] | None = None) -> dict[str, Any]:
        with self._opened(path, method=method, query=query or {}, timeout_s=self.timeout_s) as answer:
            text = answer.read(_MOST_BYTES + 1)
        try:
            if len(text) <= _MOST_BYTES and isinstance(found := json.loads(text), dict):
                return found
        except ValueError:
            pass
        raise ApiRequestError(
            f"{method} {path}: expected a JSON object of at most {_MOST_BYTES} bytes, got something else"
        )

    @contextmanager
    def _opened(
        self, path: str, *, query: Mapping[str, str], timeout_s: float, method: str = "GET"
    ) -> Iterator[HTTPResponse]:
        url = f"{self.url}{path}" + (f"?{urlencode(query)}" if query else "")
        request = Request(url, method=method, headers={"Accept": "application/json"})  # noqa: S310 - the API server's
        try:
            if token := self.token_file.read_text("utf-8").strip() if self.token_file else self.token:
                request.add_unredirected_header("Authorization", f"Bearer {token}")
            with urlopen(request, timeout=timeout_s, context=self.tls) as answer:  # noqa: S310
                yield answer
        except HTTPError as error:
            said = _message(error.read(_SAID_BYTES))
            raise ApiRequestError(
                f"{method} {path}: the API server answered {error.code}: {said}", error.code
            ) from None
        except (OSError, HTTPException) as error:
            raise ApiRequestError(
                f"{method} {path}: no answer of the API server {self.url}: {str(error) or type(error).__name__}"
            ) from None


def connect(*, timeout_s: float = 10.0) -> ApiServer:
    """Find the API server; nothing is asked of it yet.

    Raises
    ------
    GesscaleError
        There are no credentials, or they cannot be used.
    """
    host, port = (os.environ.get(f"KUBERNETES_SERVICE_{name}", "") for name in ("HOST", "PORT"))
    try:
        if not host:
            return _by_kubeconfig(timeout_s)
        return ApiServer(
            url=f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}",
            namespace=(_ACCOUNT / "namespace").read_text("utf-8").strip() or "default",
            tls=ssl.create_default_context(cafile=str(_ACCOUNT / "ca.crt")),
            token_file=_ACCOUNT / "token",
            timeout_s=timeout_s,
        )
    except (OSError, LookupError, TypeError, ValueError, AttributeError, ModuleNotFoundError) as error:
        where = f"the ServiceAccount in {_ACCOUNT}" if host else "the kubeconfig"
        raise GesscaleError(f"{where} cannot be used: {type(error).__name__} {error}") from None


def _by_kubeconfig(timeout_s: float) -> ApiServer:
    from gesscale.common.yaml_text import read_yaml

    file = Path(os.environ.get("KUBECONFIG") or "~/.kube/config").expanduser()
    config = read_yaml(file)
    context = _named(config, "context", config["current-context"])
    cluster, user = _named(config, "cluster", context["cluster"]), _named(config, "user", context["user"])
    with tempfile.TemporaryDirectory() as folder:  # ssl reads certificates of clients from files only

        def path_of(group: Mapping[str, Any], name: str) -> str | None:
            if f"{name}-data" in group:
                copy = Path(folder) / name
                copy.write_bytes(b64decode(group[f"{name}-data"]))
                return str(copy)
            return str(file.parent / group[name]) if name in group else None

        tls = ssl.create_default_context(cafile=path_of(cluster, "certificate-authority"))
        if certificate := path_of(user, "client-certificate"):
            tls.load_cert_chain(certificate, path_of(user, "client-key"))
    return ApiServer(
        url=str(cluster["server"]).rstrip("/"),
        namespace=context.get("namespace") or "default",
        tls=tls,
        token=user.get("token") or "",
        token_file=Path(user["tokenFile"]) if "tokenFile" in user else None,
        timeout_s=timeout_s,
    )


def _named(config: Mapping[str, Any], kind: str, name: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = {each["name"]: each[kind] for each in config[f"{kind}s"]}[name]
    return found


def _pods_path(namespace: str) -> str:
    return f"/api/v1/namespaces/{quote(namespace)}/pods"


def _executor_pod(pod: Mapping[str, Any]) -> ExecutorPod:
    metadata = pod["metadata"]
    return ExecutorPod(
        name=metadata["name"],
        executor=(metadata.get("labels") or {}).get("spark-exec-id", ""),
        node=(pod.get("spec") or {}).get("nodeName"),
        order=(metadata.get("annotations") or {}).get(ORDER_ANNOTATION, ""),
        waits=(pod.get("status") or {}).get("phase") == "Pending",
    )


def _message(body: bytes) -> str:
    """Return what a Status object says; a text that is none is its own message."""
    try:
        return str(json.loads(body)["message"])
    except (ValueError, LookupError, TypeError):
        return body.decode("utf-8", "replace")
