"""Where agents are, and whom one probes: a listing, or the agents that a name stands for."""

import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeAlias

from gesscale.common.http_client import UNRESTRICTED_CLIENT, FetchError, Resolve, resolve_host, resolve_in_time
from gesscale.common.threads import in_thread
from latency_map.addresses import ZONE, zone_hint
from latency_map.errors import LatencyMapError
from latency_map.names import find_name_fault

#: Where an agent serves its figures by default.
AGENT_PORT = 9109

#: Address of each node.
Peers: TypeAlias = Mapping[str, str]

#: Returns the peers as they are now; raises LatencyMapError where they are unknown.
FindPeers: TypeAlias = Callable[[], Peers]

MAX_PEERS = 5000
_MAX_ANSWER_BYTES = 4096


def split_host_port(place: str, *, default_port: int = AGENT_PORT) -> tuple[str, int]:
    """Split ``HOST:PORT``.

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
        raise LatencyMapError(f"expected HOST or HOST:PORT with a port of 0 to 65535, got {place!r}{zone_hint(place)}")
    return host, int(port)


def is_host(text: str) -> bool:
    """Whether text may be a host name or an address: printable, without blanks and without an IPv6 zone."""
    return text.isprintable() and not {" ", ZONE} & set(text) and text != ""


def agent_url(place: str) -> str:
    """Return the URL of an agent.

    Raises
    ------
    LatencyMapError
        It is none of these.
    """
    if place.startswith("http://") and is_host(place):
        return place.rstrip("/")
    host, port = split_host_port(place)
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def resolve_agents(
    place: str, *, default_port: int = AGENT_PORT, timeout_s: float = 10.0, resolve: Resolve = resolve_host
) -> list[str]:
    """Return the agents behind a name, such as that of a headless service.

    Raises
    ------
    LatencyMapError
        The name does not resolve, not in time, or to addresses with an IPv6 zone only.
    """
    host, port = split_host_port(place, default_port=default_port)
    try:
        addresses = resolve_in_time(resolve, host, port, timeout_s)
    except FetchError as error:
        raise LatencyMapError(
            f"agents: expected addresses behind {host!r}, got: {error}; is its service there?"
        ) from None
    return [
        agent_url(f"[{address}]:{port}" if ":" in address else f"{address}:{port}")
        for address in sorted(map(str, addresses))
    ]


def parse_peers(listing: str, *, what: str = "peers") -> dict[str, str]:
    """Read ``name=address`` pairs, separated by commas or line ends.

    Raises
    ------
    LatencyMapError
        An item is no such pair, or a name occurs twice.
    """
    peers: dict[str, str] = {}
    lines = (line for line in listing.splitlines() if not line.lstrip().startswith("#"))
    for item in (part.strip() for line in lines for part in line.split(",")):
        if not item:
            continue
        name, equals, address = (part.strip() for part in item.partition("="))
        fault = find_name_fault([name])
        if fault or not equals or not is_host(address):
            raise LatencyMapError(
                f"{what}: expected name=address, such as edge1=10.0.0.1, got {item!r}{zone_hint(address)}"
            )
        if name in peers:
            raise LatencyMapError(f"{what}: expected every node once, got {name!r} twice; remove or rename one")
        peers[name] = address
    if len(peers) > MAX_PEERS:
        raise LatencyMapError(f"{what}: expected at most {MAX_PEERS} nodes, got {len(peers)}")
    return peers


class AgentsByName:
    """Finds peers as the agents behind a name; every new address is asked once for the name of its node.

    An address is taken to stay with its node: in a k3s cluster each node has a range of pod addresses of its
    own.
    """

    def __init__(
        self, place: str, *, default_port: int, own: tuple[str, str], timeout_s: float, say: Callable[[str], None]
    ) -> None:
        self._place = place
        self._default_port = default_port
        self._node, self._instance = own
        self._timeout_s = timeout_s
        self._say = say
        self._named: dict[str, tuple[str, str]] = {}

    def __call__(self) -> dict[str, str]:
        """Return the peers as they are now; those that do not tell their name are left out.

        Raises
        ------
        LatencyMapError
            The name does not resolve.
        """
        urls = resolve_agents(self._place, default_port=self._default_port, timeout_s=self._timeout_s)[:MAX_PEERS]
        self._named = {url: name for url, name in self._named.items() if url in urls}
        asked = {url: in_thread(partial(_ask_name, url, self._timeout_s)) for url in urls if url not in self._named}
        self._named |= {url: name for url, future in asked.items() if (name := future.result())}
        return self._by_name()

    def _by_name(self) -> dict[str, str]:
        peers: dict[str, str] = {}
        for url, (node, instance) in sorted(self._named.items()):
            if instance == self._instance:
                continue
            if node == self._node or node in peers:
                self._say(f"peers: {url} says that it is on node {node!r}, as another agent does; left out")
                continue
            peers[node] = _host(url)
        return peers


def _ask_name(url: str, timeout_s: float) -> tuple[str, str] | None:
    """Return node and instance that an agent tells; None where it does not."""
    try:
        answer = json.loads(UNRESTRICTED_CLIENT.fetch(f"{url}/node", timeout_s=timeout_s, max_bytes=_MAX_ANSWER_BYTES))
        node, instance = str(answer["node"]), str(answer["instance"])
    except (FetchError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return None if find_name_fault([node]) else (node, instance)


def _host(url: str) -> str:
    return split_host_port(url.removeprefix("http://"))[0]
