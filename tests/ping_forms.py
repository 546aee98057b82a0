"""Outputs of ping as its versions write them, for replies in milliseconds; None is a lost probe."""

from collections.abc import Sequence
from statistics import fmean

Replies = Sequence[float | None]


def iputils(replies: Replies, *, time: str = "time", words: str = "bytes from", comma: bool = False) -> str:
    """Iputils writes three significant digits below 100 ms and whole milliseconds from there on."""
    lines = ["PING edge2 (10.0.0.2) 56(84) bytes of data."]
    for number, delay in enumerate(replies, 1):
        if delay is not None:
            lines.append(f"64 {words} edge2 (10.0.0.2): icmp_seq={number} ttl=64 {time}={_digits(delay)} ms")
    lines += ["", "--- edge2 ping statistics ---", _counts(replies, "received"), *_summary("rtt", replies, "/mdev")]
    return _with_comma("\n".join(lines) + "\n", comma)


def busybox(replies: Replies, *, comma: bool = False) -> str:
    """Busybox, inetutils, macOS and the BSDs write three decimals."""
    lines = ["PING edge2 (10.0.0.2): 56 data bytes"]
    for number, delay in enumerate(replies):
        shown = "Request timeout for icmp_seq" if delay is None else "64 bytes from 10.0.0.2: icmp_seq"
        lines.append(f"{shown} {number}" if delay is None else f"{shown}={number} ttl=64 time={delay:.3f} ms")
    lines += [
        "--- edge2 ping statistics ---",
        _counts(replies, "packets received"),
        *_summary("round-trip", replies, ""),
    ]
    return _with_comma("\n".join(lines) + "\n", comma)


def ping6(replies: Replies) -> str:
    """``ping6`` of macOS begins with the addresses; the name is in the summary."""
    lines = ["PING6(56=40+8+8 bytes) fd00::1 --> fd00::2"]
    for number, delay in enumerate(replies):
        if delay is not None:
            lines.append(f"16 bytes from fd00::2, icmp_seq={number} hlim=64 time={delay:.3f} ms")
    lines += ["", "--- edge2 ping6 statistics ---", _counts(replies, "packets received")]
    return "\n".join([*lines, *_summary("round-trip", replies, "/std-dev")]) + "\n"


def windows(replies: Replies, *, words: Sequence[str] = ("Pinging", "with", "Reply from", "bytes", "time")) -> str:
    """Windows writes whole milliseconds, rounded down, and ``<1ms``."""
    ping, using, reply, size, time = words
    known = [int(delay) for delay in replies if delay is not None]
    lines = ["", f"{ping} edge2 [10.0.0.2] {using} 32 bytes of data:"]
    for delay in replies:
        shown = "<1" if delay is not None and delay < 1 else f"={int(delay or 0)}"
        lines.append("Request timed out." if delay is None else f"{reply} 10.0.0.2: {size}=32 {time}{shown}ms TTL=54")
    sent, received = len(replies), len(known)
    lines += [
        "",
        "Ping statistics for 10.0.0.2:",
        f"    Packets: Sent = {sent}, Received = {received}, Lost = {sent - received} (0% loss),",
    ]
    if known:
        mean = int(fmean(known))
        lines += ["Approximate round trip times in milli-seconds:"]
        lines += [f"    Minimum = {min(known)}ms, Maximum = {max(known)}ms, Average = {mean}ms"]
    return "\r\n".join(lines) + "\r\n"


def fping(replies: Replies) -> str:
    """``fping -c``."""
    lines = []
    for number, delay in enumerate(replies):
        shown = "timed out" if delay is None else f"64 bytes, {_digits(delay)} ms"
        lines.append(f"edge2 : [{number}], {shown} (0 avg, 0% loss)")
    known = [delay for delay in replies if delay is not None]
    summary = f", min/avg/max = {_digits(min(known))}/{_digits(fmean(known))}/{_digits(max(known))}" if known else ""
    return "\n".join([*lines, "", f"edge2 : xmt/rcv/%loss = {len(replies)}/{len(known)}/0%{summary}"]) + "\n"


def _digits(delay: float) -> str:
    return (
        f"{delay:.3f}"
        if delay < 1
        else f"{delay:.2f}"
        if delay < 10
        else f"{delay:.1f}"
        if delay < 100
        else f"{delay:.0f}"
    )


def _counts(replies: Replies, received: str) -> str:
    count = sum(delay is not None for delay in replies)
    return f"{len(replies)} packets transmitted, {count} {received}, {100 - 100 * count // len(replies)}% packet loss"


def _summary(head: str, replies: Replies, last: str) -> list[str]:
    known = [delay for delay in replies if delay is not None]
    if not known:
        return []
    return [
        f"{head} min/avg/max{last} = {min(known):.3f}/{fmean(known):.3f}/{max(known):.3f}{'/0.1' if last else ''} ms"
    ]


def _with_comma(text: str, comma: bool) -> str:
    return text.replace(".", ",").replace("10,0,0,2", "10.0.0.2").replace("data,", "data.") if comma else text
