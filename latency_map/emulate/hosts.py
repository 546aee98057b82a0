"""Where the nodes of a map are in a real network: addresses and devices, as files of CSV or YAML say."""

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gesscale.common.errors import InputError
from gesscale.common.text import enumerate_some, glimpse, shortened
from gesscale.common.yaml_text import parse_yaml
from latency_map.addresses import parse_address, parse_network, zone_hint
from latency_map.emulate import DEVICE
from latency_map.errors import LatencyMapError

COLUMNS = ("name", "address", "device", "networks")

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}")
_DEVICE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,14}")


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

    Raises
    ------
    LatencyMapError
        One of them is not of that form.
    """

    name: str
    address: str
    device: str = DEVICE
    networks: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for pattern, value, wanted in (
            (_NAME, self.name, "a name of at most 63 letters, digits, '.', '_' and '-'"),
            (_DEVICE, self.device, "a network device of at most 15 letters, digits, '.', '_' and '-'"),
        ):
            if not pattern.fullmatch(value):
                message = f"{self._said}: expected {wanted}, got {shortened(value)}{zone_hint(value)}"
                raise LatencyMapError(message)
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


def number_hosts(names: Sequence[str], subnet: str, *, device: str = DEVICE) -> tuple[Host, ...]:
    """Give nodes the addresses of a network in their order, the first address to the first node."""
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
    """Refuse hosts that packets could not tell apart."""
    for what, values in (
        ("a name", [host.name for host in hosts]),
        ("an address", [address for host in hosts for address in host.destinations]),
    ):
        twice = sorted({value for value in values if values.count(value) > 1})
        if twice:
            message = f"expected every host with {what} of its own, got twice: {enumerate_some(twice)}"
            raise LatencyMapError(message)


def parse_hosts(text: str, source: str, *, device: str = DEVICE) -> tuple[Host, ...]:
    """Read where nodes are.

    Parameters
    ----------
    text
        CSV with a heading of ``name,address`` and any of ``device``, ``networks`` (separated by blanks); or YAML
        with a list of such mappings, or with one mapping of names to addresses.
    source
        Names the text in messages.
    device
        The device of nodes for which the text gives none.

    Raises
    ------
    LatencyMapError
        It is none of these.
    """
    first = text.lstrip("\ufeff \t\r\n").partition("\n")[0]
    if "," in first and not first.startswith(("{", "[", "-")):
        return _hosts(_csv_entries(text, source), source, device)
    try:
        content = parse_yaml(text, source)
    except InputError as error:
        message = f"{error}, or write the hosts as CSV with a heading"
        raise LatencyMapError(message) from None
    if isinstance(content, Mapping):
        content = [{"name": name, "address": address} for name, address in content.items()]
    if not isinstance(content, list):
        message = (
            f"{source}: expected hosts as CSV with a heading name,address or as YAML with name: address,"
            f" got {type(content).__name__}"
        )
        raise LatencyMapError(message)
    return _hosts(content, source, device)


def _csv_entries(text: str, source: str) -> list[dict[str, Any]]:
    try:
        rows = list(
            csv.DictReader(io.StringIO(text.removeprefix("\ufeff")), strict=True, restkey="", restval="")
        )
    except csv.Error as error:
        message = f"{source}: expected hosts as CSV: {error}"
        raise LatencyMapError(message) from None
    return [
        {
            (key or "").strip(): value.strip() if isinstance(value, str) else value
            for key, value in row.items()
        }
        for row in rows
    ]


def _hosts(entries: Iterable[object], source: str, device: str) -> tuple[Host, ...]:
    hosts = tuple(_host(entry, f"{source}, host {number}", device) for number, entry in enumerate(entries, 1))
    if not hosts:
        message = f"{source}: expected hosts, got none"
        raise LatencyMapError(message)
    return hosts


def _host(entry: object, place: str, device: str) -> Host:
    if not isinstance(entry, Mapping):
        message = f"{place}: expected name and address, got {glimpse(entry)}"
        raise LatencyMapError(message)
    unknown = [str(key) for key in entry if key not in COLUMNS]
    if unknown or not entry.get("name") or not entry.get("address"):
        message = (
            f"{place}: expected name and address, and of {', '.join(COLUMNS[2:])} what is needed,"
            f" got {enumerate_some(str(key) or 'a cell too many' for key in entry)}"
        )
        raise LatencyMapError(message)
    cells = {key: value for key, value in entry.items() if value not in (None, "")}
    networks = cells.get("networks", ())
    if not isinstance(networks, str | list | tuple):
        message = f"{place}: expected a list of networks, got {networks!r:.80}"
        raise LatencyMapError(message)
    try:
        return Host(
            name=str(cells["name"]),
            address=str(cells["address"]),
            device=str(cells.get("device", device)),
            networks=tuple(networks.split() if isinstance(networks, str) else map(str, networks)),
        )
    except LatencyMapError as error:
        message = f"{place}: {error}"
        raise LatencyMapError(message) from None
