import pytest

from latency_map import parse_survey
from latency_map.formats.loading import ImportOptions


def test_an_ipv6_target_is_distinct_from_its_bracketed_address():
    text = "PING ::1(::1) 56 data bytes\n64 bytes from ::1: icmp_seq=1 ttl=64 time=0.191 ms\n"
    survey = parse_survey(text, options=ImportOptions(probed_from="here")).survey
    assert survey.names == ("here", "::1")
    assert survey.rtt_ms[0, 1] == pytest.approx(0.191)
