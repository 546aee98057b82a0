"""Probes of one address by ICMP echo or TCP, and statistics of several probes. Imports nothing heavy.

A reply to an echo is matched by identifier and sequence number. ping3 derives the identifier from process and thread,
and callers number their echoes from the process id on. So neither a late reply nor the reply to another process is
mistaken for the current one.
"""

import math
import socket
import struct
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean
from typing import TypeAlias

from gesscale.common.errors import Problem
from latency_map.errors import LatencyMapError
from latency_map.kinds import ProbeMethod, member

#: Time after which the kernel sends another SYN (RFC 6298); a later reply may belong to either.
FIRST_RETRY_S = 1.0

_ALLOWED_WAIT_S = 0.2


class IcmpNotPermittedError(LatencyMapError):
    """The process may not send ICMP echoes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A reply after ``rtt_ms``."""

    rtt_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeout:
    """No reply within ``timeout_s``: lost, filtered or late."""

    timeout_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreachable:
    """The address does not resolve, or the probe could not be sent or delivered."""

    problem: Problem


RttSample: TypeAlias = Reply | Timeout | Unreachable

#: Measures one round trip, given address and sequence number. Called from many threads.
Probe: TypeAlias = Callable[[str, int], RttSample]


def ping_rtt_ms(address: str, *, timeout_s: float, sequence: int = 0) -> RttSample:
    """Measure one round trip by ICMP.

    Raises
    ------
    IcmpNotPermittedError
        This process may not send ICMP echoes.
    """
    import ping3

    numeric = resolve(address)
    if isinstance(numeric, Unreachable):
        return numeric
    try:
        result = ping3.ping(numeric, timeout=timeout_s, unit="ms", seq=sequence)
    except PermissionError as error:
        raise IcmpNotPermittedError("icmp-not-permitted", address=address, cause=str(error)) from None
    except (OSError, struct.error) as error:
        return _failed(error)
    return interpret(result, timeout_s=timeout_s)


def _failed(error: Exception) -> Unreachable:
    return Unreachable(problem=Problem("probe-failed", {"cause": str(error)}))


def resolve(address: str) -> str | Unreachable:
    """Return the first IP address of a name, version 4 or 6, or the reason why there is none."""
    try:
        return str(socket.getaddrinfo(address, None, type=socket.SOCK_DGRAM)[0][4][0])
    except (OSError, ValueError) as error:
        return Unreachable(problem=Problem("probe-name-unresolved", {"address": address, "cause": str(error)}))


def interpret(result: float | bool | None, *, timeout_s: float) -> RttSample:
    """Convert a result of ping3.

    Parameters
    ----------
    result
        Milliseconds; None if there was no reply in time; False if the network could not deliver the probe. A reply
        after 0 ms equals False and is a reply.
    """
    if result is None:
        return Timeout(timeout_s=timeout_s)
    if result is False:
        return Unreachable(problem=Problem("probe-undeliverable"))
    if not math.isfinite(result) or result < 0:
        return Unreachable(problem=Problem("probe-clock-changed", {"rtt_ms": result}))
    return Reply(rtt_ms=float(result))


def tcp_rtt_ms(address: str, *, port: int, timeout_s: float) -> RttSample:
    """Measure one round trip by TCP: from SYN to SYN/ACK, or to the RST of a closed port.

    Parameters
    ----------
    timeout_s
        Time to wait, positive; at most 1 s, since later replies may be those to a second SYN.
    """
    numeric = resolve(address)
    if isinstance(numeric, Unreachable):
        return numeric
    family, kind, protocol, _, place = socket.getaddrinfo(numeric, port, type=socket.SOCK_STREAM)[0]
    wait_s = min(timeout_s, FIRST_RETRY_S)
    with socket.socket(family, kind, protocol) as connection:
        connection.settimeout(wait_s)
        started_s = time.perf_counter()
        try:
            connection.connect(place)
        except ConnectionRefusedError:
            pass
        except TimeoutError:
            return Timeout(timeout_s=wait_s)
        except OSError as error:
            return _failed(error)
        took_s = time.perf_counter() - started_s
    return Reply(rtt_ms=took_s * 1000) if took_s < wait_s else Timeout(timeout_s=wait_s)


def choose_method(method: ProbeMethod, *, report: Callable[[Problem], None]) -> ProbeMethod:
    """Return the method that this process can use; test ICMP with an echo to this machine.

    Parameters
    ----------
    report
        Receives the reason if TCP replaces ICMP.

    Raises
    ------
    LatencyMapError
        ICMP is requested and not possible.
    """
    if (method := member(ProbeMethod, method)) is ProbeMethod.TCP:
        return method
    try:
        ping_rtt_ms("127.0.0.1", timeout_s=_ALLOWED_WAIT_S)
    except ImportError:
        unavailable = LatencyMapError("icmp-package-missing")
    except IcmpNotPermittedError as error:
        unavailable = error
    else:
        return ProbeMethod.ICMP
    if method is ProbeMethod.ICMP:
        raise unavailable
    report(Problem("icmp-unavailable", {"cause": str(unavailable)}))
    return ProbeMethod.TCP


def make_probe(method: ProbeMethod, *, port: int, timeout_s: float) -> Probe:
    """Return the function that measures one round trip."""

    def by_tcp(address: str, _sequence: int) -> RttSample:
        return tcp_rtt_ms(address, port=port, timeout_s=timeout_s)

    def by_icmp(address: str, sequence: int) -> RttSample:
        try:
            return ping_rtt_ms(address, timeout_s=timeout_s, sequence=sequence)
        except IcmpNotPermittedError as error:
            return Unreachable(problem=error.problem)

    return by_tcp if member(ProbeMethod, method) is ProbeMethod.TCP else by_icmp


@dataclass(frozen=True, slots=True, kw_only=True)
class PairSummary:
    """Statistics of the probes of one pair; the times are those of replies only."""

    #: Of the round trips; None without a reply. The 95th percentile is interpolated between replies (median_ms,
    #: p95_ms).
    median_ms: float | None
    p95_ms: float | None
    #: Mean absolute difference of successive replies; None with fewer than two.
    jitter_ms: float | None
    #: Number of each result (replies, timeouts, unreachable).
    replies: int
    timeouts: int
    unreachable: int
    #: Reason of the last probe that could not be sent or delivered; None if there was none.
    problem: Problem | None

    @property
    def probes(self) -> int:
        """Number of probes."""
        return self.replies + self.timeouts + self.unreachable

    @property
    def loss_ratio(self) -> float | None:
        """Share of the probes without a reply; None without a probe."""
        return (self.probes - self.replies) / self.probes if self.probes else None


def summarise(samples: Sequence[RttSample]) -> PairSummary:
    """Return the statistics of the probes of one pair."""
    rtts_ms = [sample.rtt_ms for sample in samples if isinstance(sample, Reply)]
    problems = [sample.problem for sample in samples if isinstance(sample, Unreachable)]
    steps_ms = [abs(later - earlier) for earlier, later in pairwise(rtts_ms)]
    return PairSummary(
        median_ms=_quantile(rtts_ms, 0.5) if rtts_ms else None,
        p95_ms=_quantile(rtts_ms, 0.95) if rtts_ms else None,
        jitter_ms=fmean(steps_ms) if steps_ms else None,
        replies=len(rtts_ms),
        timeouts=sum(isinstance(sample, Timeout) for sample in samples),
        unreachable=len(problems),
        problem=problems[-1] if problems else None,
    )


def _quantile(values: Sequence[float], share: float) -> float:
    """Interpolate a quantile; NumPy would double the memory of an agent."""
    ordered, place = sorted(values), share * (len(values) - 1)
    below = int(place)
    above = min(below + 1, len(values) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)
