"""A port for a server that is given its port before it starts."""

import secrets
import socket
from pathlib import Path

_LEAST, _TRIES = 12_000, 1000
_FIRST_OF_THE_SYSTEM = Path("/proc/sys/net/ipv4/ip_local_port_range")


def free_port(host: str = "127.0.0.1") -> int:
    """Return a port that nobody listens on, below those that the system gives to whoever asks for any.

    One of those would be given to another before the server, which takes seconds to start, has it.

    Raises
    ------
    OSError
        If a thousand ports in a row are taken, or the system leaves none.
    """
    end = int(_FIRST_OF_THE_SYSTEM.read_text("ascii").split()[0])
    error = OSError(f"the system gives every port from {end} on to whoever asks")
    for _ in range(_TRIES if end > _LEAST else 0):
        port = _LEAST + secrets.randbelow(end - _LEAST)
        try:
            with socket.socket() as probe:
                probe.bind((host, port))
        except OSError as taken:
            error = taken
        else:
            return port
    raise error
