"""Reports resources that cannot be obeyed: once each, and again where that failed."""

import logging
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future
from dataclasses import dataclass

from gesscale.kubernetes.resource.translate import Key, ResourceFault

_LOG = logging.getLogger(__name__)
_AGAIN_S = 15.0


@dataclass(slots=True)
class _Report:
    said: tuple[int, ResourceFault]
    writing: Future[None]
    at_s: float


class FaultReporter:
    """Reports in threads of a pool; used by one thread.

    Parameters
    ----------
    tell
        Writes a fault into the resource's status; what it raises is logged, and it is tried again later.
    pool
        Where that is done.
    """

    def __init__(self, tell: Callable[[Key, ResourceFault], None], pool: Executor) -> None:
        self._write, self._pool = tell, pool
        self._reported: dict[Key, _Report] = {}

    def report(
        self, faults: Mapping[Key, ResourceFault], generations: Mapping[Key, int], now_s: float
    ) -> None:
        """Report the faults that were not reported yet.

        Parameters
        ----------
        faults
            All that there are, by resource.
        generations
            Of which generation of its resource each fault speaks.
        now_s
            Of a clock that never jumps.
        """
        self._reported = {
            key: last for key, last in self._reported.items() if key in faults or not last.writing.done()
        }
        for key, fault in faults.items():
            said, last = (generations.get(key, 0), fault), self._reported.get(key)
            if last is not None:
                if not last.writing.done():
                    continue
                failed = last.writing.cancelled() or last.writing.exception() is not None
                if last.said == said and (not failed or now_s - last.at_s < _AGAIN_S):
                    continue
            self._reported[key] = _Report(said, self._pool.submit(self._try, key, fault), now_s)

    def forget(self) -> None:
        """Forget the reports: another controller leads and may report otherwise."""
        self._reported = {}

    def _try(self, key: Key, fault: ResourceFault) -> None:
        try:
            self._write(key, fault)
        except Exception as error:
            _LOG.warning("streamautoscaler %s: %s", "/".join(key), error)
            raise
