"""Concurrent probes of several nodes within a common rate, the choice of neighbours, and recent results."""

import hashlib
import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, wait
from dataclasses import dataclass
from functools import partial
from itertools import count as count_up

from gesscale.common.errors import Problem
from gesscale.common.threads import in_thread
from latency_map.measure.probes import PairSummary, Probe, Reply, RttSample, Timeout, Unreachable, resolve, summarise

_GRACE_S = 0.5
_SEQUENCE_NUMBERS = 1 << 16


class Pacer:
    """Rate limit of probes.

    Parameters
    ----------
    rate_per_s
        Probes per second, above 0.
    sleep
        Waits for a number of seconds; returns True to stop, as `threading.Event.wait` does after the event is set.
    """

    def __init__(self, rate_per_s: float, *, clock: Callable[[], float], sleep: Callable[[float], bool]) -> None:
        self._interval_s, self._clock, self._sleep = 1 / rate_per_s, clock, sleep
        self._due_s = 0.0

    def wait(self) -> float | None:
        """Wait for the next start and return its time; None to stop."""
        now_s = self._clock()
        starts_s = max(now_s, self._due_s)
        self._due_s = starts_s + self._interval_s
        return None if self._sleep(starts_s - now_s) else self._clock()


@dataclass(frozen=True, slots=True, kw_only=True)
class SentProbe:
    """One probe and its result."""

    #: Time on the clock of the pacer.
    sent_at_s: float
    #: The result.
    sample: RttSample


class Sweeper:
    """Probes sets of nodes.

    Parameters
    ----------
    timeout_s
        Time that a probe waits for a reply; half a second later it is abandoned.
    """

    def __init__(self, probe: Probe, pacer: Pacer, *, timeout_s: float, first_sequence: int = 0) -> None:
        self._probe = probe
        self._pacer = pacer
        self._timeout_s = timeout_s
        self._sequences = count_up(first_sequence)
        self.sent = 0

    def sweep(self, addresses: Mapping[str, str], *, count: int) -> dict[str, tuple[SentProbe, ...]]:
        """Probe every node ``count`` times, in turns.

        Every probe has its own thread, so about rate times timeout of them wait at the same time. Names are resolved
        once at the start; a node whose name does not resolve is not probed.
        """
        numeric = resolve_all(addresses, timeout_s=self._timeout_s)
        started: list[tuple[str, float, Future[RttSample]]] = []
        wait_s = self._timeout_s + _GRACE_S
        for node in list(addresses) * count:
            started_s = self._pacer.wait()
            if started_s is None:
                wait_s = 0.0
                break
            started.append((node, started_s, self._start(numeric[node])))
        wait([future for _, _, future in started], timeout=wait_s)
        probes: dict[str, tuple[SentProbe, ...]] = dict.fromkeys(addresses, ())
        for node, started_s, future in started:
            sample = future.result() if future.done() else Timeout(timeout_s=self._timeout_s)
            probes[node] += (SentProbe(sent_at_s=started_s, sample=sample),)
        return probes

    def _start(self, address: str | Unreachable) -> Future[RttSample]:
        if isinstance(address, Unreachable):
            known: Future[RttSample] = Future()
            known.set_result(address)
            return known
        self.sent += 1
        return in_thread(partial(self._probe, address, next(self._sequences) % _SEQUENCE_NUMBERS))


def resolve_all(addresses: Mapping[str, str], *, timeout_s: float) -> dict[str, str | Unreachable]:
    """Resolve names concurrently."""
    pending = {node: in_thread(partial(resolve, address)) for node, address in addresses.items()}
    wait(pending.values(), timeout=timeout_s)
    late = Unreachable(problem=Problem("probe-name-timeout", {"timeout_s": timeout_s}))
    return {node: future.result() if future.done() else late for node, future in pending.items()}


def neighbours(node: str, names: Iterable[str], *, each: int, turn: int) -> tuple[str, ...]:
    """Choose the nodes that a node probes in a round.

    The names determine the order of all nodes on a ring. With n nodes and k neighbours, round t probes the k nodes
    that are ``t k + 1`` to ``t k + k`` places ahead, not counting the node itself. So

    - every round has n k probed pairs, each node probes k others and is probed by k others;
    - in any ``ceil((n - 1) / k)`` successive rounds every node probes every other one;
    - with k at least n - 1 every round probes all.
    """
    ring = sorted({*names, node}, key=lambda name: (_place(name), name))
    here, others = ring.index(node), len(ring) - 1
    if each >= others:
        steps = range(1, others + 1)
        return tuple(ring[(here + step) % len(ring)] for step in steps)
    ahead = (1 + (turn * each + place) % others for place in range(each))
    return tuple(ring[(here + step) % len(ring)] for step in ahead)


def rounds_to_cover(nodes: int, each: int) -> int:
    """Return the number of rounds in which every node probes every other one: ``ceil((n - 1) / k)``, at least 1."""
    return max(1, -(-(nodes - 1) // each))


def _place(name: str) -> bytes:
    return hashlib.sha256(name.encode()).digest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """Recent measurements of one pair."""

    #: Statistics of the probes within the window, at least one.
    summary: PairSummary
    #: Time at which the last probe with a reply was sent, on the clock of the probes; None without a reply.
    replied_at_s: float | None


class Measurements:
    """Recent probes by peer; many threads may read while one writes."""

    def __init__(self, *, kept: int) -> None:
        self._kept = kept
        self._window_s = 0.0
        self._lock = threading.Lock()
        self._probes: dict[str, deque[SentProbe]] = {}

    def keep(self, peers: Iterable[str], *, window_s: float) -> None:
        """Drop all other peers, and set the window."""
        remaining = set(peers)
        with self._lock:
            self._window_s = window_s
            self._probes = {peer: old for peer, old in self._probes.items() if peer in remaining}

    def add(self, probes: Mapping[str, Iterable[SentProbe]]) -> None:
        """Add probes in the order of sending."""
        with self._lock:
            for peer, sent in probes.items():
                self._probes.setdefault(peer, deque(maxlen=self._kept)).extend(sent)

    def measured(self, now_s: float) -> dict[str, Measured]:
        """Return the pairs with a probe within the window that ends now."""
        with self._lock:
            recent = {
                peer: [probe for probe in sent if now_s - probe.sent_at_s <= self._window_s]
                for peer, sent in sorted(self._probes.items())
            }
        return {
            peer: Measured(
                summary=summarise([probe.sample for probe in sent]),
                replied_at_s=max((probe.sent_at_s for probe in sent if isinstance(probe.sample, Reply)), default=None),
            )
            for peer, sent in recent.items()
            if sent
        }
