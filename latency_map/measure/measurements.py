"""What an agent remembers of its probes: the last few of each peer, none older than a window."""

import threading
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from latency_map.measure.probe import Reply
from latency_map.measure.summary import PairSummary, summarise
from latency_map.measure.sweep import SentProbe


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One pair as it stands.

    Attributes
    ----------
    summary
        What the probes within the window say together; at least one was sent.
    replied_at_s
        When the last probe that was answered was sent, on the clock of the probes; None where none was.
    """

    summary: PairSummary
    replied_at_s: float | None


class Measurements:
    """Keeps probes by peer; many threads may read while one writes.

    Parameters
    ----------
    kept
        How many probes of each peer at most.
    """

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
        """Return every pair with a probe within the window that ends now.

        Parameters
        ----------
        now_s
            On the clock of the probes.

        Returns
        -------
        dict of str to Measured
            By peer, in the order of names.
        """
        with self._lock:
            recent = {
                peer: [one for one in some if now_s - one.sent_at_s <= self._window_s]
                for peer, some in sorted(self._soundings.items())
            }
        return {
            peer: Measured(
                summary=summarise([one.sample for one in some]),
                replied_at_s=max(
                    (one.sent_at_s for one in some if isinstance(one.sample, Reply)), default=None
                ),
            )
            for peer, some in recent.items()
            if some
        }
