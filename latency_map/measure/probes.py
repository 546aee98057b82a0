"""Round trips to one address, by ICMP echo or TCP, and what several of them say together. Imports nothing heavy.

A reply to an echo is matched by identifier and sequence number. ping3 derives the identifier from process and thread;
whoever probes numbers its echoes on from its process id. So a late reply is not taken for the next one, and another
prober's reply not for ours.
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

from latency_map.errors import LatencyMapError
from latency_map.kinds import ProbeMethod

#: After so long the kernel asks for a connection again (RFC 6298), and an answer does not tell to which try.
FIRST_RETRY_S = 1.0

_ALLOWED_WAIT_S = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """An answer came after ``rtt_ms``."""

    rtt_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeout:
    """No answer came within ``timeout_s``: lost, filtered or late."""

    timeout_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreachable:
    """The address does not resolve, or the probe could not be sent or came back as undeliverable."""

    reason: str


RttSample: TypeAlias = Reply | Timeout | Unreachable

#: Measures one round trip: address and sequence number in, what came out. Called from many threads.
Probe: TypeAlias = Callable[[str, int], RttSample]


def ping_rtt_ms(address: str, *, timeout_s: float, sequence: int = 0) -> RttSample:
    """Measure one round trip.

    Raises
    ------
    PermissionError
        This process may not send ICMP echoes at all.
    """
    import ping3

    numeric = resolve(address)
    if isinstance(numeric, Unreachable):
        return numeric
    try:
        answer = ping3.ping(numeric, timeout=timeout_s, unit="ms", seq=sequence)
    except PermissionError as error:
        raise PermissionError(
            f"expected to be allowed to send ICMP echoes to {address}, got: {error}; run as root, grant"
            " CAP_NET_RAW, or widen the sysctl net.ipv4.ping_group_range"
        ) from None
    except (OSError, struct.error) as error:
        return Unreachable(reason=str(error))
    return interpret(answer, timeout_s=timeout_s)


def resolve(address: str) -> str | Unreachable:
    """Return the first IP address, version 4 or 6, that the system gives for a name, or why there is none."""
    try:
        return str(socket.getaddrinfo(address, None, type=socket.SOCK_DGRAM)[0][4][0])
    except (OSError, ValueError) as error:
        return Unreachable(reason=f"{address!r} does not resolve: {error}")


def interpret(answer: float | bool | None, *, timeout_s: float) -> RttSample:
    """Tell apart what ping3 answers for an address that resolves.

    Parameters
    ----------
    answer
        Milliseconds; None where nothing came in time; False where the network refused to deliver. A reply
        after 0 ms equals False and is a reply.
    """
    if answer is None:
        return Timeout(timeout_s=timeout_s)
    if answer is False:
        return Unreachable(reason="the network answered that the address cannot be reached")
    if not math.isfinite(answer) or answer < 0:
        return Unreachable(reason=f"expected a round trip of at least 0 ms, got {answer} ms: the clock was set back")
    return Reply(rtt_ms=float(answer))


def tcp_rtt_ms(address: str, *, port: int, timeout_s: float) -> RttSample:
    """Measure one round trip: SYN to SYN/ACK, or to RST, as a closed port answers too.

    Parameters
    ----------
    timeout_s
        How long to wait, positive; 1 s at most counts, since later answers may be those to a second try.
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
            return Unreachable(reason=str(error))
        took_s = time.perf_counter() - started_s
    return Reply(rtt_ms=took_s * 1000) if took_s < wait_s else Timeout(timeout_s=wait_s)


def allowed_method(method: ProbeMethod, *, say: Callable[[str], None]) -> ProbeMethod:
    """Find out what this process may do; tries with an echo to itself.

    Raises
    ------
    LatencyMapError
        ICMP is demanded and not possible.
    """
    if method is ProbeMethod.TCP:
        return method
    try:
        ping_rtt_ms("127.0.0.1", timeout_s=_ALLOWED_WAIT_S)
    except (PermissionError, ImportError) as error:
        hint = "; pip install ping3 (the extra controller has it)" if isinstance(error, ImportError) else ""
        if method is ProbeMethod.ICMP:
            raise LatencyMapError(f"{error}{hint}") from None
        say(f"round trips are measured by TCP instead of ICMP: {error}{hint}")
        return ProbeMethod.TCP
    return ProbeMethod.ICMP


def probe_by(method: ProbeMethod, *, port: int, timeout_s: float) -> Probe:
    """Return the function that measures one round trip."""

    def by_tcp(address: str, _sequence: int) -> RttSample:
        return tcp_rtt_ms(address, port=port, timeout_s=timeout_s)

    def by_icmp(address: str, sequence: int) -> RttSample:
        try:
            return ping_rtt_ms(address, timeout_s=timeout_s, sequence=sequence)
        except PermissionError as error:
            return Unreachable(reason=str(error))

    return by_tcp if method is ProbeMethod.TCP else by_icmp


@dataclass(frozen=True, slots=True, kw_only=True)
class PairSummary:
    """Probes of one pair; lost ones are counted and enter no figure of time."""

    #: Of the round trips; None where there was no reply. The 95th percentile is interpolated between replies
    #: (median_ms, p95_ms).
    median_ms: float | None
    p95_ms: float | None
    #: Mean absolute difference of one reply to the next that came; None with fewer than two.
    jitter_ms: float | None
    #: How often each answer came (replies, timeouts, unreachable).
    replies: int
    timeouts: int
    unreachable: int
    #: Why the last probe that could not be sent or delivered failed; empty where there was none.
    reason: str

    @property
    def probes(self) -> int:
        """How many there were."""
        return self.replies + self.timeouts + self.unreachable

    @property
    def loss_ratio(self) -> float | None:
        """Share of the probes without a reply, for whatever reason; None where there was no probe."""
        return (self.probes - self.replies) / self.probes if self.probes else None


def summarise(samples: Sequence[RttSample]) -> PairSummary:
    """Sum up the probes of one pair."""
    rtts_ms = [sample.rtt_ms for sample in samples if isinstance(sample, Reply)]
    reasons = [sample.reason for sample in samples if isinstance(sample, Unreachable)]
    steps_ms = [abs(later - earlier) for earlier, later in pairwise(rtts_ms)]
    return PairSummary(
        median_ms=_quantile(rtts_ms, 0.5) if rtts_ms else None,
        p95_ms=_quantile(rtts_ms, 0.95) if rtts_ms else None,
        jitter_ms=fmean(steps_ms) if steps_ms else None,
        replies=len(rtts_ms),
        timeouts=sum(isinstance(sample, Timeout) for sample in samples),
        unreachable=len(reasons),
        reason=reasons[-1] if reasons else "",
    )


def _quantile(values: Sequence[float], share: float) -> float:
    """Interpolate between the two values around a share of them; NumPy would double an agent's memory."""
    ordered, place = sorted(values), share * (len(values) - 1)
    below = int(place)
    above = min(below + 1, len(values) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)
