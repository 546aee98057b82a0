"""The work of an agent: round after round it finds its peers and probes those whose turn it is."""

import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import TypeAlias

from gesscale.common.threads import in_thread
from latency_map.errors import LatencyMapError
from latency_map.measure.gauges import AgentGauges
from latency_map.measure.measurements import Measurements
from latency_map.measure.method import Probe
from latency_map.measure.neighbours import neighbours
from latency_map.measure.options import WINDOW_TURNS, AgentOptions
from latency_map.measure.pacing import Pace, Pacer
from latency_map.measure.peers import FindPeers, Peers
from latency_map.measure.sweep import Sweeper

_MOST_KEPT = 200
_STUCK_ROUNDS = 3
_LOOK_TIMEOUTS = 3  # one for the name service, two for the peers that it names

Say: TypeAlias = Callable[[str], None]


class Rounds:
    """Probes peers round after round and remembers what came.

    Parameters
    ----------
    options
        How.
    find_peers
        Tells the peers before each round; where it cannot, those of the last round stay.
    probe
        Measures one round trip.
    stop
        Set when it is to end.
    say
        Takes what people should know.
    clock, wall_clock
        Seconds, of a clock that never goes back and since the epoch.
    """

    def __init__(
        self,
        options: AgentOptions,
        *,
        find_peers: FindPeers,
        probe: Probe,
        stop: threading.Event,
        say: Say,
        clock: Callable[[], float] = time.monotonic,
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        self._options = options
        self._find_peers = find_peers
        self._stop = stop
        self._say = say
        self._clock = clock
        self._peers: Peers = {}
        self._looking: Future[Peers] | None = None
        self._complaint = ""
        self._look_s = _LOOK_TIMEOUTS * options.timeout_s
        self._alive_until_s = 0.0
        self._expect_a_round(nodes=1)
        pacer = Pacer(Pace(rate_per_s=options.rate_per_s), clock=clock, sleep=stop.wait)
        self._sweeper = Sweeper(probe, pacer, timeout_s=options.timeout_s, first_sequence=os.getpid())
        self.ended = 0
        self.board = Measurements(kept=min(_MOST_KEPT, WINDOW_TURNS * options.count))
        self.gauges = AgentGauges(
            node=options.node,
            measured=lambda: self.board.measured(clock()),
            age_s=lambda instant_s: clock() - instant_s,
            now_s=wall_clock,
            sent=lambda: self._sweeper.sent,
            rounds=lambda: self.ended,
        )

    def run(self) -> None:
        """Probe round after round until it is to end."""
        while not self._stop.is_set():
            begun_s = self._clock()
            self.probe_round()
            self._stop.wait(max(0.0, self._options.round_s - (self._clock() - begun_s)))

    def probe_round(self) -> None:
        """Find the peers and probe those whose turn it is."""
        self._look_for_peers()
        names = [name for name in self._peers if name != self._options.node]
        nodes = len(names) + 1
        self.board.keep(names, window_s=self._options.kept_s(nodes))
        chosen = neighbours(
            self._options.node,
            names,
            each=self._options.neighbours,
            turn=self.ended,
            seed=self._options.seed,
        )
        addresses = {name: self._peers[name] for name in chosen}
        self.board.add(self._sweeper.sweep(addresses, count=self._options.count))
        self.ended += 1
        self._expect_a_round(nodes)

    @property
    def alive(self) -> bool:
        """Whether rounds end as they should."""
        return self._clock() < self._alive_until_s

    def _look_for_peers(self) -> None:
        try:
            self._peers, complaint = self._found(), ""
        except LatencyMapError as error:
            complaint = f"{error}; the {len(self._peers)} peers of the last round stay"
        if complaint and complaint != self._complaint:
            self._say(complaint)
        self._complaint = complaint

    def _found(self) -> Peers:
        """Return the peers; a name service that is away may take long, which must not hold up the round."""
        self._looking = self._looking or in_thread(self._find_peers)
        wait([self._looking], timeout=self._look_s)
        if not self._looking.done():
            message = f"peers: expected to hear of them within {self._look_s:g} s, got no answer"
            raise LatencyMapError(message)
        looked, self._looking = self._looking, None
        return looked.result()

    def _expect_a_round(self, nodes: int) -> None:
        longest_s = self._options.longest_round_s(nodes) + self._look_s
        self._alive_until_s = self._clock() + _STUCK_ROUNDS * longest_s
