"""Client of the API server: requests by verb and resource, each with a time limit, each counted.

The ``kubernetes`` package handles credentials and their renewal, TLS and proxies. Requests go through its `ApiClient`
by path, with mappings in and out. Its generated methods are not used: they build typed models, which costs memory and
time on a small machine, and they have no timeout by default.
"""

import json
import logging
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import Any

from kubernetes.client import ApiClient, Configuration
from urllib3 import HTTPResponse
from urllib3.exceptions import ReadTimeoutError

from gesscale.common.errors import Problem
from gesscale.common.logs import log_problem
from gesscale.kubernetes.api.errors import ApiError, Call, convert_errors, error_of_response, invalid_response
from gesscale.kubernetes.api.resources import CONFIG_MAPS, Resource

MAX_RESPONSE_BYTES = 64 << 20
MAX_ERROR_BYTES = 64 << 10
_CHUNK_BYTES = 64 << 10


class ResponseLines:
    """The lines of a streamed response, such as a watch; iterating raises `ApiError` if the connection breaks."""

    def __init__(self, call: Call, response: HTTPResponse) -> None:
        self._call, self._response = call, response

    def __iter__(self) -> Iterator[bytes]:
        rest = bytearray()
        try:
            with convert_errors(self._call):
                while chunk := self._response.read1(_CHUNK_BYTES):
                    *lines, tail = (bytes(rest) + chunk).split(b"\n")
                    rest = bytearray(tail)
                    if len(rest) > MAX_RESPONSE_BYTES:
                        raise invalid_response(self._call, f"a line of more than {MAX_RESPONSE_BYTES} bytes")
                    yield from filter(None, lines)
        finally:
            self.close()
        if rest:
            raise invalid_response(self._call, f"an incomplete line: {bytes(rest[-60:])!r}")

    def interrupt(self) -> None:
        """Wake the thread that reads, from any thread."""
        with suppress(ValueError, RuntimeError, OSError):  # already closed
            self._response.shutdown()

    def close(self) -> None:
        """Close the connection."""
        self._response.close()


def read_whole(response: HTTPResponse, max_bytes: int, until_s: float) -> bytes:
    """Read a body within limits on its size and time.

    Raises
    ------
    ValueError
        It is too long.
    ReadTimeoutError
        It is too slow.
    """
    parts, size = [], 0
    while chunk := response.read1(_CHUNK_BYTES):
        parts.append(chunk)
        size += len(chunk)
        if size > max_bytes:
            response.close()
            raise ValueError(f"more than {max_bytes} bytes")
        if time.monotonic() > until_s:
            response.close()
            raise ReadTimeoutError(None, None, "the response took too long")  # type: ignore[arg-type]  # only its text is used
    return b"".join(parts)


_LOG = logging.getLogger(__name__)

#: An object of the API, as its JSON.
Object = dict[str, Any]

MERGE_PATCH = "application/merge-patch+json"
_METHODS = {
    "get": "GET",
    "list": "GET",
    "watch": "GET",
    "create": "POST",
    "update": "PUT",
    "patch": "PATCH",
    "delete": "DELETE",
}

#: Prefixes of the statuses that imply that RBAC allowed the request.
_PAST_RBAC = ("2", "404", "409", "422")

#: Connections kept open, for eight steps, three watches, the lease and events.
CONNECTIONS = 16


class Connection:
    """Requests to one API server; thread-safe.

    Attributes
    ----------
    namespace
        The client's own namespace: the pod's, or the one of the kubeconfig's context.
    timeout_s
        For a whole request including its response; a watch has its own.
    """

    def __init__(
        self, configuration: Configuration, *, namespace: str, user_agent: str, timeout_s: float = 10.0
    ) -> None:
        self.namespace, self.timeout_s = namespace, timeout_s
        configuration.retries = False  # callers decide whether and when to retry
        configuration.keep_alive = True  # the kernel detects a lost peer, even in a silent watch
        configuration.connection_pool_maxsize = CONNECTIONS
        self._configuration = configuration
        self._client = ApiClient(configuration)
        self._client.user_agent = user_agent
        self._counting = threading.Lock()
        self._requests: Counter[tuple[str, str, str]] = Counter()
        self._missing: dict[tuple[str, str], Problem] = {}

    @property
    def url(self) -> str:
        """Address of the API server."""
        return str(self._configuration.host)

    @property
    def requests(self) -> Mapping[tuple[str, str, str], int]:
        """Number of requests by verb, resource such as ``pods``, and status or error word."""
        with self._counting:
            return MappingProxyType(dict(self._requests))

    @property
    def missing_rights(self) -> tuple[Problem, ...]:
        """Errors of the verbs that RBAC currently denies; see `ApiError.lacks_right`.

        ConfigMaps are left out: owners of a namespace decide whether to grant them.
        """
        with self._counting:
            return tuple(self._missing.values())

    def get(
        self, resource: Resource, name: str, *, namespace: str | None = None, timeout_s: float | None = None
    ) -> Object:
        """Read one object.

        Raises
        ------
        ApiError
            As all requests here do.
        """
        call = Call(verb="get", resource=resource, namespace=namespace, name=name)
        return self._ask(call, timeout_s=timeout_s)

    def pages(
        self,
        resource: Resource,
        *,
        namespace: str | None = None,
        label_selector: str = "",
        field_selector: str = "",
        page_size: int = 250,
    ) -> Iterator[Object]:
        """List objects page by page, with one page in memory at a time.

        Parameters
        ----------
        namespace
            None for all.
        """
        call = Call(verb="list", resource=resource, namespace=namespace)
        query = {"limit": str(page_size), **_selectors(label_selector, field_selector)}
        while True:
            page = self._ask(call, query=query)
            yield page
            more = page.get("metadata", {}).get("continue")
            if not more:
                return
            query = {**query, "continue": str(more)}

    def create(
        self, resource: Resource, body: Object, *, namespace: str | None = None, timeout_s: float | None = None
    ) -> Object:
        """Create an object; return it as stored by the server."""
        name = str(body.get("metadata", {}).get("name", ""))
        call = Call(verb="create", resource=resource, namespace=namespace, name=name)
        return self._ask(call, body=body, timeout_s=timeout_s)

    def update(
        self, resource: Resource, body: Object, *, namespace: str | None = None, timeout_s: float | None = None
    ) -> Object:
        """Replace an object; if the body has a resourceVersion, only if the object still has it."""
        name = str(body["metadata"]["name"])
        call = Call(verb="update", resource=resource, namespace=namespace, name=name)
        return self._ask(call, body=body, timeout_s=timeout_s)

    def patch(
        self,
        resource: Resource,
        name: str,
        body: Object,
        *,
        namespace: str | None = None,
        subresource: str = "",
        dry_run: bool = False,
    ) -> Object:
        """Merge a patch into an object; if it has a resourceVersion, only if the object still has it."""
        call = Call(verb="patch", resource=resource, namespace=namespace, name=name, subresource=subresource)
        query = {"dryRun": "All"} if dry_run else {}
        return self._ask(call, body=body, query=query, content_type=MERGE_PATCH)

    def delete(self, resource: Resource, name: str, *, namespace: str | None = None) -> None:
        """Delete an object."""
        self._ask(Call(verb="delete", resource=resource, namespace=namespace, name=name))

    def watch(
        self,
        resource: Resource,
        *,
        resource_version: str,
        namespace: str | None = None,
        field_selector: str = "",
        lasts_s: float = 300.0,
        silence_s: float = 90.0,
    ) -> ResponseLines:
        """Open a watch with bookmarks."""
        call = Call(verb="watch", resource=resource, namespace=namespace)
        query = {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": resource_version,
            "timeoutSeconds": str(max(1, round(lasts_s))),
            **_selectors("", field_selector),
        }
        response = self._open(call, query=query, timeout_s=(self.timeout_s, silence_s))
        return ResponseLines(call, response)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()  # type: ignore[no-untyped-call]  # the package leaves it untyped

    def _ask(
        self,
        call: Call,
        *,
        query: Mapping[str, str] | None = None,
        body: Object | None = None,
        content_type: str = "application/json",
        timeout_s: float | None = None,
    ) -> Object:
        limit_s = self.timeout_s if timeout_s is None else timeout_s
        until_s = time.monotonic() + limit_s
        response = self._open(
            call, query=query or {}, body=body, content_type=content_type, timeout_s=(limit_s, limit_s)
        )
        try:
            with convert_errors(call):
                text = read_whole(response, MAX_RESPONSE_BYTES, until_s)
                answer = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise invalid_response(call, error) from None
        finally:
            response.release_conn()
        if not isinstance(answer, dict):
            raise invalid_response(call, type(answer).__name__)
        return answer

    def _open(
        self,
        call: Call,
        *,
        query: Mapping[str, str],
        timeout_s: tuple[float, float],
        body: Object | None = None,
        content_type: str = "",
    ) -> HTTPResponse:
        """Return a response with status 2xx; its body is unread."""
        try:
            response = self._request(call, query, timeout_s, body, content_type)
        except ApiError as error:
            self._count(call, error.status_word, error.problem if error.lacks_right else None)
            raise
        self._count(call, str(response.status))
        return response

    def _request(
        self,
        call: Call,
        query: Mapping[str, str],
        timeout_s: tuple[float, float],
        body: Object | None,
        content_type: str,
    ) -> HTTPResponse:
        headers = {"Accept": "application/json"}
        if body is not None:
            headers["Content-Type"] = content_type
        in_collection = call.verb in {"create", "list", "watch"}
        with convert_errors(call):
            request = self._client.param_serialize(
                _METHODS[call.verb],
                call.resource.path(
                    namespace=call.namespace, name="" if in_collection else call.name, subresource=call.subresource
                ),
                query_params=list(query.items()),
                header_params=headers,
                body=body,
                auth_settings=["BearerToken"],
            )
            response: HTTPResponse = self._client.call_api(*request, _request_timeout=timeout_s).response
            if 200 <= response.status <= 299:
                return response
            try:
                text = read_whole(response, MAX_ERROR_BYTES, time.monotonic() + timeout_s[0])
            finally:
                response.release_conn()
        raise error_of_response(call, response.status, response.reason or "", text, dict(response.headers))

    def _count(self, call: Call, word: str, missing: Problem | None = None) -> None:
        right = call.verb, call.target
        with self._counting:
            self._requests[*right, word] += 1
            known = self._missing.get(right)
            if missing is not None and call.resource != CONFIG_MAPS:
                self._missing[right] = missing
            elif word.startswith(_PAST_RBAC):
                self._missing.pop(right, None)
        if missing is not None and known is None:
            log_problem(_LOG, logging.ERROR, missing.code, **missing.fields)


def _selectors(label_selector: str, field_selector: str) -> dict[str, str]:
    selectors = {"labelSelector": label_selector, "fieldSelector": field_selector}
    return {key: value for key, value in selectors.items() if value}
