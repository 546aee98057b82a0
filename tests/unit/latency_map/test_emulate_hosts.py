"""Addresses of nodes from files."""

import pytest
from refusals import refused

from latency_map import LatencyMapError
from latency_map.emulate.hosts import Host, check_hosts, parse_hosts

CSV = """name,address,device,networks
edge1, 10.7.0.1,eth1,
edge2,fd00::2,,10.43.1.0/24 fd42:1::/64
"""
WANTED = (
    Host(name="edge1", address="10.7.0.1", device="eth1"),
    Host(name="edge2", address="fd00::2", device="wlan0", networks=("10.43.1.0/24", "fd42:1::/64")),
)


UNROUTABLE = ("127.0.0.1", "::1", "::ffff:127.0.0.1", "::ffff:0.0.0.0", "::", "224.0.0.1", "ff02::1", "255.255.255.255")
NONE = ("127.0.0.0/8", "224.0.0.0/4", "::ffff:127.0.0.0/104", "fe80::/64", "ff00::/8", "::1/128")


@pytest.mark.parametrize("text", [CSV, "\ufeff" + CSV], ids=["plain", "with a mark"])
def test_hosts_are_read_from_csv(text):
    assert parse_hosts(text, "hosts", device="wlan0") == WANTED


@pytest.mark.parametrize(
    ("text", "code", "place"),
    [
        ("", "hosts-missing", None),
        ("name,address\n", "hosts-missing", None),
        ('name,address\n"edge1"x,10.7.0.1\n', "hosts-csv-invalid", None),
        ("a,b\n1,2\n", "hosts-columns-invalid", "host 1"),
        ("name,address\nedge1,10.7.0.1,x\n", "hosts-columns-invalid", "host 1"),
        ("name,address\nedge1,edge1.local\n", "ip-address-invalid", "host 'edge1'"),
        ("name,address\nedge1,fe80::1\n", "host-address-unroutable", "host 'edge1'"),
        ("name,address,networks\nedge1,10.7.0.1,fd00::%x/64\n", "address-zone-refused", "host 'edge1'"),
        ("name,address,networks\nedge1,10.7.0.1,10.7.0.1/8\n", "network-invalid", "host 'edge1'"),
        *((f"name,address\nedge1,{wrong}\n", "host-address-unroutable", "host 'edge1'") for wrong in UNROUTABLE),
        ("name,address,networks\nedge1,10.7.0.1,0.0.0.0/0\n", "network-invalid", "host 'edge1'"),
        ("name,address,networks\nedge1,10.7.0.1,::/0\n", "network-invalid", "host 'edge1'"),
        ("name,address,networks\nedge1,10.7.0.1,::ffff:0:0/96\n", "network-invalid", "host 'edge1'"),
        *(
            (f"name,address,networks\nedge1,10.7.0.1,{wrong}\n", "host-address-unroutable", "host 'edge1'")
            for wrong in NONE
        ),
        ("name,address,address\nedge1,10.7.0.1,10.7.0.2\n", "hosts-columns-invalid", "heading"),
        ("name,address\n../edge,10.7.0.1\n", "host-name-invalid", "host '../edge'"),
        ("name,address,device\nedge1,10.7.0.1,eth0; reboot\n", "host-device-invalid", "host 'edge1'"),
    ],
)
def test_an_invalid_file_of_hosts_is_refused(text, code, place):
    with refused(code, LatencyMapError, source="hosts", place=place):
        parse_hosts(text, "hosts")


def test_ipv4_written_as_ipv6_is_ipv4():
    host = Host(name="a", address="::ffff:10.9.0.1", networks=("::ffff:10.42.0.0/120", "::ffff:10.9.0.1"))
    # the last 128 - 120 = 8 bits are free, as in 10.42.0.0/24
    assert host.destinations == ("10.9.0.1/32", "10.42.0.0/24")
    with refused("host-address-duplicate", LatencyMapError, got=["10.9.0.1/32"]):
        check_hosts([host, Host(name="b", address="10.9.0.1")])
