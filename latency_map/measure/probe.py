"""Measured round trips by ICMP echo, one at a time, with ping3's three answers distinguished.

``python -m latency_map.measure.probe ADDRESS... --count K`` writes one JSON line per echo, so that a test bed can run
it inside a network namespace and a person can read it. Imports nothing heavy.

A reply is matched by identifier and sequence number. ping3 derives the identifier from process and thread. The
sequence numbers here start at the process id and count on. So a late reply is not taken for the next one, and another
prober's reply not for ours.
"""

import argparse
import json
import math
import os
import socket
import struct
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

_SEQUENCE_NUMBERS = 1 << 16
_MAX_COUNT = 1000
_MAX_TIMEOUT_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """An answer came after ``rtt_ms``."""

    rtt_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeout:
    """No answer came within ``timeout_s``: lost, filtered or late."""

    timeout_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownHost:
    """The address is no IP address and no name that resolves to one."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreachable:
    """The echo could not be sent, or came back as undeliverable."""

    reason: str


RttSample: TypeAlias = Reply | Timeout | UnknownHost | Unreachable

_ANSWERS = {Reply: "reply", Timeout: "timeout", UnknownHost: "unknown_host", Unreachable: "unreachable"}


def ping_rtt_ms(address: str, *, timeout_s: float, sequence: int = 0) -> RttSample:
    """Measure one round trip.

    Parameters
    ----------
    address
        An IP address, or a name, which is resolved before the clock starts.
    timeout_s
        How long to wait for the reply, positive.
    sequence
        ICMP sequence number, 0 to 65535; use another one for every echo of a process.

    Returns
    -------
    RttSample
        The round trip, or why there is none.

    Raises
    ------
    PermissionError
        This process may not send ICMP echoes at all.
    """
    import ping3

    try:
        numeric = resolve(address)
    except (OSError, ValueError) as error:
        return UnknownHost(reason=f"{address!r} does not resolve: {error}")
    try:
        answer = ping3.ping(numeric, timeout=timeout_s, unit="ms", seq=sequence)
    except PermissionError as error:
        message = (
            f"expected to be allowed to send ICMP echoes to {address}, got: {error}; run as root, grant"
            " CAP_NET_RAW, or widen the sysctl net.ipv4.ping_group_range"
        )
        raise PermissionError(message) from None
    except (OSError, struct.error) as error:
        return Unreachable(reason=str(error))
    return interpret(answer, timeout_s=timeout_s)


def resolve(address: str) -> str:
    """Return the IP address, version 4 or 6, that a name stands for.

    Parameters
    ----------
    address
        A name, or an IP address, which stands for itself.

    Returns
    -------
    str
        The first address that the system gives.

    Raises
    ------
    OSError, ValueError
        There is none.
    """
    return str(socket.getaddrinfo(address, None, type=socket.SOCK_DGRAM)[0][4][0])


def interpret(answer: float | bool | None, *, timeout_s: float) -> RttSample:
    """Tell apart what ping3 answers for an address that resolves.

    Parameters
    ----------
    answer
        Milliseconds; None where nothing came in time; False where the network refused to deliver. A reply
        after 0 ms equals False and is a reply.
    timeout_s
        How long was waited.

    Returns
    -------
    RttSample
        What it means.
    """
    if answer is None:
        return Timeout(timeout_s=timeout_s)
    if answer is False:
        return Unreachable(reason="the network answered that the address cannot be reached")
    if not math.isfinite(answer) or answer < 0:
        return Unreachable(
            reason=f"expected a round trip of at least 0 ms, got {answer} ms: the clock was set back"
        )
    return Reply(rtt_ms=float(answer))


def probe(
    addresses: Sequence[str], *, count: int, timeout_s: float, interval_s: float, first_sequence: int
) -> Iterator[tuple[str, int, RttSample]]:
    """Measure round trips in rounds, every address once per round, one echo at a time.

    Parameters
    ----------
    addresses
        Whom to ask.
    count
        How many rounds.
    timeout_s
        How long to wait for each reply.
    interval_s
        Pause between rounds.
    first_sequence
        ICMP sequence number of the first echo; the others follow.

    Yields
    ------
    tuple of str, int and RttSample
        Address, sequence number and what came.

    Raises
    ------
    PermissionError
        This process may not send ICMP echoes at all.
    """
    sequence = first_sequence % _SEQUENCE_NUMBERS
    for each_round in range(count):
        if each_round:
            time.sleep(interval_s)
        for address in addresses:
            yield address, sequence, ping_rtt_ms(address, timeout_s=timeout_s, sequence=sequence)
            sequence = (sequence + 1) % _SEQUENCE_NUMBERS


def main(arguments: Sequence[str] | None = None) -> int:
    """Probe addresses and write a JSON line per echo.

    The lines have ``address``, ``sequence``, ``answer`` (reply, timeout, unknown_host, unreachable),
    ``rtt_ms`` (null without a reply) and ``reason`` (null with one).

    Parameters
    ----------
    arguments
        The command line; that of the process by default.

    Returns
    -------
    int
        0 where every echo was tried, whatever came; 1 where this process cannot send any.
    """
    parser = argparse.ArgumentParser(
        prog="python -m latency_map.measure.probe", description="Round trips as JSON lines."
    )
    parser.add_argument("address", nargs="+", help="IP address or name")
    parser.add_argument("--count", type=_count, default=3, help="echoes per address (default 3)")
    parser.add_argument(
        "--timeout", type=_seconds, default=2.0, help="seconds to wait for a reply (default 2)"
    )
    parser.add_argument("--interval", type=_seconds, default=0.1, help="seconds between rounds (default 0.1)")
    options = parser.parse_args(arguments)
    try:
        for address, sequence, sample in probe(
            options.address,
            count=options.count,
            timeout_s=options.timeout,
            interval_s=options.interval,
            first_sequence=os.getpid(),
        ):
            sys.stdout.write(json.dumps(_line(address, sequence, sample)) + "\n")
            sys.stdout.flush()
    except (PermissionError, ImportError) as error:
        hint = "; pip install ping3 (the extra controller has it)" if isinstance(error, ImportError) else ""
        sys.stderr.write(f"{parser.prog}: {error}{hint}\n")
        return 1
    return 0


def _line(address: str, sequence: int, sample: RttSample) -> dict[str, object]:
    rtt_ms: float | None = None
    reason: str | None = None
    match sample:
        case Reply():
            rtt_ms = sample.rtt_ms
        case Timeout():
            reason = f"no reply within {sample.timeout_s:g} s"
        case UnknownHost() | Unreachable():
            reason = sample.reason
    answer = _ANSWERS[type(sample)]
    return {"address": address, "sequence": sequence, "answer": answer, "rtt_ms": rtt_ms, "reason": reason}


def _count(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= _MAX_COUNT:
        message = f"expected a whole number from 1 to {_MAX_COUNT}, got {text!r}"
        raise argparse.ArgumentTypeError(message)
    return int(text)


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value <= _MAX_TIMEOUT_S:
        message = f"expected seconds above 0 and up to {_MAX_TIMEOUT_S:g}, got {text!r}"
        raise argparse.ArgumentTypeError(message)
    return value


if __name__ == "__main__":
    sys.exit(main())
