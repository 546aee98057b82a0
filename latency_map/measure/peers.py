"""Addresses of agents and of the peers that an agent probes: from a list or from DNS."""

import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeAlias

from gesscale.common.errors import Problem
from gesscale.common.http_client import UNRESTRICTED_CLIENT, FetchError, Resolve, resolve_host, resolve_in_time
from gesscale.common.threads import in_thread
from latency_map.addresses import ZONE, refuse_zone
from latency_map.errors import LatencyMapError, error_of
from latency_map.names import find_name_fault

#: Default port of the metrics of an agent.
AGENT_PORT = 9109

#: Address of each node.
Peers: TypeAlias = Mapping[str, str]

#: Returns the current peers; raises LatencyMapError if they are unknown.
FindPeers: TypeAlias = Callable[[], Peers]

MAX_PEERS = 5000
_MAX_RESPONSE_BYTES = 4096


def split_host_port(place: str, *, default_port: int = AGENT_PORT) -> tuple[str, int]:
    """Split ``HOST:PORT``.

    Raises
    ------
    LatencyMapError
        The text has another form, or an IPv6 zone.
    """
    refuse_zone(place)
    host, colon, port = place.rpartition(":")
    bare_ipv6 = ":" in host and not host.startswith("[")
    if not colon or place.endswith("]") or bare_ipv6:
        host, port = place, str(default_port)
    host = host.removeprefix("[").removesuffix("]")
    if not is_host(host) or not port.isdecimal() or int(port) > 65535:
        raise LatencyMapError("host-port-invalid", address=place)
    return host, int(port)


def is_host(text: str) -> bool:
    """Return whether text may be a host name or an address: printable, without blanks and IPv6 zones."""
    return text.isprintable() and not {" ", ZONE} & set(text) and text != ""


def agent_url(place: str) -> str:
    """Return the URL of an agent.

    Raises
    ------
    LatencyMapError
        The text is neither a URL of a host nor HOST or HOST:PORT.
    """
    if place.startswith("http://") and is_host(place):
        return place.rstrip("/")
    host, port = split_host_port(place)
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def resolve_agents(
    place: str, *, default_port: int = AGENT_PORT, timeout_s: float = 10.0, resolve: Resolve = resolve_host
) -> list[str]:
    """Return the URLs of the agents behind a DNS name, such as that of a headless Service.

    Raises
    ------
    LatencyMapError
        The name does not resolve, not in time, or only to addresses with an IPv6 zone.
    """
    host, port = split_host_port(place, default_port=default_port)
    try:
        addresses = resolve_in_time(resolve, host, port, timeout_s)
    except FetchError as error:
        raise LatencyMapError("agents-not-resolved", host=host, cause=str(error)) from None
    return [
        agent_url(f"[{address}]:{port}" if ":" in address else f"{address}:{port}")
        for address in sorted(map(str, addresses))
    ]


def parse_peers(listing: str, *, source: str = "peers") -> dict[str, str]:
    """Parse pairs ``name=address``, separated by commas or line ends.

    Raises
    ------
    LatencyMapError
        An item has another form, or a name occurs twice; ``source`` is that of the error.
    """
    peers: dict[str, str] = {}
    lines = (line for line in listing.splitlines() if not line.lstrip().startswith("#"))
    for item in (part.strip() for line in lines for part in line.split(",")):
        if not item:
            continue
        name, equals, address = (part.strip() for part in item.partition("="))
        fault = find_name_fault([name])
        if fault or not equals or not is_host(address):
            code = "address-zone-refused" if ZONE in address else "peer-invalid"
            raise error_of(Problem(code, {"address": address, "peer": item}), source=source)
        if name in peers:
            raise LatencyMapError("map-node-duplicate", source=source, name=name)
        peers[name] = address
    if len(peers) > MAX_PEERS:
        raise LatencyMapError("peers-too-many", source=source, limit=MAX_PEERS, got=len(peers))
    return peers


class AgentsByName:
    """Finds the agents behind a DNS name, and requests the name of the node from each new address once.

    An address is assumed to stay on its node, as in a k3s cluster, where each node has its own range of pod addresses.

    Parameters
    ----------
    own
        Node and instance of the agent that searches.
    report
        Receives warnings.
    """

    def __init__(
        self,
        place: str,
        *,
        default_port: int,
        own: tuple[str, str],
        timeout_s: float,
        report: Callable[[Problem], None],
    ) -> None:
        self._place = place
        self._default_port = default_port
        self._node, self._instance = own
        self._timeout_s = timeout_s
        self._report = report
        self._named: dict[str, tuple[str, str]] = {}

    def __call__(self) -> dict[str, str]:
        """Return the current peers, without agents that do not report their node.

        Raises
        ------
        LatencyMapError
            The name does not resolve.
        """
        urls = resolve_agents(self._place, default_port=self._default_port, timeout_s=self._timeout_s)[:MAX_PEERS]
        self._named = {url: name for url, name in self._named.items() if url in urls}
        new = [url for url in urls if url not in self._named]
        pending = {url: in_thread(partial(_fetch_name, url, self._timeout_s)) for url in new}
        self._named |= {url: name for url, future in pending.items() if (name := future.result())}
        return self._by_name()

    def _by_name(self) -> dict[str, str]:
        peers: dict[str, str] = {}
        for url, (node, instance) in sorted(self._named.items()):
            if instance == self._instance:
                continue
            if node == self._node or node in peers:
                self._report(Problem("agent-node-duplicate", {"url": url, "node": node}))
                continue
            peers[node] = _host(url)
        return peers


def _fetch_name(url: str, timeout_s: float) -> tuple[str, str] | None:
    """Return node and instance of an agent; None if it does not report them."""
    try:
        content = json.loads(
            UNRESTRICTED_CLIENT.fetch(f"{url}/node", timeout_s=timeout_s, max_bytes=_MAX_RESPONSE_BYTES)
        )
        node, instance = str(content["node"]), str(content["instance"])
    except (FetchError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return None if find_name_fault([node]) else (node, instance)


def _host(url: str) -> str:
    return split_host_port(url.removeprefix("http://"))[0]
