"""Reads the API of a page."""

import json
from typing import Any
from urllib.parse import urlencode

from gesscale.common.http_client import UNRESTRICTED_CLIENT, FetchError
from gesscale.errors import ClusterError

_TIMEOUT_S, _MAX_BYTES = 10.0, 32 << 20


def read_page(url: str, resource: str, **parameters: object) -> Any:
    """Return a document of a page's API.

    Raises
    ------
    ClusterError
        If it does not respond, or not with JSON.
    """
    address = f"{url.rstrip('/')}/api/{resource}?{urlencode(parameters)}"
    try:
        return json.loads(UNRESTRICTED_CLIENT.fetch(address, timeout_s=_TIMEOUT_S, max_bytes=_MAX_BYTES))
    except (FetchError, ValueError) as error:
        raise ClusterError("controller-page-unreadable", source=address, cause=str(error)) from error
