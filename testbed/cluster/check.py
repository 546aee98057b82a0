"""Check of the delays of a cluster against its latency map: every pair of nodes is measured by ICMP echo."""

import ctypes
import os
import statistics
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from gesscale.errors import ClusterError
from latency_map.measure.probes import Reply, ping_rtt_ms
from testbed.cluster.namespaces import NAMED, namespace
from testbed.cluster.topology import Topology

TOLERANCE_MS = 2.0
TOLERANCE_RATIO = 0.05
_AT_ONCE = 3
_PAUSE_S = 0.02
_CLONE_NEWNET = 0x40000000


@dataclass(frozen=True, slots=True, kw_only=True)
class PairCheck:
    """The delay of one pair of nodes, expected and measured; round trips in ms, None if no echo came back.

    Attributes
    ----------
    expected_ms: delay in the latency map
    measured_ms: median of the echoes that came back
    error_ms: measured less expected
    tolerance_ms: the largest accepted error: 2 ms, or 5 % if that is more
    min_ms: smallest of the echoes; a busy machine only adds to a delay
    spread_ms: largest less smallest
    lost: number of echoes that did not come back
    ok: True if the error is within the tolerance
    min_ok: True if the smallest echo is; then the network is right, and the machine was busy
    """

    first: str
    second: str
    expected_ms: float
    measured_ms: float | None
    error_ms: float | None
    tolerance_ms: float
    min_ms: float | None
    spread_ms: float | None
    lost: int
    ok: bool
    min_ok: bool


def check_pairs(topology: Topology, *, count: int) -> tuple[PairCheck, ...]:
    """Measure every pair of nodes from inside their namespaces, a few nodes at a time.

    Raises
    ------
    ClusterError
        If a namespace is gone or cannot be entered.
    """

    def measure(position: int) -> list[PairCheck]:
        node, *others = topology.nodes[position:]
        expected_ms = {other.address: topology.rtt_ms(node.name, other.name) for other in others}
        answers_ms = measure_echoes(
            NAMED / namespace(topology.name, node.name),
            tuple(expected_ms),
            count=count,
            timeout_s=2.0 + 2 * max(expected_ms.values()) / 1000,
        )
        return [
            evaluate_pair(expected_ms[other.address], answers_ms[other.address], first=node.name, second=other.name)
            for other in others
        ]

    with ThreadPoolExecutor(max_workers=_AT_ONCE) as pool:
        return tuple(pair for pairs in pool.map(measure, range(len(topology.nodes) - 1)) for pair in pairs)


def measure_echoes(
    entered: Path, addresses: Sequence[str], *, count: int, timeout_s: float
) -> dict[str, list[float | None]]:
    """Return round trips in ms from a network namespace, None for lost echoes; the calling thread stays in it.

    Raises
    ------
    ClusterError
        If there is no such namespace, or it cannot be entered.
    """
    try:
        descriptor = os.open(entered, os.O_RDONLY | os.O_CLOEXEC)
        try:
            if ctypes.CDLL(None, use_errno=True).setns(descriptor, _CLONE_NEWNET):
                raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        finally:
            os.close(descriptor)
    except OSError as error:
        raise ClusterError("namespace-not-entered", namespace=str(entered), cause=error.strerror) from error
    rtts_ms: dict[str, list[float | None]] = {address: [] for address in addresses}
    for number in range(count):
        for place, address in enumerate(addresses):
            sequence = (os.getpid() + number * len(addresses) + place) % (1 << 16)
            answer = ping_rtt_ms(address, timeout_s=timeout_s, sequence=sequence)
            rtts_ms[address].append(answer.rtt_ms if isinstance(answer, Reply) else None)
        time.sleep(_PAUSE_S)
    return rtts_ms


def evaluate_pair(expected_ms: float, answers_ms: Sequence[float | None], *, first: str, second: str) -> PairCheck:
    """Compare the echoes of a pair with its delay.

    Parameters
    ----------
    answers_ms
        Round trips of the echoes; None for each lost one.
    """
    came = [answer for answer in answers_ms if answer is not None]
    tolerance_ms = max(TOLERANCE_MS, TOLERANCE_RATIO * expected_ms)
    median_ms, min_ms = (statistics.median(came), min(came)) if came else (None, None)
    error_ms = None if median_ms is None else median_ms - expected_ms
    return PairCheck(
        first=first,
        second=second,
        expected_ms=expected_ms,
        measured_ms=median_ms,
        error_ms=error_ms,
        tolerance_ms=tolerance_ms,
        min_ms=min_ms,
        spread_ms=max(came) - min(came) if came else None,
        lost=len(answers_ms) - len(came),
        ok=error_ms is not None and abs(error_ms) <= tolerance_ms,
        min_ok=min_ms is not None and abs(min_ms - expected_ms) <= tolerance_ms,
    )
