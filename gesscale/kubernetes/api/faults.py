"""What goes wrong at the Kubernetes API, in sentences: who may not do what to which object, and what to do about it."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from kubernetes.client.exceptions import ApiException
from kubernetes.config import ConfigException
from urllib3.exceptions import HTTPError, NewConnectionError, SSLError
from urllib3.exceptions import TimeoutError as Urllib3TimeoutError

from gesscale.errors import ClusterError
from gesscale.kubernetes.api.resources import Resource

#: Of a server's own words; more is cut.
MESSAGE_CHARS = 500
#: A server that asks for more patience than this is asked again all the same.
RETRY_AFTER_MAX_S = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One request, as roles and people name it."""

    #: As in a role: get, list, watch, create, update, patch or delete.
    verb: str
    resource: Resource
    #: None for all namespaces, and for kinds without.
    namespace: str | None = None
    name: str = ""
    subresource: str = ""

    @property
    def target(self) -> str:
        """The kind as roles name it, such as ``streamautoscalers/status``."""
        return f"{self.resource.plural}/{self.subresource}" if self.subresource else self.resource.plural

    @property
    def sentence(self) -> str:
        """The request in words.

        Examples
        --------
        >>> from gesscale.kubernetes.api.resources import PODS
        >>> Call(verb="get", resource=PODS, namespace="streams", name="driver").sentence
        'get pods driver in namespace streams'
        """
        name = f" {self.name}" if self.name else ""
        place = f" in namespace {self.namespace}" if self.namespace else ""
        return f"{self.verb} {self.target}{name}{place}"


class ApiError(ClusterError):
    """A request to the Kubernetes API that was refused, lost or not understood.

    Attributes
    ----------
    call
        The request.
    status
        The HTTP status; 0 where there was no answer.
    reason
        Kubernetes' own word, such as Conflict or Expired; where it gave none, ours: Unreachable, Timeout, TLS,
        BrokenAnswer, BadCredentials.
    retry_after_s
        How long the server asks to wait; None where it does not say.
    """

    def __init__(
        self, call: Call, detail: str, *, status: int = 0, reason: str = "", retry_after_s: float | None = None
    ) -> None:
        self.call, self.status, self.reason, self.retry_after_s = call, status, reason, retry_after_s
        super().__init__(detail)

    @property
    def expired(self) -> bool:
        """Whether a resourceVersion or a continue token is too old: list again."""
        return self.status == 410

    @property
    def absent(self) -> bool:
        """Whether the object or its kind does not exist."""
        return self.status == 404

    @property
    def conflict(self) -> bool:
        """Whether the object exists already, or was changed since it was read: read it again."""
        return self.status == 409

    @property
    def lacks_right(self) -> bool:
        """Whether RBAC refused it; quotas and namespaces that are being deleted answer with 403, too."""
        return self.status == 403 and f" cannot {self.call.verb} resource " in str(self)

    @property
    def transient(self) -> bool:
        """Whether the same request may succeed later without anybody's help."""
        return self.status in {0, 408, 409, 410, 429} or self.status >= 500

    @property
    def word(self) -> str:
        """The fault in one word, for counters: the HTTP status, or the reason where there was no answer."""
        return str(self.status) if self.status else self.reason


@contextmanager
def faults_raised(call: Call) -> Iterator[None]:
    """Turn what the ``kubernetes`` package and urllib3 raise into `ApiError`."""
    try:
        yield
    except ApiException as error:
        if not error.status:  # how the package wraps a refusal of TLS
            raise _from_transport(call, SSLError(error.reason)) from None
        raise from_answer(call, error.status, error.reason or "", error.body or "", error.headers or {}) from None
    except (HTTPError, OSError) as error:
        raise _from_transport(call, error) from None
    except ConfigException as error:
        raise ApiError(
            call, f"cannot {call.sentence}: the credentials cannot be used: {_line(error)}", reason="BadCredentials"
        ) from None


def from_answer(
    call: Call, status: int, phrase: str, body: str | bytes, headers: Mapping[str, str] | None = None
) -> ApiError:
    """Return the fault that an answer of the API server tells of."""
    said, reason = _said(body)
    said = said or _line(phrase) or "no reason given"
    detail = _sentence(call, status, said)
    retry_after_s = _retry_after_s(headers or {})
    if retry_after_s is not None and status in {429, 503}:
        detail = f"{detail}; it asks for {retry_after_s:g} s of patience"
    return ApiError(call, detail, status=status, reason=reason or phrase, retry_after_s=retry_after_s)


_WORDS = {
    400: "the API server calls it invalid",
    404: "it does not exist",
    409: "somebody else was first",
    410: "that version is too old",
    422: "the API server calls it invalid",
    429: "the API server has too much to do",
}
_REMEDIES = {409: "; read it again", 410: "; list again"}


def _sentence(call: Call, status: int, said: str) -> str:
    if status == 401:
        return (
            f"the API server does not accept the credentials (401) to {call.sentence}: {said};"
            " renew the token or the client certificate"
        )
    if status == 403:
        place = f" in namespace {call.namespace}" if call.namespace else ""
        return (
            f"the controller may not {call.verb} {call.target}{place}: give its role that verb;"
            f" deploy/k3s/controller/rbac.yaml has it. The API server says: {said}"
        )
    what = _WORDS.get(status, "the API server answered")
    remedy = _REMEDIES.get(status, "")
    if status == 404 and not call.name:
        what, remedy = "the API server does not know that kind", "; is the CRD applied?"
    return f"cannot {call.sentence}: {what} ({status}): {said}{remedy}"


def _from_transport(call: Call, error: Exception) -> ApiError:
    if isinstance(error, NewConnectionError):
        reason, what = "Unreachable", "no connection; is the API server up, and its address right?"
    elif isinstance(error, Urllib3TimeoutError | TimeoutError):
        reason, what = "Timeout", "no answer in time"
    elif isinstance(error, SSLError):
        reason, what = "TLS", "the API server's certificate is not accepted; is the CA right?"
    else:
        reason, what = "Unreachable", "the connection broke"
    return ApiError(call, f"cannot {call.sentence}: {what} ({_line(error)})", reason=reason)


def broken_answer(call: Call, what: object) -> ApiError:
    """Return the fault of an answer that is not what the API sends."""
    message = f"cannot {call.sentence}: expected JSON as the API sends it, got {_line(what)}"
    return ApiError(call, message, reason="BrokenAnswer")


def _said(body: str | bytes) -> tuple[str, str]:
    """Return message and reason of a Status object; a text that is none is its own message."""
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
