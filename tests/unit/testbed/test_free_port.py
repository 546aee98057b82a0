"""Free ports for servers whose port must be known before they start."""

import socket
from pathlib import Path

import pytest

from testbed import free_port as module
from testbed.free_port import free_port


def test_the_port_is_not_ephemeral_and_can_be_bound() -> None:
    port = free_port()
    with socket.create_server(("127.0.0.1", 0)) as given:
        first = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
        assert port < first <= given.getsockname()[1]
    socket.create_server(("127.0.0.1", port)).close()


def test_a_port_in_use_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    taken, free = 12_345, 12_346
    drawn = iter((taken - 12_000, free - 12_000))
    monkeypatch.setattr(module.secrets, "randbelow", lambda _most: next(drawn))

    class Probe(socket.socket):
        def bind(self, address: tuple[str, int]) -> None:
            if address[1] == taken:
                raise OSError("Address already in use")

    monkeypatch.setattr(module.socket, "socket", Probe)
    assert free_port() == free


def test_a_system_without_other_ports_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "range").write_text("1024\t65535\n")
    monkeypatch.setattr(module, "_EPHEMERAL_RANGE", tmp_path / "range")
    with pytest.raises(OSError, match="1024"):
        free_port()
