"""Free ports for servers whose port must be known before they start."""

import secrets
import socket
from pathlib import Path

_MIN_PORT, _TRIES = 12_000, 1000
_EPHEMERAL_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")


def free_port(host: str = "127.0.0.1") -> int:
    """Return a free port below the range of ephemeral ports.

    The system could assign an ephemeral port to another process before the server, which takes seconds to start,
    binds it.

    Raises
    ------
    OSError
        If a thousand random ports are in use, or all ports are ephemeral.
    """
    end = int(_EPHEMERAL_RANGE.read_text("ascii").split()[0])
    error = OSError(f"no free port: all ports from {end} on are ephemeral")
    for _ in range(_TRIES if end > _MIN_PORT else 0):
        port = _MIN_PORT + secrets.randbelow(end - _MIN_PORT)
        try:
            with socket.socket() as probe:
                probe.bind((host, port))
        except OSError as in_use:
            error = in_use
        else:
            return port
    raise error
