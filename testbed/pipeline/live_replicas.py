"""How many replicas are alive: asked of the endpoint of `gesscale.spark`; a source cannot ask Spark."""

import json
import logging
import time

from latency_map.measure.fetch import ANYWHERE, FetchError

_LOG = logging.getLogger(__name__)
_FRESH_S = 0.2
_TIMEOUT_S = 1.0
_MAX_BYTES = 4096


class LiveReplicas:
    """Asks an endpoint's ``/replicas``; one replica is assumed where it does not answer, and a warning is logged once.

    Parameters
    ----------
    url
        Such as ``http://127.0.0.1:9108/replicas``; None always assumes one.
    """

    def __init__(self, url: str | None) -> None:
        self._url = url
        self._count = 1
        self._asked_at_s = -1.0
        self._warned = False

    def count(self) -> int:
        """Return the live replicas, at least 1, asked at most 0.2 s ago."""
        if self._url is None:
            return 1
        if not 0 <= time.monotonic() - self._asked_at_s <= _FRESH_S:
            self._count = self._ask(self._url)
            self._asked_at_s = time.monotonic()
        return self._count

    def _ask(self, url: str) -> int:
        try:
            answer = json.loads(ANYWHERE.fetch(url, timeout_s=_TIMEOUT_S, max_bytes=_MAX_BYTES))
            return max(1, int(answer["replicas"]))
        except (FetchError, ValueError, TypeError, LookupError, RecursionError) as error:
            if not self._warned:
                self._warned = True
                _LOG.warning("replay: %s reports no live replicas (%s); 1 is assumed", url, error)
            return 1
