"""Where nodes are, as files say it."""

import pytest

from latency_map import LatencyMapError
from latency_map.emulate.hosts import Host, parse_hosts

CSV = """name,address,device,networks
edge1, 10.0.0.1,eth1,
edge2,fd00::2,,10.42.1.0/24 fd42:1::/64
"""
WANTED = (
    Host(name="edge1", address="10.0.0.1", device="eth1"),
    Host(name="edge2", address="fd00::2", device="wlan0", networks=("10.42.1.0/24", "fd42:1::/64")),
)


@pytest.mark.parametrize("text", [CSV, "\ufeff" + CSV], ids=["plain", "with a mark"])
def test_hosts_are_read_from_csv(text):
    assert parse_hosts(text, "hosts", device="wlan0") == WANTED


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "expected hosts as CSV"),
        ("name,address\n", "expected hosts as CSV"),
        ("a,b\n1,2\n", "host 1: expected name and address"),
        ("name,address\nedge1,10.0.0.1,x\n", "a cell too many"),
        ("name,address\nedge1,edge1.local\n", "expected an IPv4 or IPv6 address"),
        ("name,address\nedge1,fe80::1\n", "not bound to a link"),
        ("name,address,networks\nedge1,10.0.0.1,fd00::%x/64\n", "leave out the zone"),
        ("name,address\n../edge,10.0.0.1\n", "expected a name"),
        ("name,address,device\nedge1,10.0.0.1,eth0; reboot\n", "expected a network device"),
    ],
)
def test_what_is_no_file_of_hosts_is_said(text, says):
    with pytest.raises(LatencyMapError, match=says):
        parse_hosts(text, "hosts")
