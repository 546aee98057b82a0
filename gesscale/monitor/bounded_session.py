"""The session that is given to clients built on ``requests``: their GETs go through our own bounded one."""

from collections.abc import Mapping
from typing import Any

from requests import PreparedRequest, Response, Session
from requests.adapters import BaseAdapter

from gesscale.common.http_client import FetchError, HttpClient


class _BoundedAdapter(BaseAdapter):
    def __init__(self, *, timeout_s: float, max_bytes: int, max_parts: int, client: HttpClient) -> None:
        super().__init__()
        self._timeout_s, self._max_bytes, self._max_parts = timeout_s, max_bytes, max_parts
        self._client = client

    def send(
        self,
        request: PreparedRequest,
        stream: bool = False,  # noqa: ARG002 - the rest is what the base class is called with
        timeout: Any = None,  # noqa: ARG002
        verify: bool | str = True,  # noqa: ARG002
        cert: Any = None,  # noqa: ARG002
        proxies: Mapping[str, str] | None = None,  # noqa: ARG002
    ) -> Response:
        response = Response()
        response.request, response.url = request, request.url or ""
        body = self._client.fetch(response.url, timeout_s=self._timeout_s, max_bytes=self._max_bytes)
        if body.count(b"{") + body.count(b"[") > self._max_parts:
            message = f"it answered more than {self._max_parts} JSON objects and lists"
            raise FetchError(message)
        response._content = body
        response.status_code, response.encoding = 200, "utf-8"
        return response

    def close(self) -> None:
        """Do nothing: no connection is kept."""


class BoundedSession(Session):
    """A session of ``requests`` that only gets, and whose every answer is bounded.

    Parameters
    ----------
    timeout_s, max_bytes
        As in `gesscale.common.http_client.HttpClient.page`, which also says what is raised.
    max_parts
        Most objects and lists of an answer in JSON. A short one takes up to 360 bytes of memory, its text only ten.
    client
        By which pages are got.
    """

    def __init__(self, *, timeout_s: float, max_bytes: int, max_parts: int, client: HttpClient) -> None:
        super().__init__()
        self.trust_env = False  # neither proxies nor passwords of the environment
        self._bounded = _BoundedAdapter(
            timeout_s=timeout_s, max_bytes=max_bytes, max_parts=max_parts, client=client
        )

    def get_adapter(self, url: str | bytes) -> BaseAdapter:
        """Return the bounded adapter, whatever a client has mounted."""
        del url
        return self._bounded
