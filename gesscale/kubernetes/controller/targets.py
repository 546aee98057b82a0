"""Targets of the controller's connections: the resource's own pods and Services, and what an administrator allows.

The controller reaches networks that its users may not reach, so it does not trust an address in a resource. This
prevents server-side request forgery.
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

#: Memory for the concurrent responses of one namespace.
ANSWERS_BYTES = 32 << 20
_ANY_PORT = 0
_CLUSTER_DOMAIN = ".cluster.local"
#: Metadata services of cloud providers, which expose secrets of the machine. The usual one, 169.254.169.254,
#: is link-local.
_METADATA = frozenset(map(ip_address, ("100.100.100.200", "192.0.0.192", "fd00:ec2::254")))


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowedTarget:
    """A target that an administrator allows for all namespaces."""

    #: A host name; empty if a network is allowed.
    name: str = ""
    #: Addresses; None if a name is allowed.
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
            raise InputError("target-invalid", place="--allow-target", got=text, cause=str(error)) from None
        return cls(name=host.lower().rstrip("."), port=port)

    def contains(self, address: Address, port: int) -> bool:
        """Return whether it is a network that contains an address."""
        return self.network is not None and address in self.network and self.port in {_ANY_PORT, port}

    def matches_name(self, host: str, port: int) -> bool:
        """Return whether it is this host by name."""
        return self.name == host and self.port in {_ANY_PORT, port}


class Targets:
    """Decides by the watched objects which addresses are allowed."""

    def __init__(
        self, allowed: Iterable[AllowedTarget], snapshot: Callable[[], ClusterView], lookup: Resolve = resolve_host
    ) -> None:
        self._allowed, self._snapshot, self._lookup = tuple(allowed), snapshot, lookup
        self._clients: dict[str, HttpClient] = {}
        self._lock = Lock()

    def client(self, namespace: str) -> HttpClient:
        """Return the HTTP client for the resources of a namespace; thread-safe."""
        with self._lock:
            if namespace not in self._clients:
                client = HttpClient(self.resolver(namespace), ByteBudget(ANSWERS_BYTES))
                self._clients[namespace] = client
            return self._clients[namespace]

    def resolver(self, namespace: str) -> Resolve:
        """Return the resolver for the resources of a namespace; it raises FetchError for a forbidden target.

        It checks the very addresses that are then connected to, so DNS rebinding does not bypass it.
        """

        def resolve(host: str, port: int) -> Sequence[Address]:
            plain = host.lower().rstrip(".")
            literal = _literal(plain)
            found = [literal] if literal is not None else self._lookup(plain, port)
            named = any(target.matches_name(plain, port) for target in self._allowed)
            service = literal is None and _is_service_of(plain, namespace)
            view = self._snapshot()
            permitted = [
                address
                for address in found
                if any(target.contains(_plain(address), port) for target in self._allowed)
                or (not _is_special(address) and (named or _is_own(address, namespace, view, service=service)))
            ]
            if not permitted:
                raise _not_allowed(host, port, namespace)
            return permitted

        return resolve


def _is_own(address: Address, namespace: str, view: ClusterView, *, service: bool) -> bool:
    """Return whether an address belongs to a pod of the namespace, or is behind its Service and no other pod's."""
    text = str(address)
    owners = {pod.namespace for pod in view.pods.objects.values() if pod.ip == text and not pod.ended}
    if owners:
        return namespace in owners
    return service and all(text not in node.addresses for node in view.nodes.objects.values())


def _is_service_of(host: str, namespace: str) -> bool:
    """Return whether a name is that of a Service of the namespace, or of a pod behind it."""
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
    """Return the IPv4 address of an IPv4-mapped IPv6 address; any other address as it is."""
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address


def _literal(host: str) -> Address | None:
    try:
        return ip_address(host)
    except ValueError:
        return None


def _not_allowed(host: str, port: int, namespace: str) -> FetchError:
    target = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    return FetchError("target-not-allowed", target=target, namespace=namespace)
