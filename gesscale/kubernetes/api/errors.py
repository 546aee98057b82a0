"""Errors of the Kubernetes API: the request that failed, the cause, and whether a retry can help."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from kubernetes.client.exceptions import ApiException
from kubernetes.config import ConfigException
from urllib3.exceptions import HTTPError, NewConnectionError, SSLError
from urllib3.exceptions import TimeoutError as Urllib3TimeoutError

from gesscale.errors import ClusterError
from gesscale.kubernetes.api.resources import Resource

#: Characters kept of a server's message.
MESSAGE_CHARS = 500
#: Upper bound on a server's Retry-After, seconds.
RETRY_AFTER_MAX_S = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One request, in the terms of a role."""

    #: As in a role: get, list, watch, create, update, patch or delete.
    verb: str
    resource: Resource
    #: None for all namespaces, and for kinds without namespaces.
    namespace: str | None = None
    name: str = ""
    subresource: str = ""

    @property
    def target(self) -> str:
        """The kind as roles name it, such as ``streamautoscalers/status``."""
        return f"{self.resource.plural}/{self.subresource}" if self.subresource else self.resource.plural

    @property
    def right(self) -> str:
        """The permission that the request needs, without the object's name.

        Examples
        --------
        >>> from gesscale.kubernetes.api.resources import PODS
        >>> Call(verb="get", resource=PODS, namespace="streams", name="driver").right
        'get pods in namespace streams'
        """
        place = f" in namespace {self.namespace}" if self.namespace else ""
        return f"{self.verb} {self.target}{place}"

    @property
    def text(self) -> str:
        """The request with the object's name.

        Examples
        --------
        >>> from gesscale.kubernetes.api.resources import PODS
        >>> Call(verb="get", resource=PODS, namespace="streams", name="driver").text
        'get pods driver in namespace streams'
        """
        name = f" {self.name}" if self.name else ""
        place = f" in namespace {self.namespace}" if self.namespace else ""
        return f"{self.verb} {self.target}{name}{place}"


class ApiError(ClusterError):
    """A request to the Kubernetes API that was rejected or lost, or whose response is not JSON of the API.

    Attributes
    ----------
    call
        The request.
    status
        The HTTP status; 0 without a response.
    reason
        Kubernetes' own word, such as Conflict or Expired. Without one: Unreachable, Timeout, TLS, BrokenAnswer or
        BadCredentials.
    retry_after_s
        Retry-After of the response; None without one.
    """

    def __init__(
        self,
        code: str,
        call: Call,
        *,
        status: int = 0,
        reason: str = "",
        retry_after_s: float | None = None,
        **fields: Any,
    ) -> None:
        self.call, self.status, self.reason, self.retry_after_s = call, status, reason, retry_after_s
        known = {"status": status or None, "retry_after_s": retry_after_s}
        present = {name: value for name, value in known.items() if value is not None}
        super().__init__(code, **{"request": call.text, **present, **fields})

    @property
    def expired(self) -> bool:
        """Whether a resourceVersion or a continue token is too old: list again."""
        return self.status == 410

    @property
    def not_found(self) -> bool:
        """Whether the object or its kind does not exist."""
        return self.status == 404

    @property
    def conflict(self) -> bool:
        """Whether the object already exists, or was modified since it was read: read it again."""
        return self.status == 409

    @property
    def lacks_right(self) -> bool:
        """Whether RBAC denied it. Quotas and namespaces that are being deleted cause a 403, too."""
        return self.status == 403 and f" cannot {self.call.verb} resource " in str(self.fields.get("cause", ""))

    @property
    def transient(self) -> bool:
        """Whether the same request may succeed later without a change."""
        return self.status in {0, 408, 409, 410, 429} or self.status >= 500

    @property
    def status_word(self) -> str:
        """The error in one word, for counters: the HTTP status, or the reason if there was no response."""
        return str(self.status) if self.status else self.reason


@contextmanager
def convert_errors(call: Call) -> Iterator[None]:
    """Convert errors of the ``kubernetes`` package and of urllib3 to `ApiError`."""
    try:
        yield
    except ApiException as error:
        if not error.status:  # how the package wraps a refusal of TLS
            raise _from_transport(call, SSLError(error.reason)) from None
        raise error_of_response(call, error.status, error.reason or "", error.body or "", error.headers or {}) from None
    except (HTTPError, OSError) as error:
        raise _from_transport(call, error) from None
    except ConfigException as error:
        raise ApiError(
            "kubernetes-credentials-invalid", call, reason="BadCredentials", request=call.text, cause=_line(error)
        ) from None


def error_of_response(
    call: Call, status: int, phrase: str, body: str | bytes, headers: Mapping[str, str] | None = None
) -> ApiError:
    """Return the error for a response of the API server whose status is not 2xx."""
    message, reason = _parse_status(body)
    return ApiError(
        _code_of(call, status),
        call,
        status=status,
        reason=reason or phrase,
        retry_after_s=_retry_after_s(headers or {}),
        right=call.right,
        cause=message or _line(phrase) or "no reason given",
    )


_CODES = {
    400: "kubernetes-request-invalid",
    401: "kubernetes-unauthorized",
    403: "kubernetes-forbidden",
    404: "kubernetes-not-found",
    409: "kubernetes-conflict",
    410: "kubernetes-version-expired",
    422: "kubernetes-request-invalid",
    429: "kubernetes-throttled",
}


def _code_of(call: Call, status: int) -> str:
    if status == 404 and not call.name:
        return "kubernetes-kind-unknown"
    return _CODES.get(status, "kubernetes-request-failed")


def _from_transport(call: Call, error: Exception) -> ApiError:
    if isinstance(error, Urllib3TimeoutError | TimeoutError) and not isinstance(error, NewConnectionError):
        code, reason = "kubernetes-timeout", "Timeout"
    elif isinstance(error, SSLError):
        code, reason = "kubernetes-certificate-rejected", "TLS"
    elif isinstance(error, NewConnectionError):
        code, reason = "kubernetes-unreachable", "Unreachable"
    else:
        code, reason = "kubernetes-connection-lost", "Unreachable"
    return ApiError(code, call, reason=reason, cause=_line(error))


def invalid_response(call: Call, got: object) -> ApiError:
    """Return the error for a response that is not JSON of the API."""
    return ApiError("kubernetes-answer-invalid", call, reason="BrokenAnswer", request=call.text, got=_line(got))


def _parse_status(body: str | bytes) -> tuple[str, str]:
    """Return message and reason of a Status object; of any other text, the text itself and no reason."""
    text = body.decode("utf-8", "replace") if isinstance(body, bytes) else body
    try:
        status = json.loads(text)
    except (ValueError, RecursionError):
        return _line(text), ""
    if not isinstance(status, dict):
        return _line(text), ""
    return _line(status.get("message") or ""), str(status.get("reason") or "")


def _retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Read whole seconds, the only form that the API server writes."""
    value = next((each for key, each in headers.items() if key.lower() == "retry-after"), "").strip()
    return min(float(value), RETRY_AFTER_MAX_S) if value.isascii() and value.isdigit() else None


def _line(text: object) -> str:
    line = " ".join(str(text).split())
    return line if len(line) <= MESSAGE_CHARS else line[:MESSAGE_CHARS] + " ..."
