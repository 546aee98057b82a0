"""One HTTP GET to an agent, bounded in time and size."""

import time
from http.client import HTTPConnection, HTTPException
from urllib.parse import urlsplit

_CHUNK_BYTES = 1 << 16


class FetchError(Exception):
    """A page could not be had; the message says what came instead."""


def fetch(url: str, *, timeout_s: float, max_bytes: int) -> bytes:
    """Get a page. Proxies of the environment are not used and redirects not followed.

    Parameters
    ----------
    url
        ``http://host:port/path``.
    timeout_s
        Bound on connecting, on the head, and on the whole of the body.
    max_bytes
        Bound on the body.

    Returns
    -------
    bytes
        The body of an answer with status 200.

    Raises
    ------
    FetchError
        At any other answer or none.
    """
    deadline_s = time.monotonic() + timeout_s
    try:
        parts = urlsplit(url)
        if parts.scheme != "http" or not parts.hostname:
            message = f"expected an address such as http://10.0.0.1:9109, got {url!r}"
            raise FetchError(message)
        connection = HTTPConnection(parts.hostname, parts.port, timeout=timeout_s)
        try:
            connection.request("GET", parts.path or "/", headers={"Connection": "close"})
            response = connection.getresponse()
            if response.status != 200:
                message = f"it answered {response.status} {response.reason}"
                raise FetchError(message)
            body = bytearray()
            while chunk := response.read1(_CHUNK_BYTES):
                body += chunk
                if len(body) > max_bytes:
                    message = f"it answered more than {max_bytes} bytes"
                    raise FetchError(message)
                if time.monotonic() > deadline_s:
                    raise TimeoutError
        finally:
            connection.close()
    except TimeoutError:
        message = f"no complete answer came within {timeout_s:g} s"
        raise FetchError(message) from None
    except (OSError, HTTPException, ValueError) as error:
        message = f"the connection failed: {error or type(error).__name__}"
        raise FetchError(message) from None
    return bytes(body)
