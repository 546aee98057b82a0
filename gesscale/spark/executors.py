"""Which executors are alive, asked of the Spark driver, with a short memory."""

import threading
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from gesscale.spark.records import Executors

FRESH_S = 0.2
_REMEMBERED = 64


class ExecutorWatch:
    """Asks for the live executors when somebody wants to know, and remembers the recent answers.

    Parameters
    ----------
    hosts
        Asks Spark: the host address of every live executor; raises where Spark does not tell.
    clock_s
        Seconds since the epoch.
    """

    def __init__(self, hosts: Callable[[], list[str]], clock_s: Callable[[], float]) -> None:
        self._hosts = hosts
        self._clock_s = clock_s
        self._seen: deque[Executors] = deque(maxlen=_REMEMBERED)
        self._lock = threading.Lock()

    def now(self, *, fresh_s: float = FRESH_S) -> Executors:
        """Return the live executors, asked at most so many seconds ago."""
        with self._lock:
            if self._seen and 0 <= self._clock_s() - self._seen[-1].at_s <= fresh_s:
                return self._seen[-1]
            executors = Executors(hosts=tuple(sorted(self._hosts())), at_s=self._clock_s())
            self._seen.append(executors)
            return executors

    def seen_by(self, at_s: float) -> Executors | None:
        """Return what was last seen up to an instant; the oldest memory where all are later; None if none."""
        with self._lock:
            earlier = [executors for executors in self._seen if executors.at_s <= at_s]
            return earlier[-1] if earlier else next(iter(self._seen), None)


def live_hosts(spark: Any) -> list[str]:
    """Return the host of every live executor of a session; in local mode the driver is the one executor.

    Parameters
    ----------
    spark
        A classic (not Connect) Spark session.

    Returns
    -------
    list of str
        One entry for each executor, as Spark spells its host.
    """
    context = spark._jsc.sc()
    listed = context.statusStore().executorList(True)
    summaries = [listed.apply(index) for index in range(listed.size())]
    addresses = {summary.id(): summary.hostPort() for summary in summaries}
    return hosts_of(addresses, is_local=context.isLocal())


def hosts_of(addresses: Mapping[str, str], *, is_local: bool) -> list[str]:
    """Return the hosts of executors.

    Parameters
    ----------
    addresses
        Host and port by executor id, the driver among them; an executor that is just registering has none yet.
    is_local
        Whether the driver itself runs the tasks.

    Returns
    -------
    list of str
        One for each executor.

    Examples
    --------
    >>> hosts_of({"driver": "10.0.0.1:7079", "1": "10.0.0.2:40000", "2": ""}, is_local=False)
    ['10.0.0.2']
    >>> hosts_of({"driver": "laptop:7079"}, is_local=True)
    ['laptop']
    """
    hosts = {name: address.rpartition(":")[0] for name, address in addresses.items()}
    driver = hosts.pop("driver", "")
    if driver and is_local:
        return [driver]
    return [host for host in hosts.values() if host]
