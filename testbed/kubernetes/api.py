"""The few questions that bringing a cluster up asks its API server; everything else is for kubectl or a client."""

import json
import ssl
import time
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gesscale.errors import ClusterError

_ANSWER_TIMEOUT_S = 5.0
_LARGEST_ANSWER = 16 << 20
_PAUSE_S = 0.1
_MESSAGE_CHARACTERS = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Api:
    """An API server, asked as one user.

    Attributes
    ----------
    authority
        The certificates by which it is known.
    """

    url: str
    authority: Path
    token: str

    def get(self, path: str) -> str:
        """Return the answer to a GET.

        Raises
        ------
        OSError
            Where there is none, or it is a refusal.
        """
        context = ssl.create_default_context(cafile=str(self.authority))
        request = urllib.request.Request(  # noqa: S310 - always https, of our own making
            f"{self.url}{path}", headers={"Authorization": f"Bearer {self.token}"}
        )
        with urllib.request.urlopen(request, timeout=_ANSWER_TIMEOUT_S, context=context) as answer:  # noqa: S310
            return str(answer.read(_LARGEST_ANSWER).decode())

    def document(self, path: str) -> dict[str, Any]:
        """Return the JSON answer to a GET."""
        answer = json.loads(self.get(path))
        if not isinstance(answer, dict):
            message = f"expected an object from {self.url}{path}, got {type(answer).__name__}"
            raise OSError(message)
        return answer


def wait_until(done: Callable[[], bool], *, what: str, timeout_s: float, look_at: Path) -> None:
    """Ask until the answer is yes; an API server that does not answer counts as no.

    Parameters
    ----------
    what
        What is waited for, as a statement.
    look_at
        The log whose end the error shows.

    Raises
    ------
    ClusterError
        Where it is not so in time.
    """
    deadline = time.monotonic() + timeout_s
    last = ""
    while time.monotonic() < deadline:
        try:
            if done():
                return
            last = "not yet"
        except (OSError, ValueError) as error:
            last = str(error)
        time.sleep(_PAUSE_S)
    message = f"{what}: not so within {timeout_s:g} s ({last}); {look_at} ends: {_end_of(look_at)}"
    raise ClusterError(message)


def ready_nodes(api: Api) -> dict[str, bool]:
    """Return the registered nodes, and whether each is ready."""
    return {
        item["metadata"]["name"]: any(
            condition["type"] == "Ready" and condition["status"] == "True"
            for condition in item["status"].get("conditions", ())
        )
        for item in api.document("/api/v1/nodes")["items"]
    }


def _end_of(log: Path) -> str:
    try:
        return log.read_text(encoding="utf-8", errors="replace")[-_MESSAGE_CHARACTERS:].strip() or "(empty)"
    except OSError:
        return "(no such log)"
