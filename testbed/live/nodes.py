"""Nodes for a run: progress output, verified delays, and a clock that stops at the end of the day."""

import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import typer
from rich.console import Console
from rich.text import Text

from gesscale.cli.process_exit import end_as_ctrl_c_does
from gesscale.clock import SystemClock
from gesscale.common.errors import Problem
from gesscale.errors import ClusterError
from testbed.cluster import lifecycle, privilege
from testbed.cluster.check import PairCheck, check_pairs
from testbed.cluster.delay_backend import DelayBackend
from testbed.cluster.topology import Topology

_INTERRUPTED = 130
ECHOES = (5, 10, 20, 40)


@dataclass(slots=True)
class ProgressLog:
    """Prints the progress of a run, each line with the time since its start."""

    #: Target of the lines.
    console: Console
    #: Whether each step of the loop is printed in full.
    verbose: bool = False
    began_s: float = field(default_factory=time.monotonic)

    def log(self, text: str) -> None:
        """Print a line with the seconds since the start."""
        line = Text.assemble((f"{time.monotonic() - self.began_s:5.0f} s", "dim"), f"  {text}")
        self.console.print(line, soft_wrap=True)

    def warn(self, problem: Problem) -> None:
        """Print a problem that does not end the run, with its code."""
        self.log(f"warning[{problem.code}]: {problem}")


@dataclass(slots=True)
class DayClock(SystemClock):
    """Real time that stops when every row is processed."""

    #: Returns whether every row is processed.
    is_over: Callable[[], bool]
    #: Raises if the day cannot continue, for example without a driver; called before every wait.
    check: Callable[[], None]
    #: Latest end, seconds since the epoch.
    deadline_s: float

    def __post_init__(self) -> None:
        SystemClock.__init__(self)

    def wait_until(self, at_s: float) -> bool:
        """Wait for an instant; return False if the day is over."""
        if self.is_over() or self.now_s() > self.deadline_s:
            return False
        self.check()
        return SystemClock.wait_until(self, at_s)


@contextmanager
def resumable(progress: ProgressLog) -> Iterator[None]:
    """Acquire the privileges to create nodes; on Ctrl-C exit with code 130 after a hint that the command resumes."""
    privilege.enter()
    end_as_ctrl_c_does()
    try:
        yield
    except KeyboardInterrupt:
        progress.log("interrupted; results so far are kept, run the same command again to resume")
        raise typer.Exit(_INTERRUPTED) from None


@contextmanager
def edge_nodes(
    topology: Topology, progress: ProgressLog, delays_by: DelayBackend = DelayBackend.AUTO
) -> Iterator[None]:
    """Keep the nodes of a topology up within the context."""
    progress.log(f"starting {len(topology.nodes)} edge nodes as network namespaces")
    lifecycle.up(topology, delays_by=delays_by)
    try:
        yield
    finally:
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second Ctrl-C must not interrupt the clean-up
        removed = lifecycle.down(topology.name)
        signal.signal(signal.SIGINT, before)
        progress.log(f"removed the nodes; processes ended: {removed.processes}")


def verify_delays(
    topology: Topology, progress: ProgressLog, measure: Callable[..., tuple[PairCheck, ...]] = check_pairs
) -> tuple[PairCheck, ...]:
    """Ping every pair of nodes until all delays match the latency map, each time with more echoes.

    Raises
    ------
    ClusterError
        If they still differ at last; its code separates a busy machine, which only adds to delays, from wrong delays.
    """
    progress.log("pinging every pair of nodes to verify the delays")
    for echoes in ECHOES:
        pairs = measure(topology, count=echoes)
        wrong = [pair for pair in pairs if not pair.ok]
        if not wrong:
            error_ms = max(abs(pair.error_ms or 0.0) for pair in pairs)
            progress.log(f"{len(pairs)} pairs match the latency map (largest error {error_ms:.2f} ms)")
            return pairs
        if echoes != ECHOES[-1]:
            progress.log(f"{len(wrong)} of {len(pairs)} pairs differ from the latency map; measuring again")
    raise _delay_error(wrong)


def _delay_error(wrong: Sequence[PairCheck]) -> ClusterError:
    """Return the error for the pair that a busy machine does not explain, if there is one."""
    pair = min(wrong, key=lambda pair: pair.min_ok)
    fields = {
        "pairs": len(wrong),
        "first": pair.first,
        "second": pair.second,
        "expected_ms": pair.expected_ms,
        "measured_ms": pair.measured_ms,
        "min_ms": pair.min_ms,
    }
    if pair.measured_ms is None:
        return ClusterError("pair-unreachable", **fields)
    return ClusterError("pair-delay-noisy" if pair.min_ok else "pair-delay-wrong", **fields)
