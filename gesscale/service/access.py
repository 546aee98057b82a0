"""Who may see what is served: anybody on this machine, or who knows the token of a file; and what browsers are told."""

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

#: Open to all: a kubelet has no token, and they tell nothing of the stream.
PROBES = ("/healthz", "/readyz")

SCRAPED = "/metrics"

_SHORTEST_TOKEN = 16
_MOST_TOKEN_BYTES = 4096


def read_token(file: Path) -> str:
    """Read a token.

    Raises
    ------
    InputError
        The file cannot be read, others may read it, or it holds no token of at least 16 characters.
    """
    try:
        mode = stat.S_IMODE(file.stat().st_mode)
        text = file.read_bytes()[: _MOST_TOKEN_BYTES + 1].decode("ascii", "replace").strip()
    except OSError as error:
        raise InputError(f"--token-file: {file}: {error.strerror or error}") from error
    if mode & (stat.S_IROTH | stat.S_IWOTH | stat.S_IWGRP):
        raise InputError(
            f"--token-file: expected a file that others may not read or change, got {file} with mode {mode:04o}; "
            f"run: chmod 600 {file}, and make a new token: others may know this one"
        )
    if not _SHORTEST_TOKEN <= len(text) <= _MOST_TOKEN_BYTES or not text.isprintable() or " " in text:
        raise InputError(
            f"--token-file: expected one line of {_SHORTEST_TOKEN} to {_MOST_TOKEN_BYTES} letters and digits, got "
            f"{len(text)} characters in {file}; make one by: openssl rand -hex 32 > {file}"
        )
    return text


def is_loopback(host: str) -> bool:
    """Whether an address or name is this machine's own."""
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
    """Decides who gets a page; a `gesscale.common.http_server.Guard`."""

    #: Who knows it gets everything, by HTTP Basic with any user name or as a bearer token; empty: none is
    #: needed.
    token: str = ""
    #: Without a token, the page and the API answer this machine only, as ``kubectl port-forward`` reaches
    #: them.
    own_machine_only: bool = False

    def __call__(self, path: str, header: Callable[[str], str | None], peer: str) -> None:
        """Let a request pass.

        Raises
        ------
        HttpStatusError
            It may not.
        """
        if path in PROBES:
            return
        if self.token:
            if not self._knows(header("Authorization") or ""):
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
        elif self.own_machine_only:
            raise HttpStatusError(HTTPStatus.FORBIDDEN, "http-client-not-local")

    def _knows(self, authorization: str) -> bool:
        scheme, _, given = authorization.partition(" ")
        if scheme.lower() == "basic":
            try:
                given = base64.b64decode(given, validate=True).decode().partition(":")[2]
            except (binascii.Error, ValueError):
                return False
        return hmac.compare_digest(given.strip().encode(), self.token.encode())


def _check_host(host: str) -> None:
    """Refuse a name that a stranger's DNS may point at this machine, so that no other site reads the page."""
    name = urlsplit(f"//{host}").hostname or ""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        if name != "localhost":
            raise HttpStatusError(HTTPStatus.FORBIDDEN, "http-host-not-allowed", host=name) from None
