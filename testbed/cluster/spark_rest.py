"""The REST interface of a Spark driver: its application and its executors."""

import json
from collections.abc import Iterator
from dataclasses import dataclass

from gesscale.common.http_client import ANYWHERE, FetchError
from gesscale.errors import ClusterError

_TIMEOUT_S = 5.0
_LARGEST_ANSWER = 4_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutorState:
    """An executor as its driver sees it.

    Attributes
    ----------
    executor_id
        The number it registered with.
    active
        Whether it may still be given tasks.
    """

    executor_id: int
    active: bool


def application_id(base_url: str) -> str:
    """Return the id of the driver's application.

    Raises
    ------
    ClusterError
        Where the driver does not answer, or not yet.
    """
    applications = _get(base_url, "applications")
    match applications:
        case [{"id": str(identifier)}, *_]:
            return identifier
    message = f"{base_url}: expected the driver's application, got {str(applications)[:80]!r}"
    raise ClusterError(message)


def executors(base_url: str, application: str) -> tuple[ExecutorState, ...]:
    """Return the executors of an application, gone ones included, the driver left out.

    Raises
    ------
    ClusterError
        Where the driver does not answer.
    """
    return tuple(_executor_states(_get(base_url, f"applications/{application}/allexecutors")))


def _executor_states(listed: object) -> Iterator[ExecutorState]:
    for entry in listed if isinstance(listed, list) else ():
        match entry:
            case {"id": str(number), "isActive": bool(active)}:
                if number.isdecimal():
                    yield ExecutorState(executor_id=int(number), active=active)


def _get(base_url: str, path: str) -> object:
    try:
        url = f"{base_url}/api/v1/{path}"
        return json.loads(ANYWHERE.fetch(url, timeout_s=_TIMEOUT_S, max_bytes=_LARGEST_ANSWER))
    except (FetchError, ValueError, RecursionError) as error:
        message = f"the Spark driver at {base_url} does not answer as expected: {error}"
        raise ClusterError(message) from error
