import pytest

from latency_map import parse_survey
from latency_map.formats.loading import SideFiles
from latency_map.formats.ping_text import ping_replies

# iputils 20221126 and busybox 1.35, one after the other
OUTPUT = """\
PING 10.0.0.2 (10.0.0.2) 56(84) bytes of data.
64 bytes from 10.0.0.2: icmp_seq=1 ttl=64 time=20.3 ms
64 bytes from 10.0.0.2: icmp_seq=3 ttl=64 time=21 ms
64 bytes from 10.0.0.2: icmp_seq=3 ttl=64 time=29 ms (DUP!)

--- 10.0.0.2 ping statistics ---
3 packets transmitted, 2 received, 33.3333% packet loss, time 2004ms
rtt min/avg/max/mdev = 20.300/20.650/21.000/0.350 ms
PING 10.0.0.3 (10.0.0.3): 56 data bytes
64 bytes from 10.0.0.3: seq=0 ttl=64 time=0.078 ms

--- 10.0.0.3 ping statistics ---
3 packets transmitted, 1 packets received, 66% packet loss
round-trip min/avg/max = 0.078/0.078/0.078 ms
PING fd00::4(fd00::4) 56 data bytes
From fd00::1 icmp_seq=1 Destination unreachable: Address unreachable
"""


def test_every_reply_is_read_by_target():
    assert ping_replies(OUTPUT) == {"10.0.0.2": [20.3, 21.0], "10.0.0.3": [0.078], "fd00::4": []}


def test_a_target_of_ipv6_is_told_from_its_address_in_brackets():
    text = "PING ::1(::1) 56 data bytes\n64 bytes from ::1: icmp_seq=1 ttl=64 time=0.191 ms\n"
    survey = parse_survey(text, side_files=SideFiles(probed_from="here")).survey
    assert survey.names == ("here", "::1")
    assert survey.rtt_ms[0, 1] == pytest.approx(0.191)
