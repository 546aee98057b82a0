"""Addresses and networks as people and clusters write them: never with an IPv6 zone.

A zone is free text, which means something on one machine only: ``fd00::1%$(reboot)`` is an address to `ipaddress`.
"""

import ipaddress
from typing import TypeAlias

from gesscale.common.text import shortened
from latency_map.errors import LatencyMapError

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network

#: What begins the zone of an IPv6 address.
ZONE = "%"


def parse_address(text: str) -> Address:
    """Read an address.

    Raises
    ------
    LatencyMapError
        It is none, or has a zone.
    """
    try:
        if ZONE not in text:
            return ipaddress.ip_address(text)
    except ValueError:
        pass
    raise LatencyMapError(f"expected an IPv4 or IPv6 address, got {shortened(text)}{zone_hint(text)}")


def parse_network(text: str) -> Network:
    """Read a network in CIDR notation.

    Raises
    ------
    LatencyMapError
        It is none, or has a zone.
    """
    problem = ""
    try:
        if ZONE not in text:
            return ipaddress.ip_network(text)
    except ValueError as error:
        problem = f": {' '.join(str(error).split()):.120}"
    raise LatencyMapError(f"expected a network such as 10.42.1.0/24, got {shortened(text)}{problem}{zone_hint(text)}")


def zone_hint(text: str) -> str:
    """Return what a refusal says where text has a zone; empty where it has none."""
    return f"; leave out the zone, which begins with {ZONE}" if ZONE in text else ""
