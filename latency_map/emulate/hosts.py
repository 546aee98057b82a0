"""Addresses and network devices of the nodes of a map, from a CSV file."""

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar

from gesscale.common.text import shortened
from latency_map.addresses import Address, Network, parse_address, parse_network, refuse_zone
from latency_map.emulate import DEVICE
from latency_map.errors import LatencyMapError, error_of

Destination = TypeVar("Destination", Address, Network)

COLUMNS = ("name", "address", "device", "networks")

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}")
_NAMED = 3
_BROADCAST = "255.255.255.255"
_DEVICE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,14}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """Network address of a node of a map.

    Raises
    ------
    LatencyMapError
        A field is invalid.
    """

    #: Name in the map; at most 63 letters, digits, '.', '_' and '-', since it is part of file names.
    name: str
    #: IP address to which the other nodes send, in canonical form.
    address: str
    #: Network device through which it sends to them.
    device: str = DEVICE
    #: Its further addresses, and networks behind it whose packets have their own addresses, such as the pods of a
    #: Kubernetes node without a tunnel.
    networks: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        try:
            self._check_words()
            address = str(_routable(parse_address(self.address)))
            networks = tuple(dict.fromkeys(str(_routable(parse_network(each))) for each in self.networks))
        except LatencyMapError as error:
            raise error_of(*error.problems, place=f"host {shortened(self.name)}") from None
        object.__setattr__(self, "address", address)
        object.__setattr__(self, "networks", networks)

    @property
    def destinations(self) -> tuple[str, ...]:
        """Destinations of packets to it: its address and the networks, as CIDR."""
        return tuple(dict.fromkeys((f"{self.address}/{128 if ':' in self.address else 32}", *self.networks)))

    def _check_words(self) -> None:
        for code, pattern, value in (
            ("host-name-invalid", _NAME, self.name),
            ("host-device-invalid", _DEVICE, self.device),
        ):
            if not pattern.fullmatch(value):
                refuse_zone(value)
                raise LatencyMapError(code, got=value)


def _routable(to: Destination) -> Destination:
    """Return a destination; raise LatencyMapError if packets to it do not reach one other node."""
    only_here = to.is_link_local and to.version == 6
    if only_here or to.is_loopback or to.is_unspecified or to.is_multicast or str(to) == _BROADCAST:
        raise LatencyMapError("host-address-unroutable", address=str(to))
    return to


def check_hosts(hosts: Sequence[Host]) -> None:
    """Reject hosts with the same name or address, or a network that holds addresses of another one."""
    for code, values in (
        ("host-name-duplicate", [host.name for host in hosts]),
        ("host-address-duplicate", [address for host in hosts for address in host.destinations]),
    ):
        twice = sorted({value for value in values if values.count(value) > 1})
        if twice:
            raise LatencyMapError(code, got=twice)
    if shared := list(islice(_shared(hosts), _NAMED)):
        raise LatencyMapError("host-networks-overlap", got=shared)


def _shared(hosts: Sequence[Host]) -> Iterator[str]:
    """Yield the networks of two hosts of which one holds the other: packets to the smaller one match both."""
    networks = [(parse_network(each), host.name) for host in hosts for each in host.destinations]
    networks.sort(key=lambda each: (each[0].version, int(each[0].network_address), each[0].prefixlen))
    around: list[tuple[Network, str]] = []
    for network, name in networks:
        while around and network.network_address not in around[-1][0]:
            around.pop()
        yield from (f"{larger} of {other}, {network} of {name}" for larger, other in around if other != name)
        around.append((network, name))


def parse_hosts(text: str, source: str, *, device: str = DEVICE) -> tuple[Host, ...]:
    """Parse hosts from CSV.

    Raises
    ------
    LatencyMapError
        The text or a host is invalid.
    """
    reader = csv.DictReader(io.StringIO(text.removeprefix("\ufeff")), strict=True, restkey="", restval="")
    try:
        rows = list(reader)
    except csv.Error as error:
        raise LatencyMapError("hosts-csv-invalid", source=source, cause=str(error)) from None
    if not rows:
        raise LatencyMapError("hosts-missing", source=source)
    heading = [label.strip() for label in reader.fieldnames or ()]
    if len(set(heading)) < len(heading):  # DictReader would take the last one
        raise LatencyMapError("hosts-columns-invalid", source=source, place="heading", columns=heading)
    return tuple(_host(row, source, f"host {number}", device) for number, row in enumerate(rows, 1))


def _host(row: Mapping[str, object], source: str, place: str, device: str) -> Host:
    cells = {key.strip(): str(value).strip() for key, value in row.items()}
    if not cells.keys() <= set(COLUMNS) or not cells.get("name") or not cells.get("address"):
        columns = [key or "(too many cells)" for key in cells]
        raise LatencyMapError("hosts-columns-invalid", source=source, place=place, columns=columns)
    try:
        return Host(
            name=cells["name"],
            address=cells["address"],
            device=cells.get("device") or device,
            networks=tuple(cells.get("networks", "").split()),
        )
    except LatencyMapError as error:
        raise error_of(*error.problems, source=source, place=place) from None
