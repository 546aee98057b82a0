"""Probing several nodes at once, within one budget and in turns, and what is remembered of it."""

import hashlib
import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, wait
from dataclasses import dataclass
from functools import partial
from itertools import count as count_up

from gesscale.common.threads import in_thread
from latency_map.measure.probes import PairSummary, Probe, Reply, RttSample, Timeout, Unreachable, resolve, summarise

_GRACE_S = 0.5
_SEQUENCE_NUMBERS = 1 << 16


class Pacer:
    """Lets probes start at most so often.

    Parameters
    ----------
    rate_per_s
        Probes a second, above 0.
    sleep
        Waits so many seconds; returns True where waiting has become pointless, as `threading.Event.wait`
        does once the event is set.
    """

    def __init__(self, rate_per_s: float, *, clock: Callable[[], float], sleep: Callable[[float], bool]) -> None:
        self._interval_s, self._clock, self._sleep = 1 / rate_per_s, clock, sleep
        self._due_s = 0.0

    def wait(self) -> float | None:
        """Wait for the next start; return the time then, None where it is time to end instead."""
        now_s = self._clock()
        starts_s = max(now_s, self._due_s)
        self._due_s = starts_s + self._interval_s
        return None if self._sleep(starts_s - now_s) else self._clock()


@dataclass(frozen=True, slots=True, kw_only=True)
class SentProbe:
    """One probe and what came of it."""

    #: When, on the clock of the pacer.
    sent_at_s: float
    #: What came.
    sample: RttSample


class Sweeper:
    """Probes nodes, as often as it is asked to.

    Parameters
    ----------
    timeout_s
        How long a probe waits for a reply; one that takes half a second more is given up.
    """

    def __init__(self, probe: Probe, pacer: Pacer, *, timeout_s: float, first_sequence: int = 0) -> None:
        self._probe = probe
        self._pacer = pacer
        self._timeout_s = timeout_s
        self._sequences = count_up(first_sequence)
        self.sent = 0

    def sweep(self, addresses: Mapping[str, str], *, count: int) -> dict[str, tuple[SentProbe, ...]]:
        """Probe every node ``count`` times, in turns: each of them once, each of them again.

        Every probe has a thread of its own, so about rate times timeout of them wait at a time. Names are
        resolved once, at the beginning; a node whose name does not resolve is not probed.
        """
        numeric = resolve_all(addresses, timeout_s=self._timeout_s)
        begun: list[tuple[str, float, Future[RttSample]]] = []
        patience_s = self._timeout_s + _GRACE_S
        for node in list(addresses) * count:
            started_s = self._pacer.wait()
            if started_s is None:
                patience_s = 0.0
                break
            begun.append((node, started_s, self._begin(numeric[node])))
        wait([future for _, _, future in begun], timeout=patience_s)
        soundings: dict[str, tuple[SentProbe, ...]] = dict.fromkeys(addresses, ())
        for node, started_s, future in begun:
            sample = future.result() if future.done() else Timeout(timeout_s=self._timeout_s)
            soundings[node] += (SentProbe(sent_at_s=started_s, sample=sample),)
        return soundings

    def _begin(self, address: str | Unreachable) -> Future[RttSample]:
        if isinstance(address, Unreachable):
            known: Future[RttSample] = Future()
            known.set_result(address)
            return known
        self.sent += 1
        return in_thread(partial(self._probe, address, next(self._sequences) % _SEQUENCE_NUMBERS))


def resolve_all(addresses: Mapping[str, str], *, timeout_s: float) -> dict[str, str | Unreachable]:
    """Resolve names side by side."""
    asked = {node: in_thread(partial(resolve, address)) for node, address in addresses.items()}
    wait(asked.values(), timeout=timeout_s)
    late = Unreachable(reason=f"the name service gave no answer within {timeout_s:g} s")
    return {node: future.result() if future.done() else late for node, future in asked.items()}


def neighbours(node: str, names: Iterable[str], *, each: int, turn: int) -> tuple[str, ...]:
    """Choose the nodes that a node probes in a round.

    All nodes are set on a ring, in an order that their names alone decide. With n nodes and k each,
    the round of number t probes the k nodes that are ``t k + 1`` to ``t k + k`` places ahead, counted without
    the node itself. So

    - every round has n k probed pairs, each node probes k others and is probed by k others;
    - over any ``ceil((n - 1) / k)`` rounds on end every node probes every other one;
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
    """Return after how many rounds every node has probed every other one: ``ceil((n - 1) / k)``, at least 1."""
    return max(1, -(-(nodes - 1) // each))


def _place(name: str) -> bytes:
    return hashlib.sha256(name.encode()).digest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One pair as it stands."""

    #: What the probes within the window say together; at least one was sent.
    summary: PairSummary
    #: When the last probe that was answered was sent, on the clock of the probes; None where none was.
    replied_at_s: float | None


class Measurements:
    """Keeps probes by peer; many threads may read while one writes."""

    def __init__(self, *, kept: int) -> None:
        self._kept = kept
        self._window_s = 0.0
        self._lock = threading.Lock()
        self._soundings: dict[str, deque[SentProbe]] = {}

    def keep(self, peers: Iterable[str], *, window_s: float) -> None:
        """Forget all peers but these, and from now on what is older than the window."""
        wanted = set(peers)
        with self._lock:
            self._window_s = window_s
            self._soundings = {peer: old for peer, old in self._soundings.items() if peer in wanted}

    def add(self, soundings: Mapping[str, Iterable[SentProbe]]) -> None:
        """Remember what came, in the order of sending."""
        with self._lock:
            for peer, some in soundings.items():
                self._soundings.setdefault(peer, deque(maxlen=self._kept)).extend(some)

    def measured(self, now_s: float) -> dict[str, Measured]:
        """Return every pair with a probe within the window that ends now."""
        with self._lock:
            recent = {
                peer: [one for one in some if now_s - one.sent_at_s <= self._window_s]
                for peer, some in sorted(self._soundings.items())
            }
        return {
            peer: Measured(
                summary=summarise([one.sample for one in some]),
                replied_at_s=max((one.sent_at_s for one in some if isinstance(one.sample, Reply)), default=None),
            )
            for peer, some in recent.items()
            if some
        }
