"""A port for a server that is given its port before it starts."""

import socket
from pathlib import Path

import pytest

from testbed import free_port as module
from testbed.free_port import free_port


def test_the_system_gives_it_to_nobody_and_a_server_can_take_it() -> None:
    port = free_port()
    with socket.create_server(("127.0.0.1", 0)) as given:
        first = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
        assert port < first <= given.getsockname()[1]
    socket.create_server(("127.0.0.1", port)).close()


def test_one_that_is_taken_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    taken, free = 12_345, 12_346
    drawn = iter((taken - 12_000, free - 12_000))
    monkeypatch.setattr(module.secrets, "randbelow", lambda _most: next(drawn))

    class Probe(socket.socket):
        def bind(self, address: tuple[str, int]) -> None:
            if address[1] == taken:
                raise OSError("Address already in use")

    monkeypatch.setattr(module.socket, "socket", Probe)
    assert free_port() == free


def test_a_system_that_leaves_no_port_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "range").write_text("1024\t65535\n")
    monkeypatch.setattr(module, "_FIRST_OF_THE_SYSTEM", tmp_path / "range")
    with pytest.raises(OSError, match="every port from 1024 on"):
        free_port()
