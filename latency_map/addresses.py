"""IP addresses and networks without IPv6 zones.

A zone is free text with a meaning on one machine only: `ipaddress` accepts ``fd00::1%$(reboot)`` as an address.
"""

import ipaddress
from typing import TypeAlias

from latency_map.errors import LatencyMapError

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network

#: The character before the zone of an IPv6 address.
ZONE = "%"


def parse_address(text: str) -> Address:
    """Parse an address.

    Raises
    ------
    LatencyMapError
        The text is not an address, or has a zone.
    """
    refuse_zone(text)
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        raise LatencyMapError("ip-address-invalid", address=text) from None


def parse_network(text: str) -> Network:
    """Parse a network in CIDR notation.

    Raises
    ------
    LatencyMapError
        The text is not a network, or has a zone.
    """
    refuse_zone(text)
    try:
        return ipaddress.ip_network(text)
    except ValueError as error:
        raise LatencyMapError("network-invalid", network=text, cause=f"{' '.join(str(error).split()):.120}") from None


def refuse_zone(text: str) -> None:
    """Reject text with an IPv6 zone.

    Raises
    ------
    LatencyMapError
        The text has a zone.
    """
    if ZONE in text:
        raise LatencyMapError("address-zone-refused", address=text)
