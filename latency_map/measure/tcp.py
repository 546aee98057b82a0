"""Measured round trips by TCP: from asking for a connection to its being accepted or refused."""

import socket
import time

from latency_map.measure.probe import Reply, RttSample, Timeout, UnknownHost, Unreachable, resolve

FIRST_RETRY_S = 1.0
"""After so long the kernel asks again (RFC 6298), and an answer no longer tells which of the two it answers."""


def tcp_rtt_ms(address: str, *, port: int, timeout_s: float) -> RttSample:
    """Measure one round trip: SYN to SYN/ACK, or to RST, as a closed port answers too.

    Parameters
    ----------
    address
        An IP address, version 4 or 6, or a name, which is resolved before the clock starts.
    port
        Any that no firewall drops; nothing is sent through the connection, it is closed at once.
    timeout_s
        How long to wait, positive; 1 s at most counts, since later answers may be those to a second try.

    Returns
    -------
    RttSample
        The round trip, or why there is none.
    """
    try:
        numeric = resolve(address)
        family, kind, protocol, _, place = socket.getaddrinfo(numeric, port, type=socket.SOCK_STREAM)[0]
    except (OSError, ValueError) as error:
        return UnknownHost(reason=f"{address!r} does not resolve: {error}")
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
