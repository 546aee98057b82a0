"""The Python relay's rules; tests/real measures both relays."""

import struct
import threading
from pathlib import Path

import pytest

from testbed.cluster import relay_link
from testbed.cluster.relay import RelayDelays, destination
from testbed.cluster.topology import Topology

MS = 1_000_000


def packet(source: str, target: str) -> bytes:
    def address(text: str) -> bytes:
        return bytes(int(part) for part in text.split("."))

    return struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20, 0, 0, 64, 1, 0, address(source), address(target))


def test_a_packet_is_due_after_the_delay_of_its_pair() -> None:
    delays = RelayDelays()
    assert delays.set_delay("delay 1 2 5000")
    assert delays.due_ns((1, 2), 100 * MS) == 105 * MS
    assert delays.due_ns((2, 1), 100 * MS) == 100 * MS  # the other direction has its own


def test_packets_of_a_pair_never_overtake_each_other() -> None:
    delays = RelayDelays()
    delays.set_delay("delay 1 2 50000")
    assert delays.due_ns((1, 2), 0) == 50 * MS
    delays.set_delay("delay 1 2 1000")
    assert delays.due_ns((1, 2), 10 * MS) == 50 * MS  # not 11: the first is still under way
    assert delays.due_ns((1, 2), 60 * MS) == 61 * MS


@pytest.mark.parametrize(
    "statement",
    [
        "",
        "ping",
        "delay",
        "delay 1 2",
        "delay 1 2 -5",
        "delay 256 1 5",
        "delay 1 2 60000001",
        "delay 1 2 5 6",
        "delay a b c",
    ],
)
def test_nonsense_is_refused(statement: str) -> None:
    delays = RelayDelays()
    assert not delays.set_delay(statement)
    assert delays.ns == {}


def test_only_ipv4_packets_within_the_network_have_a_destination() -> None:
    assert destination(packet("10.77.9.1", "10.77.9.3")) == 3
    assert destination(packet("10.77.9.1", "10.77.8.3")) is None
    assert destination(packet("10.77.9.1", "224.0.0.22")) is None
    assert destination(b"\x60" + packet("10.77.9.1", "10.77.9.3")[1:]) is None  # version 6
    assert destination(packet("10.77.9.1", "10.77.9.3")[:19]) is None


def test_each_direction_has_half_the_round_trip(three: Topology) -> None:
    lines = relay_link.relay_config(three).splitlines()
    assert lines[0] == "node 1 /run/netns/gesscale-three-a edge0"
    assert lines[3] == "node 254 - gs-three"
    # a-b 10 ms, a-c 25 ms, b-c 300 ms round trip
    assert sorted(lines[4:]) == [
        "delay 1 2 5000",
        "delay 1 3 12500",
        "delay 2 1 5000",
        "delay 2 3 150000",
        "delay 3 1 12500",
        "delay 3 2 150000",
    ]


def test_without_a_compiler_there_is_the_python_relay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert relay_link.find_compiler() is None
    assert relay_link.compiled_relay(None) is None
    assert relay_link.relay_command("relay-c")[1:] == ("-m", "testbed.cluster.relay")


@pytest.mark.skipif(relay_link.find_compiler() is None, reason="no C compiler here")
def test_the_relay_is_compiled_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    program = relay_link.compiled_relay(relay_link.find_compiler())
    assert program is not None
    made = program.stat().st_mtime_ns
    assert relay_link.compiled_relay(relay_link.find_compiler()) == program
    assert relay_link.compiled_relay(None) == program  # what is there needs no compiler
    assert program.stat().st_mtime_ns == made
    assert [path.name for path in program.parent.iterdir()] == [program.name]


def test_a_failing_compiler_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(relay_link.ClusterError, match="cannot compile the relay with /bin/false"):
        relay_link.compiled_relay("/bin/false")


def test_a_relay_that_is_not_there_does_not_answer(state_root: Path) -> None:
    assert state_root.name == "state"
    before = set(threading.enumerate())
    assert not relay_link.relay_answers("three")
    assert set(threading.enumerate()) <= before
