"""Telling people of resources that cannot be obeyed: once each, and again where that failed."""

import logging
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future
from dataclasses import dataclass

from gesscale.kubernetes.resource.translate import Fault, Key

_LOG = logging.getLogger(__name__)
_AGAIN_S = 15.0


@dataclass(slots=True)
class _Told:
    said: tuple[int, Fault]
    telling: Future[None]
    at_s: float


class Complaints:
    """Tells in threads of a pool; used by one thread.

    Parameters
    ----------
    tell
        Writes a fault into the resource's status; what it raises is logged, and it is tried again later.
    pool
        Where that is done.
    """

    def __init__(self, tell: Callable[[Key, Fault], None], pool: Executor) -> None:
        self._tell, self._pool = tell, pool
        self._told: dict[Key, _Told] = {}

    def hear(self, faults: Mapping[Key, Fault], generations: Mapping[Key, int], now_s: float) -> None:
        """Tell of the faults that were not told yet.

        Parameters
        ----------
        faults
            All that there are, by resource.
        generations
            Of which generation of its resource each fault speaks.
        now_s
            Of a clock that never jumps.
        """
        self._told = {
            key: told for key, told in self._told.items() if key in faults or not told.telling.done()
        }
        for key, fault in faults.items():
            said, told = (generations.get(key, 0), fault), self._told.get(key)
            if told is not None:
                if not told.telling.done():
                    continue
                failed = told.telling.cancelled() or told.telling.exception() is not None
                if told.said == said and (not failed or now_s - told.at_s < _AGAIN_S):
                    continue
            self._told[key] = _Told(said, self._pool.submit(self._try, key, fault), now_s)

    def forget(self) -> None:
        """Forget what was told: somebody else leads, who may tell otherwise."""
        self._told = {}

    def _try(self, key: Key, fault: Fault) -> None:
        try:
            self._tell(key, fault)
        except Exception as error:
            _LOG.warning("streamautoscaler %s: %s", "/".join(key), error)
            raise
