"""Asks from time to time which rights the controller lacks, so that a missing one is named before it is missed."""

import logging
from collections.abc import Callable
from concurrent.futures import Executor, Future

from gesscale.kubernetes.api import ApiError, Connection, missing_rights
from gesscale.kubernetes.api.rights import in_words

_LOG = logging.getLogger(__name__)
_EVERY_S = 600.0
_AGAIN_S = 15.0
_AFTER_REFUSAL_S = 1.0


class RightsCheck:
    """Asks in a thread of a pool; told the time by the one thread that calls `tick`.

    Parameters
    ----------
    ask
        Returns a sentence for each missing right; may raise ApiError.
    pool
        Where it is asked.
    """

    def __init__(self, ask: Callable[[], tuple[str, ...]], pool: Executor) -> None:
        self._ask, self._pool = ask, pool
        self._missing: tuple[str, ...] | None = None
        self._asking: Future[bool] | None = None
        self._due_s = float("-inf")
        self._refused = False

    @property
    def missing(self) -> tuple[str, ...] | None:
        """A sentence for each missing right; None before anybody could tell."""
        return self._missing

    def refused(self) -> None:
        """Note that the API server refused something: it is asked again soon. For any thread."""
        self._refused = True

    def tick(self, now_s: float) -> None:
        """Ask where that is due.

        Parameters
        ----------
        now_s
            Of a clock that never jumps.
        """
        if self._asking is not None:
            if not self._asking.done():
                return
            well = not self._asking.cancelled() and self._asking.exception() is None and self._asking.result()
            self._asking, self._due_s = None, now_s + (_EVERY_S if well else _AGAIN_S)
        if self._refused:
            self._refused, self._due_s = False, min(self._due_s, now_s + _AFTER_REFUSAL_S)
        if now_s >= self._due_s:
            self._asking = self._pool.submit(self._ask_all)

    def _ask_all(self) -> bool:
        try:
            missing = self._ask()
        except ApiError as error:
            _LOG.warning("rights: %s", error)
            return False
        if missing != self._missing:
            for sentence in missing:
                _LOG.error("a right is missing: %s", sentence)
            if self._missing and not missing:
                _LOG.info("all rights are there now")
        self._missing = missing
        return not missing


def ask_missing(connection: Connection) -> tuple[str, ...]:
    """Return a sentence for each right that the controller lacks."""
    return tuple(in_words(right) for right in missing_rights(connection))
