"""By which way round trips are measured: ICMP echo where it is allowed, else TCP."""

from collections.abc import Callable
from enum import StrEnum
from typing import TypeAlias

from latency_map.errors import LatencyMapError
from latency_map.measure.probe import RttSample, Unreachable, ping_rtt_ms
from latency_map.measure.tcp import tcp_rtt_ms

Probe: TypeAlias = Callable[[str, int], RttSample]
"""Measures one round trip: address and sequence number in, what came out. Called from many threads."""

_ALLOWED_WAIT_S = 0.2


class ProbeMethod(StrEnum):
    """How to measure a round trip."""

    AUTO = "auto"
    ICMP = "icmp"
    TCP = "tcp"


def allowed_method(method: ProbeMethod, *, say: Callable[[str], None]) -> ProbeMethod:
    """Find out what this process may do; tries with an echo to itself.

    Parameters
    ----------
    method
        What is wished.
    say
        Takes the one line that tells of TCP instead of ICMP.

    Returns
    -------
    ProbeMethod
        ICMP or TCP.

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
            message = f"{error}{hint}"
            raise LatencyMapError(message) from None
        say(f"round trips are measured by TCP instead of ICMP: {error}{hint}")
        return ProbeMethod.TCP
    return ProbeMethod.ICMP


def probe_by(method: ProbeMethod, *, port: int, timeout_s: float) -> Probe:
    """Return the function that measures one round trip.

    Parameters
    ----------
    method
        ICMP or TCP.
    port
        Of TCP.
    timeout_s
        How long to wait for each reply.

    Returns
    -------
    callable
        It never raises: where one address may not be asked, that is an answer too.
    """

    def by_tcp(address: str, _sequence: int) -> RttSample:
        return tcp_rtt_ms(address, port=port, timeout_s=timeout_s)

    def by_icmp(address: str, sequence: int) -> RttSample:
        try:
            return ping_rtt_ms(address, timeout_s=timeout_s, sequence=sequence)
        except PermissionError as error:
            return Unreachable(reason=str(error))

    return by_tcp if method is ProbeMethod.TCP else by_icmp
