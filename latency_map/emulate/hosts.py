"""Where the nodes of a map are in a real network: addresses, devices, and how to log in."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from latency_map.addresses import parse_address, parse_network, zone_hint
from latency_map.emulate.defaults import DEVICE
from latency_map.errors import LatencyMapError, enumerate_some, shortened

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}")
_DEVICE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,14}")
_USER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,254}")
_SSH_HOST = re.compile(r"[A-Za-z0-9_\[][A-Za-z0-9_.:\]-]{0,254}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """A node of a map as a machine in a network.

    Attributes
    ----------
    name
        Its name in the map; at most 63 letters, digits, '.', '_' and '-', as scripts are named by it.
    address
        The IP address that the other nodes send to, in its usual form.
    device
        The network device through which it sends to them.
    networks
        Networks behind it whose packets are seen with their own addresses, such as the pods of a Kubernetes
        node where no tunnel is used.
    user, port, ssh
        Who logs in, at which port of which host, where ssh is used. Without ``user`` and ``port`` it is as
        ssh is set up; without ``ssh`` it is the address.

    Raises
    ------
    LatencyMapError
        One of them is not of that form.
    """

    name: str
    address: str
    device: str = DEVICE
    networks: tuple[str, ...] = ()
    user: str | None = None
    port: int | None = None
    ssh: str | None = None

    def __post_init__(self) -> None:
        for pattern, value, wanted in (
            (_NAME, self.name, "a name of at most 63 letters, digits, '.', '_' and '-'"),
            (_DEVICE, self.device, "a network device of at most 15 letters, digits, '.', '_' and '-'"),
            (_SSH_HOST, self.ssh or "host", "a host to log in to"),
        ):
            if not pattern.fullmatch(value):
                message = f"{self._said}: expected {wanted}, got {shortened(value)}{zone_hint(value)}"
                raise LatencyMapError(message)
        check_login(self.user, self.port, where=self._said)
        object.__setattr__(self, "address", self._address())
        object.__setattr__(self, "networks", tuple(self._network(each) for each in self.networks))

    @property
    def _said(self) -> str:
        return f"host {shortened(self.name)}"

    @property
    def destinations(self) -> tuple[str, ...]:
        """What the others' packets to it are addressed to: its address and the networks, as CIDR."""
        return (f"{self.address}/{128 if ':' in self.address else 32}", *self.networks)

    def _address(self) -> str:
        try:
            address = parse_address(self.address)
        except LatencyMapError as error:
            message = f"{self._said}: {error}; a host name will not do, as tc matches addresses"
            raise LatencyMapError(message) from None
        if address.is_link_local and address.version == 6:
            message = f"{self._said}: expected an address that is not bound to a link, got {self.address!r}"
            raise LatencyMapError(message)
        return str(address)

    def _network(self, text: str) -> str:
        try:
            return str(parse_network(text))
        except LatencyMapError as error:
            message = f"{self._said}: {error}"
            raise LatencyMapError(message) from None


def check_login(user: str | None, port: int | None, *, where: str) -> None:
    """Refuse a user name or a port that no login can have; None is left to how ssh is set up.

    Parameters
    ----------
    where
        Names the login in the message.

    Raises
    ------
    LatencyMapError
        One of them is none.
    """
    if user is not None and not _USER.fullmatch(user):
        message = f"{where}: expected a user name, got {shortened(user)}"
        raise LatencyMapError(message)
    if port is not None and not 1 <= port <= 65535:
        message = f"{where}: expected a port of 1 to 65535, got {port}"
        raise LatencyMapError(message)


def number_hosts(names: Sequence[str], subnet: str, *, device: str = DEVICE) -> tuple[Host, ...]:
    """Give nodes the addresses of a network in their order, the first address to the first node.

    Parameters
    ----------
    names
        The nodes.
    subnet
        A network such as ``10.0.0.0/24``.
    device
        The device of every node.

    Returns
    -------
    tuple of Host
        In the same order.

    Raises
    ------
    LatencyMapError
        The network is none, or too small.
    """
    network = parse_network(subnet)
    room = network.num_addresses - 2
    if len(names) > room:
        message = (
            f"expected a network with an address for each of {len(names)} nodes, got {network} with {room}"
        )
        raise LatencyMapError(message)
    return tuple(
        Host(name=name, address=str(network[number]), device=device)
        for number, name in enumerate(names, start=1)
    )


def check_hosts(hosts: Sequence[Host]) -> None:
    """Refuse hosts that packets could not tell apart.

    Raises
    ------
    LatencyMapError
        Two have one name, or one address.
    """
    for what, values in (
        ("a name", [host.name for host in hosts]),
        ("an address", [address for host in hosts for address in host.destinations]),
    ):
        twice = sorted({value for value in values if values.count(value) > 1})
        if twice:
            message = f"expected every host with {what} of its own, got twice: {enumerate_some(twice)}"
            raise LatencyMapError(message)
