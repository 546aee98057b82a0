"""Probing several nodes at once, within one budget, so that a dead one holds up no other."""

from collections.abc import Mapping
from concurrent.futures import Future, wait
from dataclasses import dataclass
from functools import partial
from itertools import count as count_up

from gesscale.common.threads import in_thread
from latency_map.measure.method import Probe
from latency_map.measure.pacing import Pacer
from latency_map.measure.probe import RttSample, Timeout, UnknownHost, resolve

_GRACE_S = 0.5
_SEQUENCE_NUMBERS = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class SentProbe:
    """One probe and what came of it.

    Attributes
    ----------
    sent_at_s
        When, on the clock of the pacer.
    sample
        What came.
    """

    sent_at_s: float
    sample: RttSample


class Sweeper:
    """Probes nodes, as often as it is asked to.

    Parameters
    ----------
    probe
        Measures one round trip.
    pacer
        Says when each probe may start, and when to end.
    timeout_s
        How long a probe waits for a reply; one that takes half a second more is given up.
    first_sequence
        Sequence number of the first probe; the others follow.
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

        Parameters
        ----------
        addresses
            Address of each node.
        count
            Probes for each.

        Returns
        -------
        dict of str to tuple of Sounding
            What came for each node, in the order of sending; fewer where the pacer ended it.
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

    def _begin(self, address: str | UnknownHost) -> Future[RttSample]:
        if isinstance(address, UnknownHost):
            known: Future[RttSample] = Future()
            known.set_result(address)
            return known
        self.sent += 1
        return in_thread(partial(self._probe, address, next(self._sequences) % _SEQUENCE_NUMBERS))


def resolve_all(addresses: Mapping[str, str], *, timeout_s: float) -> dict[str, str | UnknownHost]:
    """Resolve names side by side.

    Parameters
    ----------
    addresses
        A name or an IP address for each node.
    timeout_s
        How long to wait for all of them; a name service that is away answers late or never.

    Returns
    -------
    dict of str to str or UnknownHost
        The IP address of each node, or why there is none.
    """
    asked = {node: in_thread(partial(_resolved, address)) for node, address in addresses.items()}
    wait(asked.values(), timeout=timeout_s)
    late = UnknownHost(reason=f"the name service gave no answer within {timeout_s:g} s")
    return {node: future.result() if future.done() else late for node, future in asked.items()}


def _resolved(address: str) -> str | UnknownHost:
    try:
        return resolve(address)
    except (OSError, ValueError) as error:
        return UnknownHost(reason=f"{address!r} does not resolve: {error}")
