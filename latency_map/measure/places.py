"""Where agents are: hosts and ports, as people and services name them."""

from gesscale.common.http_client import FetchError, Resolve, resolve_host, resolve_in_time
from latency_map.addresses import ZONE, zone_hint
from latency_map.errors import LatencyMapError

AGENT_PORT = 9109
"""Where an agent serves its figures by default."""


def split_place(place: str, *, default_port: int = AGENT_PORT) -> tuple[str, int]:
    """Split ``HOST:PORT``.

    Parameters
    ----------
    place
        The port may be missing; an IPv6 address with a port stands in brackets.
    default_port
        Where no port is named.

    Returns
    -------
    tuple of str and int
        Host, without brackets, and port.

    Raises
    ------
    LatencyMapError
        It is no such place.
    """
    host, colon, port = place.rpartition(":")
    bare_ipv6 = ":" in host and not host.startswith("[")
    if not colon or place.endswith("]") or bare_ipv6:
        host, port = place, str(default_port)
    host = host.removeprefix("[").removesuffix("]")
    if not is_host(host) or not port.isdecimal() or int(port) > 65535:
        message = f"expected HOST or HOST:PORT with a port of 0 to 65535, got {place!r}{zone_hint(place)}"
        raise LatencyMapError(message)
    return host, int(port)


def is_host(text: str) -> bool:
    """Whether text may be a host name or an address: printable, without blanks and without an IPv6 zone."""
    return text.isprintable() and not {" ", ZONE} & set(text) and text != ""


def agent_url(place: str) -> str:
    """Return the URL of an agent.

    Parameters
    ----------
    place
        ``HOST``, ``HOST:PORT``, or the URL itself.

    Returns
    -------
    str
        ``http://HOST:PORT``.

    Raises
    ------
    LatencyMapError
        It is none of these.
    """
    if place.startswith("http://") and is_host(place):
        return place.rstrip("/")
    host, port = split_place(place)
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def resolve_agents(
    place: str,
    *,
    default_port: int = AGENT_PORT,
    timeout_s: float = 10.0,
    resolve: Resolve = resolve_host,
) -> list[str]:
    """Return the agents behind a name, such as that of a headless service.

    Parameters
    ----------
    place, default_port
        As in `split_place`.
    timeout_s
        How long to wait for the name service.
    resolve
        Says where the name is.

    Returns
    -------
    list of str
        The URL of each, sorted.

    Raises
    ------
    LatencyMapError
        The name does not resolve, not in time, or to addresses with an IPv6 zone only.
    """
    host, port = split_place(place, default_port=default_port)
    try:
        addresses = resolve_in_time(resolve, host, port, timeout_s)
    except FetchError as error:
        message = f"agents: expected addresses behind {host!r}, got: {error}; is its service there?"
        raise LatencyMapError(message) from None
    return [
        agent_url(f"[{address}]:{port}" if ":" in address else f"{address}:{port}")
        for address in sorted(map(str, addresses))
    ]
