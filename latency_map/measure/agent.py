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
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from functools import partial
from uuid import uuid4

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from gesscale.common.http_server import Page, PageServer, Unavailable
from gesscale.common.threads import in_thread
from latency_map.errors import LatencyMapError
from latency_map.measure.method import allowed_method, probe_by
from latency_map.measure.options import AgentOptions, read_options
from latency_map.measure.peers import AgentsByName, FindPeers, read_peers
from latency_map.measure.rounds import Rounds, Say

_GLANCE_S = 0.5
_SIGNALS = frozenset({signal.SIGTERM, signal.SIGINT})


def serve(options: AgentOptions, *, say: Say) -> None:
    """Run an agent until SIGTERM, Ctrl-C or the end of its time.

    Parameters
    ----------
    options
        How.
    say
        Takes what people should know.

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
    with _signals_held() as received:
        server = _open_pages(options, rounds, instance)
        say(f"node {options.node}: figures at http://{options.host}:{server.port}/metrics, by {method}")
        _until_ended(in_thread(rounds.run), options.run_s, received)
        stop.set()
        server.close()


def _peer_source(options: AgentOptions, instance: str, say: Say) -> FindPeers:
    if options.peers:
        return lambda: options.peers
    if options.peers_file:
        return partial(read_peers, options.peers_file)
    return AgentsByName(
        options.peers_dns,
        default_port=options.port,
        own=(options.node, instance),
        timeout_s=options.timeout_s,
        say=say,
    )


def _open_pages(options: AgentOptions, rounds: Rounds, instance: str) -> PageServer:
    registry = CollectorRegistry()
    registry.register(rounds.gauges)
    own = json.dumps({"node": options.node, "instance": instance}).encode()

    def healthz(_parameters: Mapping[str, list[str]]) -> tuple[str, bytes]:
        if not rounds.alive:
            message = "no round ends"
            raise Unavailable(message)
        return "text/plain", b"ok\n"

    pages: Mapping[str, Page] = {
        "/metrics": lambda _parameters: (CONTENT_TYPE_LATEST, generate_latest(registry)),
        "/healthz": healthz,
        "/node": lambda _parameters: ("application/json", own),
    }
    try:
        return PageServer(options.host, options.port, pages)
    except OSError as error:
        message = (
            f"expected to listen on {options.host}:{options.port}, got: {error.strerror or error}; end what"
            " listens there or choose another place with --listen"
        )
        raise LatencyMapError(message) from None


@contextmanager
def _signals_held() -> Iterator[list[int]]:
    """Let signals wait for the one thread that asks for them: a handler could come while a lock is held.

    Threads that libraries started earlier do not hold them back. One that lands there is only noted.
    """
    received: list[int] = []
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    handlers = {number: signal.signal(number, lambda got, _: received.append(got)) for number in _SIGNALS}
    try:
        yield received
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _until_ended(running: "Future[None]", run_s: float | None, received: Sequence[int]) -> None:
    ends_s = None if run_s is None else time.monotonic() + run_s
    while not running.done():
        left_s = _GLANCE_S if ends_s is None else min(_GLANCE_S, ends_s - time.monotonic())
        if received or left_s <= 0 or signal.sigtimedwait(_SIGNALS, left_s):
            return
    running.result()  # it ends by itself only where it failed


def main(
    arguments: Sequence[str] | None = None, *, program: str = "python -m latency_map.measure.agent"
) -> int:
    """Run an agent as the command line and the environment say.

    Parameters
    ----------
    arguments
        The command line; that of the process by default.
    program
        Its name in messages.

    Returns
    -------
    int
        0 where it was ended; 1 where it could not run, with a line on stderr that says why.
    """

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
