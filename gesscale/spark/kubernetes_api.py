"""A driver's client of the Kubernetes API: its StreamAutoscaler and the pods of its executors. Standard library only.

Credentials are those of the pod's ServiceAccount, or of the kubeconfig outside a cluster (client mode).
"""

import json
import os
import ssl
import tempfile
from base64 import b64decode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote, urlencode
from urllib.request import Request, urlopen

from gesscale.common.errors import GesscaleError
from gesscale.spark.pod_template import ORDER_ANNOTATION
from gesscale.spark.reconcile_actions import ExecutorPod
from gesscale.wire import AUTOSCALERS_PATH

_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_MAX_BYTES = 8 << 20
#: A watch without a line for this long is considered lost; bookmarks arrive about once per minute.
_SILENCE_S = 90.0
_MAX_ERROR_BYTES, _MAX_CAUSE = 10_000, 1000
#: Fields of a pod that the API server fills in and does not accept.
_SET_BY_SERVER = frozenset({"nodeName", "priority", "preemptionPolicy", "ephemeralContainers"})


class ApiRequestError(GesscaleError):
    """A request that the API server rejected, or that got no response."""

    @property
    def status(self) -> int:
        """HTTP status of the response; 0 without a valid response."""
        return int(self.fields.get("status", 0))

    @property
    def transient(self) -> bool:
        """Whether a retry may succeed."""
        return self.status in {0, 408, 409, 410, 429} or self.status >= 500


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiServer:
    """Address of the API server, and credentials."""

    #: Such as ``https://10.0.0.1:6443``.
    url: str
    #: Default namespace of the credentials.
    namespace: str = "default"
    tls: ssl.SSLContext | None = None
    token: str = field(default="", repr=False)
    #: Read for each request, because kubelets renew it.
    token_file: Path | None = None
    timeout_s: float = 10.0

    def autoscaler(self, namespace: str, name: str) -> dict[str, Any]:
        """Get a StreamAutoscaler; raises ApiRequestError, as do all requests here."""
        return self._request(f"{AUTOSCALERS_PATH.format(namespace=quote(namespace))}/{quote(name)}")

    def autoscaler_events(self, namespace: str, name: str, version: str, duration_s: float) -> Iterator[Any]:
        """Watch a StreamAutoscaler for some seconds: yield None once the watch is open, then its events."""
        query = {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "fieldSelector": f"metadata.name={name}",
            "resourceVersion": version,
            "timeoutSeconds": f"{duration_s:.0f}",
        }
        path = AUTOSCALERS_PATH.format(namespace=quote(namespace))
        with self._opened(path, query=query, timeout_s=_SILENCE_S) as response:
            yield None
            while line := response.readline(_MAX_BYTES):
                yield json.loads(line)

    def executor_pods(self, namespace: str, application: str) -> list[ExecutorPod]:
        """Return the executor pods of an application."""
        return [_executor_pod(pod) for pod in self._executor_pods(namespace, application)]

    def executor_refusal(self, namespace: str, application: str) -> str:
        """Return why the API server refuses a copy of an executor's pod, as a full quota does; empty if it accepts it.

        It is a dry run: no pod is created. Spark only logs that a pod was refused, so nothing else shows it.
        """
        pods = self._executor_pods(namespace, application)
        for pod in [pod for pod in pods if "deletionTimestamp" not in pod["metadata"]][:1]:
            kept = {name: value for name, value in pod["spec"].items() if name not in _SET_BY_SERVER}
            metadata = {name: pod["metadata"].get(name) or {} for name in ("labels", "annotations")}
            copy = {"metadata": {"generateName": "gesscale-dry-run-", **metadata}, "spec": kept}
            try:
                self._request(_pods_path(namespace), method="POST", query={"dryRun": "All"}, body=copy)
            except ApiRequestError as error:
                if error.status != HTTPStatus.FORBIDDEN:
                    raise
                return str(error.fields["cause"])
        return ""

    def _executor_pods(self, namespace: str, application: str) -> list[dict[str, Any]]:
        query = {"labelSelector": f"spark-app-selector={application},spark-role=executor"}
        found: list[dict[str, Any]] = self._request(_pods_path(namespace), query=query)["items"]
        return found

    def delete_pod(self, namespace: str, name: str, at_once: bool = False) -> None:
        """Delete a pod, at once without its kubelet's confirmation; succeeds if it does not exist."""
        query = {"gracePeriodSeconds": "0"} if at_once else {}
        try:
            self._request(f"{_pods_path(namespace)}/{quote(name)}", method="DELETE", query=query)
        except ApiRequestError as error:
            if error.status != 404:
                raise

    def _request(
        self, path: str, *, method: str = "GET", query: Mapping[str, str] | None = None, body: object = None
    ) -> dict[str, Any]:
        with self._opened(path, method=method, query=query or {}, body=body, timeout_s=self.timeout_s) as response:
            text = response.read(_MAX_BYTES + 1)
        try:
            if len(text) <= _MAX_BYTES and isinstance(found := json.loads(text), dict):
                return found
        except ValueError:
            pass
        raise ApiRequestError("driver-response-invalid", method=method, path=path, max_bytes=_MAX_BYTES)

    @contextmanager
    def _opened(
        self, path: str, *, query: Mapping[str, str], timeout_s: float, method: str = "GET", body: object = None
    ) -> Iterator[HTTPResponse]:
        url = f"{self.url}{path}" + (f"?{urlencode(query)}" if query else "")
        data = None if body is None else json.dumps(body).encode()
        headers = {"Accept": "application/json", "Content-Type": "application/json"}
        request = Request(url, data, method=method, headers=headers)  # noqa: S310 - the API server's
        try:
            if token := self.token_file.read_text("utf-8").strip() if self.token_file else self.token:
                request.add_unredirected_header("Authorization", f"Bearer {token}")
            with urlopen(request, timeout=timeout_s, context=self.tls) as response:  # noqa: S310
                yield response
        except HTTPError as error:
            raise ApiRequestError(
                "driver-request-rejected",
                method=method,
                path=path,
                status=error.code,
                cause=_message(error.read(_MAX_ERROR_BYTES)),
            ) from None
        except (OSError, HTTPException) as error:
            raise ApiRequestError(
                "driver-api-unreachable",
                method=method,
                path=path,
                url=self.url,
                cause=str(error) or type(error).__name__,
            ) from None


def connect(*, timeout_s: float = 10.0) -> ApiServer:
    """Find the API server and the credentials, without a request.

    Raises
    ------
    GesscaleError
        If there are no usable credentials.
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
        raise GesscaleError(
            "driver-credentials-unusable",
            credentials=f"the ServiceAccount in {_ACCOUNT}" if host else "the kubeconfig",
            cause=f"{type(error).__name__} {error}",
        ) from None


def _by_kubeconfig(timeout_s: float) -> ApiServer:
    from gesscale.common.yaml_text import read_yaml

    file = Path(os.environ.get("KUBECONFIG") or "~/.kube/config").expanduser()
    config = read_yaml(file)
    context = _named(config, "context", config["current-context"])
    cluster, user = _named(config, "cluster", context["cluster"]), _named(config, "user", context["user"])
    with tempfile.TemporaryDirectory() as folder:  # ssl reads client certificates from files only

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
        is_pending=(pod.get("status") or {}).get("phase") == "Pending",
        is_terminating="deletionTimestamp" in metadata,
    )


def _message(body: bytes) -> str:
    """Return the message of a Status object, or the body if it is not one."""
    try:
        return str(json.loads(body)["message"])[:_MAX_CAUSE]
    except (ValueError, LookupError, TypeError):
        return body.decode("utf-8", "replace")[:_MAX_CAUSE]
