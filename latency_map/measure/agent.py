"""Agent that probes other nodes in rounds and serves the measurements as metrics.

``python -m latency_map.measure.agent --node NAME --peers ...`` runs it, as does ``gesscale latency-map agent``. It is
made for small nodes with other work: it imports nothing heavy, keeps few probes of each peer, and limits its rate.
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
from latency_map.measure.probes import Probe, choose_method, make_probe
from latency_map.measure.sweep import Measurements, Pacer, Sweeper, neighbours

_MAX_KEPT = 200
_STALLED_ROUNDS = 3
_POLL_S = 0.2
_DISCOVERY_TIMEOUTS = 3  # one for the name service, two for the requests to peers

#: Receives warnings.
Report: TypeAlias = Callable[[Problem], None]


class Rounds:
    """Probes peers in rounds and keeps the recent results."""

    def __init__(
        self,
        options: AgentOptions,
        *,
        find_peers: FindPeers,
        probe: Probe,
        stop: threading.Event,
        report: Report,
        clock: Callable[[], float] = time.monotonic,
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        self._options = options
        self._find_peers = find_peers
        self._stop = stop
        self._report = report
        self._clock, self._wall_clock = clock, wall_clock
        self._peers: Peers = {}
        self._reported = ""
        self._discovery_s = _DISCOVERY_TIMEOUTS * options.timeout_s
        self._alive_until_s = 0.0
        self._extend_deadline(nodes=1)
        pacer = Pacer(options.rate_per_s, clock=clock, sleep=stop.wait)
        self._sweeper = Sweeper(probe, pacer, timeout_s=options.timeout_s, first_sequence=os.getpid())
        self.completed = 0
        self.measurements = Measurements(kept=min(_MAX_KEPT, WINDOW_TURNS * options.count))

    def metrics(self) -> bytes:
        """Return the metrics of the agent for Prometheus."""
        now_s, clock_s = self._wall_clock(), self._clock()
        return exposition(
            agent_metrics(
                self._options.node,
                self.measurements.measured(clock_s),
                now_s=now_s,
                clock_s=clock_s,
                sent=self._sweeper.sent,
                rounds=self.completed,
            )
        )

    def run(self) -> None:
        """Probe in rounds until the event ``stop`` is set."""
        while not self._stop.is_set():
            started_s = self._clock()
            self.probe_round()
            self._stop.wait(max(0.0, self._options.round_s - (self._clock() - started_s)))

    def probe_round(self) -> None:
        """Find the peers and probe those whose turn it is."""
        self._refresh_peers()
        names = [name for name in self._peers if name != self._options.node]
        nodes = len(names) + 1
        self.measurements.keep(names, window_s=self._options.kept_s(nodes))
        chosen = neighbours(self._options.node, names, each=self._options.neighbours, turn=self.completed)
        addresses = {name: self._peers[name] for name in chosen}
        self.measurements.add(self._sweeper.sweep(addresses, count=self._options.count))
        self.completed += 1
        self._extend_deadline(nodes)

    @property
    def alive(self) -> bool:
        """True if rounds complete in time."""
        return self._clock() < self._alive_until_s

    def _refresh_peers(self) -> None:
        """Find the peers; after a failure keep those of the last round, and report it once."""
        try:
            self._peers, cause = self._find_peers(), ""
        except LatencyMapError as error:
            cause = str(error)
        if cause and cause != self._reported:
            self._report(Problem("agent-peers-stale", {"cause": cause, "kept": len(self._peers)}))
        self._reported = cause

    def _extend_deadline(self, nodes: int) -> None:
        max_s = self._options.max_round_s(nodes) + self._discovery_s
        self._alive_until_s = self._clock() + _STALLED_ROUNDS * max_s


def serve(options: AgentOptions, *, report: Report, announce: Callable[[str], None]) -> None:
    """Run an agent until SIGTERM or Ctrl-C.

    Parameters
    ----------
    announce
        Receives a line with the address of the metrics once the agent serves them.

    Raises
    ------
    LatencyMapError
        The DNS name of the agents is invalid, ICMP is requested and not permitted, or the port is in use.
    """
    instance = uuid4().hex
    stop = threading.Event()
    method = choose_method(options.method, report=report)
    rounds = Rounds(
        options,
        find_peers=_peer_source(options, instance, report),
        probe=make_probe(method, port=options.probe_port, timeout_s=options.timeout_s),
        stop=stop,
        report=report,
    )
    signals = list[int]()  # the handler only records the signal: it may run while a lock is held
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda got, _: signals.append(got))
    server = _open_pages(options, rounds, instance)
    announce(f"node {options.node}: metrics at http://{options.host}:{server.port}/metrics, by {method}")
    running = in_thread(rounds.run)
    while not signals and not running.done():
        time.sleep(_POLL_S)
    stop.set()
    server.close()
    if running.done():
        running.result()  # it only ended because of an error, which this raises


def _peer_source(options: AgentOptions, instance: str, report: Report) -> FindPeers:
    if options.peers:
        return lambda: options.peers
    return AgentsByName(
        options.peers_dns,
        default_port=options.port,
        own=(options.node, instance),
        timeout_s=options.timeout_s,
        report=report,
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
        address, cause = f"{options.host}:{options.port}", error.strerror or str(error)
        raise LatencyMapError("agent-listen-failed", address=address, cause=cause) from None


def main(arguments: Sequence[str] | None = None, *, program: str = "python -m latency_map.measure.agent") -> int:
    """Run an agent with the options of the command line and the environment."""

    def write(line: str) -> None:
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()

    def report(problem: Problem) -> None:
        write(f"warning[{problem.code}]: {problem}")

    options = read_options(sys.argv[1:] if arguments is None else arguments, os.environ, program=program)
    try:
        serve(options, report=report, announce=lambda text: write(f"{program}: {text}"))
    except LatencyMapError as error:
        write(f"error[{error.code}]: {error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
