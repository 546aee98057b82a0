"""Where the controller may connect to for the author of a StreamAutoscaler: his own pods and Services, no others.

The controller reaches networks that its users may not reach. So it does not trust an address that a resource names. It
connects to a pod of the resource's namespace, to a Service of it, or to what an administrator allowed.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from threading import Lock

from gesscale.common.http_client import Address, ByteBudget, FetchError, HttpClient, Resolve, resolve_host
from gesscale.errors import InputError
from gesscale.kubernetes.placement.watches import ClusterView
from latency_map import LatencyMapError
from latency_map.measure.peers import split_host_port

#: What all answers of one namespace may take at the same time.
ANSWERS_BYTES = 32 << 20
_ANY_PORT = 0
_CLUSTER_DOMAIN = ".cluster.local"
#: Services of cloud providers that tell secrets of the machine; the usual one, 169.254.169.254, is
#: link-local.
_METADATA = frozenset(map(ip_address, ("100.100.100.200", "192.0.0.192", "fd00:ec2::254")))


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowedTarget:
    """What an administrator allows every namespace to be asked for."""

    #: A host name; empty where a network is allowed.
    name: str = ""
    #: Addresses; None where a name is allowed.
    network: IPv4Network | IPv6Network | None = None
    #: The port; 0 for all.
    port: int = _ANY_PORT

    @classmethod
    def parse(cls, text: str) -> "AllowedTarget":
        """Read ``HOST[:PORT]``, where the host is a name, an address or a network.

        Raises
        ------
        InputError
            It is none of these.

        Examples
        --------
        >>> AllowedTarget.parse("10.1.0.0/16:9090")
        AllowedTarget(name='', network=IPv4Network('10.1.0.0/16'), port=9090)
        >>> AllowedTarget.parse("prometheus.monitoring.svc")
        AllowedTarget(name='prometheus.monitoring.svc', network=None, port=0)
        """
        try:
            host, port = split_host_port(text, default_port=_ANY_PORT)
            if "/" in host or _literal(host) is not None:
                return cls(network=ip_network(host), port=port)
        except (LatencyMapError, ValueError) as error:
            raise InputError(
                f"--allow-target: expected HOST[:PORT], ADDRESS[:PORT] or NETWORK[:PORT]: {error}"
            ) from None
        return cls(name=host.lower().rstrip("."), port=port)

    def covers(self, address: Address, port: int) -> bool:
        """Say whether it is a network that holds an address."""
        return self.network is not None and address in self.network and self.port in {_ANY_PORT, port}

    def names(self, host: str, port: int) -> bool:
        """Say whether it is this host by name."""
        return self.name == host and self.port in {_ANY_PORT, port}


class Targets:
    """Judges addresses by what is watched of the cluster."""

    def __init__(
        self, allowed: Iterable[AllowedTarget], look: Callable[[], ClusterView], lookup: Resolve = resolve_host
    ) -> None:
        self._allowed, self._look, self._lookup = tuple(allowed), look, lookup
        self._clients: dict[str, HttpClient] = {}
        self._lock = Lock()

    def client(self, namespace: str) -> HttpClient:
        """Return the client by which everything is asked for the resources of a namespace; for any thread."""
        with self._lock:
            if namespace not in self._clients:
                client = HttpClient(self.resolver(namespace), ByteBudget(ANSWERS_BYTES))
                self._clients[namespace] = client
            return self._clients[namespace]

    def resolver(self, namespace: str) -> Resolve:
        """Return what says where a connection may go for the resources of a namespace.

        It refuses by FetchError. It judges the very addresses that are then connected to, so a name whose address
        changes between two look-ups gains nothing.
        """

        def resolve(host: str, port: int) -> Sequence[Address]:
            plain = host.lower().rstrip(".")
            literal = _literal(plain)
            found = [literal] if literal is not None else self._lookup(plain, port)
            named = any(target.names(plain, port) for target in self._allowed)
            service = literal is None and _is_service_of(plain, namespace)
            view = self._look()
            permitted = [
                address
                for address in found
                if any(target.covers(_plain(address), port) for target in self._allowed)
                or (not _is_special(address) and (named or _is_own(address, namespace, view, service=service)))
            ]
            if not permitted:
                raise FetchError(_refusal(host, port, namespace))
            return permitted

        return resolve


def _is_own(address: Address, namespace: str, view: ClusterView, *, service: bool) -> bool:
    """Say whether an address is a pod's of a namespace, or stands behind its Service and is no other pod's."""
    text = str(address)
    owners = {pod.namespace for pod in view.pods.objects.values() if pod.ip == text and not pod.over}
    if owners:
        return namespace in owners
    return service and all(text not in node.addresses for node in view.nodes.objects.values())


def _is_service_of(host: str, namespace: str) -> bool:
    """Say whether a name is that of a Service of a namespace, or of a pod behind it."""
    labels = host.removesuffix(_CLUSTER_DOMAIN).split(".")
    if labels[-1] == "svc":
        return len(labels) in {3, 4} and labels[-2] == namespace
    return host.count(".") == 1 and labels[-1] == namespace


def _is_special(address: Address) -> bool:
    plain = _plain(address)
    return (
        plain.is_loopback
        or plain.is_link_local
        or plain.is_multicast
        or plain.is_unspecified
        or plain.is_reserved
        or plain in _METADATA
    )


def _plain(address: Address) -> Address:
    """Return an IPv4 address that is written as IPv6 as what it is."""
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address


def _literal(host: str) -> Address | None:
    try:
        return ip_address(host)
    except ValueError:
        return None


def _refusal(host: str, port: int, namespace: str) -> str:
    place = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    return (
        f"{place} is neither a pod nor a Service (NAME.{namespace}.svc) of namespace {namespace}; an administrator "
        f"may allow it for all: gesscale run --kubernetes --allow-target {place}"
    )
