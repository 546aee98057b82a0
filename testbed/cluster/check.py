"""Whether the cluster has the delays that its map calls for: every pair of nodes is measured by ICMP echo."""

import json
import os
import statistics
import sys
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from testbed.cluster.commands import run
from testbed.cluster.namespaces import inside
from testbed.cluster.processes import Mark, Role
from testbed.cluster.state import state_directory
from testbed.cluster.topology import EdgeNode, Topology

TOLERANCE_MS = 2.0
TOLERANCE_RATIO = 0.05
_AT_ONCE = 3
_STARTUP_S = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PairCheck:
    """The delay of one pair of nodes, asked and measured; round trips in ms.

    Attributes
    ----------
    asked_ms
        What the latency map says.
    measured_ms
        Median of the echoes that came back; None where none did.
    least_ms
        Smallest of them: a busy machine only adds to a delay.
    spread_ms
        Largest less smallest; None where none came back.
    lost
        Echoes that did not come back.
    """

    first: str
    second: str
    asked_ms: float
    measured_ms: float | None
    least_ms: float | None
    spread_ms: float | None
    lost: int

    @property
    def error_ms(self) -> float | None:
        """Measured less asked."""
        return None if self.measured_ms is None else self.measured_ms - self.asked_ms

    @property
    def tolerance_ms(self) -> float:
        """The largest error that is accepted: 2 ms, or 5 % where that is more."""
        return max(TOLERANCE_MS, TOLERANCE_RATIO * self.asked_ms)

    @property
    def ok(self) -> bool:
        """Whether the error is within tolerance."""
        return self.error_ms is not None and abs(self.error_ms) <= self.tolerance_ms

    @property
    def least_ok(self) -> bool:
        """Whether the least echo is within tolerance: the network is as asked, however busy the machine."""
        return self.least_ms is not None and abs(self.least_ms - self.asked_ms) <= self.tolerance_ms


def check_pairs(topology: Topology, *, count: int) -> tuple[PairCheck, ...]:
    """Measure every pair of nodes from inside their namespaces, a few nodes at a time.

    Parameters
    ----------
    count
        Echoes per pair.

    Returns
    -------
    tuple of PairCheck
        Each pair once, in the order of the latency map.

    Raises
    ------
    ClusterError
        Where the measurement cannot be made at all.
    """
    nodes = topology.nodes

    def measure(position: int) -> list[PairCheck]:
        return _measure(topology, nodes[position], nodes[position + 1 :], count)

    with ThreadPoolExecutor(max_workers=_AT_ONCE) as pool:
        return tuple(pair for pairs in pool.map(measure, range(len(nodes) - 1)) for pair in pairs)


def judge(asked_ms: float, answers_ms: Sequence[float | None], *, first: str, second: str) -> PairCheck:
    """Compare the echoes of a pair with its delay.

    Parameters
    ----------
    asked_ms
        Round trip of the latency map.
    answers_ms
        Round trips of the echoes; None for each lost one.
    """
    came = [answer for answer in answers_ms if answer is not None]
    return PairCheck(
        first=first,
        second=second,
        asked_ms=asked_ms,
        measured_ms=statistics.median(came) if came else None,
        least_ms=min(came, default=None),
        spread_ms=max(came) - min(came) if came else None,
        lost=len(answers_ms) - len(came),
    )


def _measure(topology: Topology, node: EdgeNode, others: Sequence[EdgeNode], count: int) -> list[PairCheck]:
    answers: dict[str, list[float | None]] = defaultdict(list)
    for line in _probe(topology, node, others, count).splitlines():
        echo = json.loads(line)
        answers[echo["address"]].append(echo["rtt_ms"])
    return [
        judge(
            topology.rtt_ms(node.name, other.name),
            answers[other.address] or [None] * count,
            first=node.name,
            second=other.name,
        )
        for other in others
    ]


def _probe(topology: Topology, node: EdgeNode, others: Sequence[EdgeNode], count: int) -> str:
    asked_s = sum(topology.rtt_ms(node.name, other.name) for other in others) / 1000
    reply_s = 2.0 + 2 * max(topology.rtt_ms(node.name, other.name) for other in others) / 1000
    mark = Mark(cluster=str(state_directory(topology.name)), role=Role.PROBE, node=node.name)
    addresses = [other.address for other in others]
    command = (sys.executable, "-m", "testbed.cluster.echoes", str(count), f"{reply_s:.1f}", *addresses)
    return run(
        inside(topology.name, node.name, command),
        failure=f"cannot measure from node {node.name!r} (look at: testbed status {topology.name})",
        environment={**os.environ, **mark.environment()},
        timeout_s=_STARTUP_S + count * (asked_s + len(others) * reply_s),
    )
