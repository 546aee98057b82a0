"""The agent: probes other nodes round after round and serves what it measured.

``python -m latency_map.measure.agent --node NAME --peers ...`` runs it; so does ``gesscale latency-map agent``. It
is to run on small nodes next to other work: it imports nothing heavy, keeps a few probes of each peer, and
stays within a budget of probes.
"""

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias
from uuid import uuid4

from gesscale.common.errors import Problem
from gesscale.common.http_server import Page, PageServer, UnavailableError
from gesscale.common.metrics_text import CONTENT_TYPE, exposition
from gesscale.common.threads import in_thread
from latency_map.errors import LatencyMapError
from latency_map.measure.gauges import agent_metrics
from latency_map.measure.options import WINDOW_TURNS, AgentOptions, read_options
from latency_map.measure.peers import AgentsByName, FindPeers, Peers
from latency_map.measure.probes import Probe, allowed_method, probe_by
from latency_map.measure.sweep import Measurements, Pacer, Sweeper, neighbours

_MOST_KEPT = 200
_STUCK_ROUNDS = 3
_GLANCE_S = 0.2
_LOOK_TIMEOUTS = 3  # one for the name service, two for the peers that it names

Say: TypeAlias = Callable[[str], None]


class Rounds:
    """Probes peers round after round and remembers what came."""

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
        self._clock, self._wall_clock = clock, wall_clock
        self._peers: Peers = {}
        self._complaint = ""
        self._look_s = _LOOK_TIMEOUTS * options.timeout_s
        self._alive_until_s = 0.0
        self._expect_a_round(nodes=1)
        pacer = Pacer(options.rate_per_s, clock=clock, sleep=stop.wait)
        self._sweeper = Sweeper(probe, pacer, timeout_s=options.timeout_s, first_sequence=os.getpid())
        self.ended = 0
        self.board = Measurements(kept=min(_MOST_KEPT, WINDOW_TURNS * options.count))

    def metrics(self) -> bytes:
        """Return the agent's page for Prometheus."""
        now_s, clock_s = self._wall_clock(), self._clock()
        return exposition(
            agent_metrics(
                self._options.node,
                self.board.measured(clock_s),
                now_s=now_s,
                clock_s=clock_s,
                sent=self._sweeper.sent,
                rounds=self.ended,
            )
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
        chosen = neighbours(self._options.node, names, each=self._options.neighbours, turn=self.ended)
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
            self._peers, complaint = self._find_peers(), ""
        except LatencyMapError as error:
            complaint = f"{error}; the {len(self._peers)} peers of the last round stay"
        if complaint and complaint != self._complaint:
            self._say(complaint)
        self._complaint = complaint

    def _expect_a_round(self, nodes: int) -> None:
        longest_s = self._options.longest_round_s(nodes) + self._look_s
        self._alive_until_s = self._clock() + _STUCK_ROUNDS * longest_s


def serve(options: AgentOptions, *, say: Say) -> None:
    """Run an agent until SIGTERM or Ctrl-C.

    Raises
    ------
    LatencyMapError
        Its peers cannot be found at all, ICMP is demanded and not allowed, or its port cannot be taken.
    """
    instance = uuid4().hex
    stop = threading.Event()
    method = allowed_method(options.method, say=say)
    rounds = Rounds(
        options,
        find_peers=_peer_source(options, instance, say),
        probe=probe_by(method, port=options.probe_port, timeout_s=options.timeout_s),
        stop=stop,
        say=say,
    )
    told = list[int]()  # a handler only notes: it may come while a lock is held, and in any thread
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda got, _: told.append(got))
    server = _open_pages(options, rounds, instance)
    say(f"node {options.node}: figures at http://{options.host}:{server.port}/metrics, by {method}")
    running = in_thread(rounds.run)
    while not told and not running.done():
        time.sleep(_GLANCE_S)
    stop.set()
    server.close()
    if running.done():
        running.result()  # it ends by itself only where it failed


def _peer_source(options: AgentOptions, instance: str, say: Say) -> FindPeers:
    if options.peers:
        return lambda: options.peers
    return AgentsByName(
        options.peers_dns, default_port=options.port, own=(options.node, instance), timeout_s=options.timeout_s, say=say
    )


def _open_pages(options: AgentOptions, rounds: Rounds, instance: str) -> PageServer:
    own = json.dumps({"node": options.node, "instance": instance}).encode()

    def healthz(_parameters: Mapping[str, list[str]]) -> tuple[str, bytes]:
        if not rounds.alive:
            raise UnavailableError(Problem("agent-stalled"))
        return "text/plain", b"ok\n"

    pages: Mapping[str, Page] = {
        "/metrics": lambda _parameters: (CONTENT_TYPE, rounds.metrics()),
        "/healthz": healthz,
        "/node": lambda _parameters: ("application/json", own),
    }
    try:
        return PageServer(options.host, options.port, pages)
    except OSError as error:
        raise LatencyMapError(
            f"expected to listen on {options.host}:{options.port}, got: {error.strerror or error}; end what"
            " listens there or choose another place with --listen"
        ) from None


def main(arguments: Sequence[str] | None = None, *, program: str = "python -m latency_map.measure.agent") -> int:
    """Run an agent as the command line and the environment say."""

    def say(text: str) -> None:
        sys.stderr.write(f"{program}: {text}\n")
        sys.stderr.flush()

    options = read_options(sys.argv[1:] if arguments is None else arguments, os.environ, program=program)
    try:
        serve(options, say=say)
    except LatencyMapError as error:
        say(str(error))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
