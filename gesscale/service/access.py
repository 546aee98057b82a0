"""Access control for the page: loopback clients or a bearer token, and security headers."""

import base64
import binascii
import hmac
import ipaddress
import stat
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from urllib.parse import urlsplit

from gesscale.common.http_server import HttpStatusError
from gesscale.errors import InputError

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}

#: Open to all clients: a kubelet has no token, and probes reveal nothing about the stream.
PROBES = ("/healthz", "/readyz")

SCRAPED = "/metrics"

_MIN_TOKEN_LENGTH = 16
_MAX_TOKEN_BYTES = 4096


def read_token(file: Path) -> str:
    """Read a token from a file.

    Raises
    ------
    InputError
        If the file cannot be read, other users may read it, or it has no token of at least 16 characters.
    """
    try:
        mode = stat.S_IMODE(file.stat().st_mode)
        text = file.read_bytes()[: _MAX_TOKEN_BYTES + 1].decode("ascii", "replace").strip()
    except OSError as error:
        raise InputError("token-file-unreadable", source=file, cause=error.strerror or str(error)) from error
    if mode & (stat.S_IROTH | stat.S_IWOTH | stat.S_IWGRP):
        raise InputError("token-file-exposed", file=file, mode=f"{mode:04o}")
    if not _MIN_TOKEN_LENGTH <= len(text) <= _MAX_TOKEN_BYTES or not text.isprintable() or " " in text:
        bounds = {"min": _MIN_TOKEN_LENGTH, "max": _MAX_TOKEN_BYTES}
        raise InputError("token-invalid", source=file, characters=len(text), **bounds)
    return text


def is_loopback(host: str) -> bool:
    """Return whether an address or a name is loopback."""
    if host == "localhost":
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """Authorizes requests; a `gesscale.common.http_server.Guard`."""

    #: Token of HTTP Basic (any user name) or Bearer; empty if none is required.
    token: str = ""
    #: Without a token, serve the page and the API to loopback clients only, such as ``kubectl port-forward``.
    loopback_only: bool = False

    def __call__(self, path: str, header: Callable[[str], str | None], peer: str) -> None:
        """Authorize a request.

        Raises
        ------
        HttpStatusError
            If the client may not have the page.
        """
        if path in PROBES:
            return
        if self.token:
            if not self._is_authorized(header("Authorization") or ""):
                raise HttpStatusError(
                    HTTPStatus.UNAUTHORIZED,
                    "http-token-required",
                    {"WWW-Authenticate": 'Basic realm="gesscale", charset="UTF-8"'},
                )
            return
        if path == SCRAPED:
            return
        if is_loopback(peer):
            _check_host(header("Host") or "")
        elif self.loopback_only:
            raise HttpStatusError(HTTPStatus.FORBIDDEN, "http-client-remote")

    def _is_authorized(self, authorization: str) -> bool:
        scheme, _, secret = authorization.partition(" ")
        if scheme.lower() == "basic":
            try:
                secret = base64.b64decode(secret, validate=True).decode().partition(":")[2]
            except (binascii.Error, ValueError):
                return False
        return hmac.compare_digest(secret.strip().encode(), self.token.encode())


def _check_host(host: str) -> None:
    """Reject host names other than localhost: they may be those of a DNS rebinding attack."""
    name = urlsplit(f"//{host}").hostname or ""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        if name != "localhost":
            raise HttpStatusError(HTTPStatus.FORBIDDEN, "http-host-forbidden", host=name) from None
