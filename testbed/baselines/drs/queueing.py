"""An open Jackson network of operators, each a queue with several servers, and the fewest replicas for a latency.

The model of DRS (Fu, Ding, Ma, Winslett, Yang, Zhang, ICDCS 2015 and IEEE/ACM ToN 25(6), 2017). Customers come at
random (Poisson) and take exponentially distributed times; the replicas of an operator share one queue (M/M/k).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Station:
    """An operator as a queue.

    Attributes
    ----------
    arrivals_per_s
        lambda, what comes to it, rows/s, at least 0.
    service_per_s
        mu, what one replica does when it is never idle, rows/s, above 0.
    visits
        How often what enters the network comes by, in the mean.
    interval_s
        Where rows come in batches, the time between two of them, seconds: a customer is then the share of a batch
        that one of k replicas takes, ``lambda interval / k`` rows. None: a customer is a row.
    least, most
        The replicas that it may have, ``1 <= least <= most``.
    """

    arrivals_per_s: float
    service_per_s: float
    visits: float = 1.0
    interval_s: float | None = None
    least: int = 1
    most: int

    @property
    def load(self) -> float:
        """The replicas that are busy in the mean, lambda / mu (Erlang)."""
        return self.arrivals_per_s / self.service_per_s

    @property
    def least_stable(self) -> int:
        """The fewest replicas with which its queue does not grow for ever, within the bounds."""
        return min(max(self.least, math.floor(min(self.load, self.most)) + 1), self.most)

    def sojourn_s(self, replicas: int) -> float:
        """Return the mean time from a customer's arrival to the end of its service, seconds.

        Notes
        -----
        ``E[T] = n (1 / mu + C(k, lambda / mu) / (k mu - lambda))`` with n rows a customer: both rates count
        customers, so their proportion stays. Infinite where k replicas are no more than the load. It falls with k and
        is convex, also where n is a share: a product of two such functions above 0 is one.
        """
        spare_per_s = replicas * self.service_per_s - self.arrivals_per_s
        if spare_per_s <= 0:
            return math.inf
        rows = 1.0 if self.interval_s is None else self.arrivals_per_s * self.interval_s / replicas
        return rows * (1.0 / self.service_per_s + erlang_c(replicas, self.load) / spare_per_s)


def erlang_c(servers: int, load: float) -> float:
    """Return the probability that a customer has to wait (Erlang's C formula).

    Parameters
    ----------
    servers
        k, at least 1.
    load
        a = lambda / mu, at least 0.

    Returns
    -------
    float
        0..1; 1 where the servers are no more than the load.

    Notes
    -----
    By the recursion of Erlang's B formula, ``B(k) = a B(k - 1) / (k + a B(k - 1))`` from ``B(0) = 1``, which neither
    overflows nor cancels; ``C = k B / (k - a (1 - B))``.

    Examples
    --------
    >>> round(erlang_c(1, 0.25), 6), round(erlang_c(2, 1.0), 6), round(erlang_c(3, 2.0), 6)
    (0.25, 0.333333, 0.444444)
    """
    if load >= servers:
        return 1.0
    blocked = 1.0
    for count in range(1, servers + 1):
        blocked = load * blocked / (count + load * blocked)
    return servers * blocked / (servers - load * (1.0 - blocked))


def total_sojourn_s(stations: Mapping[str, Station], replicas: Mapping[str, int]) -> float:
    """Return the mean time that what enters the network spends in all its operators.

    Parameters
    ----------
    stations
        The operators of the network.
    replicas
        Of each of them.

    Returns
    -------
    float
        Seconds, the sum of visits times sojourn; infinite where an operator is not stable.
    """
    return sum(station.visits * station.sojourn_s(replicas[name]) for name, station in stations.items())


def fewest_replicas(
    stations: Mapping[str, Station], target_s: float, *, at_least: int = 0, at_most: int | None = None
) -> Mapping[str, int]:
    """Return the fewest replicas that meet a target for the time in the network.

    Parameters
    ----------
    stations
        The operators of the network.
    target_s
        T_max, seconds.
    at_least, at_most
        Replicas of all together; None: as many as the stations may have.

    Returns
    -------
    Mapping of str to int
        By operator; all that lower the time where these do not suffice. Where an operator is not stable with all that
        it may have, no replica of another one would help: then these have no more than they need to be stable.

    Notes
    -----
    From the least stable number on, each next replica goes where it takes the most off the total. As each operator's
    sojourn time is convex in its replicas, no other way to share out as many gives less.
    """
    found = {name: station.least_stable for name, station in stations.items()}
    if not stations or any(station.load >= station.most for station in stations.values()):
        return found
    gains_s = {name: _gain_s(station, found[name]) for name, station in stations.items()}
    total, sojourn_s = sum(found.values()), total_sojourn_s(stations, found)
    while total < at_least or sojourn_s > target_s:
        best = max(gains_s, key=lambda name: gains_s[name])
        helps = gains_s[best] > 0 or (gains_s[best] == 0 and total < at_least)
        if not helps or total == at_most:
            break
        found[best] += 1
        total += 1
        sojourn_s = total_sojourn_s(stations, found)
        gains_s[best] = _gain_s(stations[best], found[best])
    return found


def _gain_s(station: Station, replicas: int) -> float:
    """Return how much one more replica takes off the total; below 0 where there may be no more."""
    if replicas >= station.most:
        return -1.0
    return station.visits * (station.sojourn_s(replicas) - station.sojourn_s(replicas + 1))
