"""IP addresses and networks without IPv6 zones; IPv4 written as IPv6 (``::ffff:10.0.0.1``) becomes IPv4.

A zone is free text with a meaning on one machine only: `ipaddress` accepts ``fd00::1%$(reboot)`` as an address.
"""

import ipaddress
from typing import TypeAlias

from latency_map.errors import LatencyMapError

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network

#: The character before the zone of an IPv6 address.
ZONE = "%"

_MAPPED_PREFIX = 96


def parse_address(text: str) -> Address:
    """Parse an address.

    Raises
    ------
    LatencyMapError
        The text is not an address, or has a zone.
    """
    refuse_zone(text)
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        raise LatencyMapError("ip-address-invalid", address=text) from None
    return (address.ipv4_mapped if address.version == 6 else None) or address


def parse_network(text: str) -> Network:
    """Parse a network in CIDR notation.

    Raises
    ------
    LatencyMapError
        The text is not a network, holds all addresses, or has a zone.
    """
    refuse_zone(text)
    try:
        network = ipaddress.ip_network(text)
        mapped = network.network_address.ipv4_mapped if network.version == 6 else None
        if mapped is not None and network.prefixlen >= _MAPPED_PREFIX:
            network = ipaddress.IPv4Network((mapped, network.prefixlen - _MAPPED_PREFIX))
        if not network.prefixlen:
            raise ValueError("it holds all addresses")
    except ValueError as error:
        raise LatencyMapError("network-invalid", network=text, cause=f"{' '.join(str(error).split()):.120}") from None
    return network


def refuse_zone(text: str) -> None:
    """Reject text with an IPv6 zone.

    Raises
    ------
    LatencyMapError
        The text has a zone.
    """
    if ZONE in text:
        raise LatencyMapError("address-zone-refused", address=text)
