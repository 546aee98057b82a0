"""Nodes that come and go, delays that are checked, and a clock that ends with the day."""

import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import typer
from rich.console import Console
from rich.text import Text

from gesscale.cli.ending import end_as_ctrl_c_does
from gesscale.clock import SystemClock
from gesscale.errors import ClusterError
from testbed.cluster import lifecycle, privilege
from testbed.cluster.check import PairCheck, check_pairs
from testbed.cluster.delay_backend import DelayBackend
from testbed.cluster.topology import Topology

_INTERRUPTED = 130
ECHOES = (5, 10, 20, 40)


@dataclass(slots=True)
class ProgressLog:
    """Says what is going on, and how long it took."""

    #: Where to.
    console: Console
    began_s: float = field(default_factory=time.monotonic)

    def log(self, text: str) -> None:
        """Print a line with the seconds since the beginning."""
        line = Text.assemble((f"{time.monotonic() - self.began_s:5.0f} s", "dim"), f"  {text}")
        self.console.print(line, soft_wrap=True)


@dataclass(slots=True)
class DayClock(SystemClock):
    """Real time that ends when every row is processed."""

    #: Whether they are.
    is_over: Callable[[], bool]
    #: Raises where the day cannot go on, such as without a driver; asked before every wait.
    check: Callable[[], None]
    #: When it ends at the latest, seconds since the epoch.
    deadline_s: float

    def __post_init__(self) -> None:
        SystemClock.__init__(self)

    def wait_until(self, at_s: float) -> bool:
        """Wait for an instant; False when the day is over."""
        if self.is_over() or self.now_s() > self.deadline_s:
            return False
        self.check()
        return SystemClock.wait_until(self, at_s)


@contextmanager
def resumable(progress: ProgressLog) -> Iterator[None]:
    """Have the rights that nodes need; Ctrl-C says that the same command goes on, and ends it with exit code 130."""
    privilege.enter()
    end_as_ctrl_c_does()
    try:
        yield
    except KeyboardInterrupt:
        progress.log("interrupted: what is done is kept, the same command goes on")
        raise typer.Exit(_INTERRUPTED) from None


@contextmanager
def edge_nodes(
    topology: Topology, progress: ProgressLog, delays_by: DelayBackend = DelayBackend.AUTO
) -> Iterator[None]:
    """Have the nodes of a topology for as long as the context lasts."""
    progress.log(f"bringing up {len(topology.nodes)} edge nodes, each a network namespace")
    lifecycle.up(topology, delays_by=delays_by)
    try:
        yield
    finally:
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second Ctrl-C must not cut the cleaning short
        swept = lifecycle.down(topology.name)
        signal.signal(signal.SIGINT, before)
        progress.log(f"took the nodes down ({swept.processes} processes ended)")


def verify_delays(
    topology: Topology, progress: ProgressLog, measure: Callable[..., tuple[PairCheck, ...]] = check_pairs
) -> tuple[PairCheck, ...]:
    """Ping every pair of nodes until all delays are as the latency map says, each time with more echoes.

    Raises
    ------
    ClusterError
        If they stay off the map; the message separates a busy machine, which only adds to delays, from wrong delays.
    """
    progress.log("pinging every pair of nodes against the latency map")
    for echoes in ECHOES:
        pairs = measure(topology, count=echoes)
        wrong = [pair for pair in pairs if not pair.ok]
        if not wrong:
            error_ms = max(abs(pair.error_ms or 0.0) for pair in pairs)
            progress.log(f"{len(pairs)} pairs are as the map says, the worst {error_ms:.2f} ms off")
            return pairs
        if echoes != ECHOES[-1]:
            progress.log(f"{len(wrong)} of {len(pairs)} pairs are not as the map says; measuring again")
    raise ClusterError(_why(wrong))


def _why(wrong: Sequence[PairCheck]) -> str:
    """Say what is wrong, by the pair that no busy machine explains where there is one."""
    pair = min(wrong, key=lambda pair: pair.min_ok)
    if pair.measured_ms is None or pair.min_ms is None:
        measured = "no echo came back"
    else:
        measured = f"measured {pair.measured_ms:.2f} ms, {pair.min_ms:.2f} ms at the least"
    advice = (
        "the least echo of each is as asked, so this machine, or its host, is busy: begin again when it is not"
        if pair.min_ok
        else "is this machine busy with something else?"
    )
    return (
        f"{len(wrong)} pairs of nodes stay off the latency map, such as {pair.first} to {pair.second}: "
        f"asked {pair.expected_ms:g} ms, {measured}; {advice}"
    )
