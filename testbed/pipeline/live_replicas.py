"""Which replicas are alive and how fast: asked of the endpoint of `gesscale.spark`; a source cannot ask Spark."""

import json
import logging
import time
from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from latency_map.measure.fetch import ANYWHERE, FetchError

_LOG = logging.getLogger(__name__)
_FRESH_S = 0.2
_TIMEOUT_S = 1.0
_MAX_BYTES = 1_000_000
_REMEMBERED, _ENOUGH = 4, 3
"""The best of a replica's last batches tells its speed, and not the first ones: a cold executor is no slow node."""


class LiveReplicas:
    """Asks an endpoint's ``/replicas`` and ``/batches``.

    One replica is assumed where it does not answer, and a warning is logged once.

    Parameters
    ----------
    url
        Such as ``http://127.0.0.1:9108/replicas``; None always assumes one.
    """

    def __init__(self, url: str | None) -> None:
        self._url = url
        self._count = 1
        self._hosts: tuple[str, ...] = ()
        self._asked_at_s = -1.0
        self._warned = False
        self._newest_batch = -1
        self._rows_per_s: defaultdict[str, deque[float]] = defaultdict(partial(deque, maxlen=_REMEMBERED))

    def count(self) -> int:
        """Return the live replicas, at least 1, asked at most 0.2 s ago."""
        if self._url is None:
            return 1
        if not 0 <= time.monotonic() - self._asked_at_s <= _FRESH_S:
            self._count, self._hosts = self._ask(self._url)
            self._asked_at_s = time.monotonic()
        return self._count

    def slowest_share(self) -> float:
        """Return the share that the slowest live replica has in the speed of all, by the last batches."""
        count = self.count()
        if self._url is not None and count > 1:
            self._learn(self._url)
        known = {host: max(last) for host, last in self._rows_per_s.items() if len(last) >= _ENOUGH}
        return slowest_share(known, self._hosts) if self._hosts else 1 / count

    def _ask(self, url: str) -> tuple[int, tuple[str, ...]]:
        try:
            answer = json.loads(ANYWHERE.fetch(url, timeout_s=_TIMEOUT_S, max_bytes=_MAX_BYTES))
            return max(1, int(answer["replicas"])), tuple(map(str, answer.get("hosts") or ()))
        except (FetchError, ValueError, TypeError, LookupError, RecursionError) as error:
            if not self._warned:
                self._warned = True
                _LOG.warning("replay: %s reports no live replicas (%s); 1 is assumed", url, error)
            return 1, ()

    def _learn(self, url: str) -> None:
        """Note what each replica did in the batches that have ended since the last time."""
        batches = f"{url.removesuffix('/replicas')}/batches?after={self._newest_batch}"
        try:
            answer = json.loads(ANYWHERE.fetch(batches, timeout_s=_TIMEOUT_S, max_bytes=_MAX_BYTES))
            for batch in answer["batches"]:
                for host, rows_per_s in _rows_per_s(batch["by_host"] or {}).items():
                    self._rows_per_s[host].append(rows_per_s)
                self._newest_batch = max(self._newest_batch, int(batch["batch_id"]))
        except (FetchError, ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
            _LOG.debug("replay: %s tells no speeds: %s", batches, error)


def _rows_per_s(by_host: Mapping[str, Any]) -> dict[str, float]:
    """Return the speeds of the replicas whose work in a batch is known."""
    return {
        host: work["rows"] / work["busy_s"]
        for host, work in by_host.items()
        if work["rows"] > 0 and work["busy_s"] > 0
    }


def slowest_share(rows_per_s: Mapping[str, float], hosts: Sequence[str]) -> float:
    """Return the share that the slowest of some replicas has in the speed of all.

    Parameters
    ----------
    rows_per_s
        Speeds by host.
    hosts
        The replicas, at least one; one whose speed is not known counts as the mean of the others.

    Examples
    --------
    >>> slowest_share({"a": 400.0, "b": 100.0}, ["a", "b"])
    0.2
    >>> slowest_share({"a": 400.0, "b": 100.0}, ["a", "c"])
    0.5
    """
    known = [rows_per_s[host] for host in hosts if host in rows_per_s]
    if not known:
        return 1 / len(hosts)
    return min(known) / (sum(known) / len(known) * len(hosts))
