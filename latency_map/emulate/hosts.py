"""Where the nodes of a map are in a real network: addresses and devices, as a CSV file says."""

import csv
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gesscale.common.text import format_list, shortened
from latency_map.addresses import parse_address, parse_network, zone_hint
from latency_map.emulate import DEVICE
from latency_map.errors import LatencyMapError

COLUMNS = ("name", "address", "device", "networks")

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}")
_DEVICE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,14}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """A node of a map as a machine in a network.

    Raises
    ------
    LatencyMapError
        One of them is not of that form.
    """

    #: Its name in the map; at most 63 letters, digits, '.', '_' and '-', as scripts are named by it.
    name: str
    #: The IP address that the other nodes send to, in its usual form.
    address: str
    #: The network device through which it sends to them.
    device: str = DEVICE
    #: Networks behind it whose packets are seen with their own addresses, such as the pods of a Kubernetes
    #: node where no tunnel is used.
    networks: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for pattern, value, wanted in (
            (_NAME, self.name, "a name of at most 63 letters, digits, '.', '_' and '-'"),
            (_DEVICE, self.device, "a network device of at most 15 letters, digits, '.', '_' and '-'"),
        ):
            if not pattern.fullmatch(value):
                raise LatencyMapError(f"{self._said}: expected {wanted}, got {shortened(value)}{zone_hint(value)}")
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
            raise LatencyMapError(f"{self._said}: {error}; a host name will not do, as tc matches addresses") from None
        if address.is_link_local and address.version == 6:
            raise LatencyMapError(
                f"{self._said}: expected an address that is not bound to a link, got {self.address!r}"
            )
        return str(address)

    def _network(self, text: str) -> str:
        try:
            return str(parse_network(text))
        except LatencyMapError as error:
            raise LatencyMapError(f"{self._said}: {error}") from None


def check_hosts(hosts: Sequence[Host]) -> None:
    """Refuse hosts that packets could not tell apart."""
    for what, values in (
        ("a name", [host.name for host in hosts]),
        ("an address", [address for host in hosts for address in host.destinations]),
    ):
        twice = sorted({value for value in values if values.count(value) > 1})
        if twice:
            raise LatencyMapError(f"expected every host with {what} of its own, got twice: {format_list(twice)}")


def parse_hosts(text: str, source: str, *, device: str = DEVICE) -> tuple[Host, ...]:
    """Read where nodes are.

    Raises
    ------
    LatencyMapError
        It is no such text.
    """
    reader = csv.DictReader(io.StringIO(text.removeprefix("\ufeff")), strict=True, restkey="", restval="")
    try:
        rows = list(reader)
    except csv.Error as error:
        raise LatencyMapError(f"{source}: expected hosts as CSV: {error}") from None
    if not rows:
        raise LatencyMapError(f"{source}: expected hosts as CSV with a heading name,address, got none")
    return tuple(_host(row, f"{source}, host {number}", device) for number, row in enumerate(rows, 1))


def _host(row: Mapping[str, object], place: str, device: str) -> Host:
    cells = {key.strip(): str(value).strip() for key, value in row.items()}
    if not cells.keys() <= set(COLUMNS) or not cells.get("name") or not cells.get("address"):
        raise LatencyMapError(
            f"{place}: expected name and address, and of {', '.join(COLUMNS[2:])} what is needed,"
            f" got {format_list(key or 'a cell too many' for key in cells)}"
        )
    try:
        return Host(
            name=cells["name"],
            address=cells["address"],
            device=cells.get("device") or device,
            networks=tuple(cells.get("networks", "").split()),
        )
    except LatencyMapError as error:
        raise LatencyMapError(f"{place}: {error}") from None
