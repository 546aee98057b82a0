"""The relay in Python, for machines without a C compiler; relay.c explains its arguments and messages.

Run as ``python -m testbed.cluster.relay CONFIG SOCKET``.
"""

import contextlib
import ctypes
import fcntl
import heapq
import os
import select
import socket
import struct
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

MTU = 9000
MAX_QUEUED = 1 << 14
MAX_DELAY_US = 60_000_000
READS_PER_TURN = 32
_TUNSETIFF = 0x400454CA
_IFF_TUN_NO_PI = 0x1001
_CLONE_NEWNET = 0x40000000


@dataclass(slots=True)
class RelayDelays:
    """When packets are due: the delay of their pair, and never before an earlier packet of that pair.

    Attributes
    ----------
    ns
        One way delay by (from, to), nanoseconds; 0 where absent.
    """

    ns: dict[tuple[int, int], int] = field(default_factory=dict)
    _last_due_ns: dict[tuple[int, int], int] = field(default_factory=dict)

    def due_ns(self, pair: tuple[int, int], now_ns: int) -> int:
        """Return when a packet that comes now is to be delivered."""
        due = max(now_ns + self.ns.get(pair, 0), self._last_due_ns.get(pair, 0))
        self._last_due_ns[pair] = due
        return due

    def set_delay(self, statement: str) -> bool:
        """Carry out ``delay FROM TO MICROSECONDS``; return False where it is not that."""
        match statement.split():
            case ["delay", first, second, us] if first.isdecimal() and second.isdecimal() and us.isdecimal():
                if max(int(first), int(second)) > 255 or int(us) > MAX_DELAY_US:
                    return False
                self.ns[int(first), int(second)] = int(us) * 1000
                return True
        return False


def destination(packet: bytes) -> int | None:
    """Return the host byte an IPv4 packet is for; None where it is not for a node of its sender's network."""
    if len(packet) < 20 or packet[0] >> 4 != 4 or packet[12:15] != packet[16:19]:
        return None
    return packet[19]


def _open_device(namespace: str, name: str) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    home = os.open("/proc/self/ns/net", os.O_RDONLY)
    there = os.open(namespace, os.O_RDONLY) if namespace != "-" else os.dup(home)
    try:
        if libc.setns(there, _CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), namespace)
        device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        fcntl.ioctl(device, _TUNSETIFF, struct.pack("16sH22x", name.encode(), _IFF_TUN_NO_PI))
        return device
    finally:
        libc.setns(home, _CLONE_NEWNET)
        os.close(home)
        os.close(there)


def _configure(config: Path, delays: RelayDelays) -> dict[int, int]:
    devices: dict[int, int] = {}
    for line in config.read_text(encoding="utf-8").splitlines():
        match line.split():
            case ["node", host, namespace, name]:
                devices[int(host)] = _open_device(namespace, name)
            case _ if not delays.set_delay(line):
                message = f"relay: expected 'node ...' or 'delay ...' in {config}, got {line!r}"
                raise SystemExit(message)
    return devices


def _answer(control: socket.socket, delays: RelayDelays) -> None:
    message, peer = control.recvfrom(128)
    text = message.decode(errors="replace")
    answer = b"ok" if text == "ping" or delays.set_delay(text) else b"refused"
    if peer:
        with contextlib.suppress(OSError):
            control.sendto(answer, peer)


def _read(device: int) -> bytes | None:
    """Return the next packet, nothing where there is none, None where the device's namespace is gone."""
    try:
        return os.read(device, MTU)
    except BlockingIOError:
        return b""
    except OSError:
        return None


def _deliver(device: int, packet: bytes) -> None:
    with contextlib.suppress(OSError):  # a full device drops, as a link does
        os.write(device, packet)


def relay(
    devices: dict[int, int], delays: RelayDelays, control: socket.socket, now_ns: Callable[[], int]
) -> None:
    """Carry packets until the process is ended.

    Parameters
    ----------
    devices
        Open TUN device by host byte.
    delays
        Delays of the pairs; changed by what `control` receives.
    control
        Bound unix datagram socket.
    now_ns
        A monotonic clock, nanoseconds.
    """
    hosts = {device: host for host, device in devices.items()}
    queue: list[tuple[int, int, int, bytes]] = []
    arrivals = 0
    while True:
        wait_s = max(0.0, (queue[0][0] - now_ns()) / 1e9) if queue else None
        # select, as epoll rounds its timeout up to whole milliseconds
        for fd in select.select([*hosts, control.fileno()], (), (), wait_s)[0]:
            if fd == control.fileno():
                _answer(control, delays)
                continue
            for _ in range(READS_PER_TURN):
                packet = _read(fd)
                if packet is None:
                    del hosts[fd]
                if not packet:
                    break
                to = destination(packet)
                if to in devices and len(queue) < MAX_QUEUED:
                    arrivals += 1
                    due = delays.due_ns((hosts[fd], to), now_ns())
                    heapq.heappush(queue, (due, arrivals, to, packet))
        while queue and queue[0][0] <= now_ns():
            _, _, to, packet = heapq.heappop(queue)
            _deliver(devices[to], packet)


def main() -> None:
    """Run the relay: CONFIG and SOCKET are the arguments."""
    config, path = Path(sys.argv[1]), Path(sys.argv[2])
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, -20)
    delays = RelayDelays()
    devices = _configure(config, delays)
    path.unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as control:
        control.bind(str(path))
        relay(devices, delays, control, time.monotonic_ns)


if __name__ == "__main__":
    main()
