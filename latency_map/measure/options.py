"""Options of an agent, from the command line or from environment variables, as a DaemonSet sets them."""

import argparse
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Never

from gesscale.common.errors import Problem
from latency_map.errors import LatencyMapError, error_of
from latency_map.kinds import ProbeMethod, member
from latency_map.measure.peers import AGENT_PORT, parse_peers, split_host_port
from latency_map.measure.sweep import rounds_to_cover
from latency_map.names import find_name_fault

#: Default window of the figures, in turns of a pair.
WINDOW_TURNS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentOptions:
    """Options of an agent."""

    #: Name of its node.
    node: str
    #: Address of its metrics (host, port).
    host: str
    port: int
    #: The nodes to probe, or the DNS name of all agents; exactly one is set (peers, peers_dns).
    peers: Mapping[str, str]
    peers_dns: str
    #: Number of nodes that it probes in a round.
    neighbours: int
    #: Number of probes for each of them.
    count: int
    #: Largest number of probes per second.
    rate_per_s: float
    #: Time from the start of a round to that of the next.
    round_s: float
    #: Time to wait for a reply.
    timeout_s: float
    #: Window of the figures; None to derive it from the number of peers.
    window_s: float | None
    #: Protocol of the probes, and the port for TCP (method, probe_port).
    method: ProbeMethod
    probe_port: int

    def max_round_s(self, nodes: int) -> float:
        """Return the longest duration of a round for a number of nodes, if all replies are late."""
        probes = min(self.neighbours, nodes - 1) * self.count
        return max(self.round_s, probes / self.rate_per_s + self.timeout_s)

    def turn_s(self, nodes: int) -> float:
        """Return the seconds in which every pair has its turn, for a number of nodes."""
        return self.max_round_s(nodes) * rounds_to_cover(nodes, self.neighbours)

    def kept_s(self, nodes: int) -> float:
        """Return the window of the figures for a number of nodes."""
        return self.window_s if self.window_s is not None else WINDOW_TURNS * self.turn_s(nodes)


class _Option(NamedTuple):
    flag: str
    field: str
    read: Callable[[str], object]
    default: str | None
    text: str

    @property
    def variable(self) -> str:
        """The environment variable of this option."""
        name = "PROBE_PORT" if self.flag == "--port" else self.flag.removeprefix("--")
        return "GESSCALE_" + name.upper().replace("-", "_")


def _number(low: float, high: float) -> Callable[[str], float]:
    def read(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not low <= value <= high:
            raise LatencyMapError("agent-number-invalid", low=low, high=high, got=text)
        return value

    return read


def _whole(low: int, high: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        if not text.isdecimal() or not low <= int(text) <= high:
            raise LatencyMapError("agent-integer-invalid", low=low, high=high, got=text)
        return int(text)

    return read


def _seconds(text: str) -> float:
    """Parse seconds, with or without the unit s."""
    return _number(0.01, 1e7)(text.removesuffix("s"))


def _name(text: str) -> str:
    if fault := find_name_fault([text]):
        raise error_of(fault[1])
    return text


_OPTIONS = (
    _Option("--node", "node", _name, None, "name of its node"),
    _Option(
        "--listen", "listen", split_host_port, f"0.0.0.0:{AGENT_PORT}",
        "address of its metrics: HOST:PORT, an IPv6 address in brackets",
    ),
    _Option("--peers", "peers", parse_peers, "", "nodes to probe: name=address, separated by commas or line ends"),
    _Option(
        "--peers-dns", "peers_dns", str, "",
        "DNS name with the addresses of all agents, such as a headless Service: NAME or NAME:PORT",
    ),
    _Option(
        "--neighbours", "neighbours", _whole(1, 5000), "10", "nodes that it probes in a round, each in turn"
    ),
    _Option("--count", "count", _whole(1, 100), "5", "probes for each of them in a round"),
    _Option(
        "--rate", "rate_per_s", _number(0.01, 50), "5",
        "largest number of probes per second; each is 84 bytes each way, by ICMP over IPv4",
    ),
    _Option("--round", "round_s", _seconds, "30", "seconds from the start of a round to that of the next"),
    _Option("--timeout", "timeout_s", _number(0.01, 5), "2", "seconds to wait for a reply"),
    _Option(
        "--window", "window_s", _seconds, None,
        f"window of the figures in seconds; by default the time of {WINDOW_TURNS} turns of every pair",
    ),
    _Option("--method", "method", partial(member, ProbeMethod), "auto", "icmp, tcp, or auto: icmp if it is permitted"),
    _Option(
        "--port", "probe_port", _whole(1, 65535), None, "port for tcp, open or closed; by default that of --listen"
    ),
)  # fmt: skip

FLAGS = tuple(option.flag for option in _OPTIONS)
VARIABLES = tuple(option.variable for option in _OPTIONS)


class _Parser(argparse.ArgumentParser):
    """A parser that reports errors with their code."""

    def error(self, message: str) -> Never:
        _end(Problem("agent-usage-invalid", {"cause": message, "command": self.prog}))


def _end(*problems: Problem) -> Never:
    """Report problems and exit with code 2."""
    for problem in problems:
        sys.stderr.write(f"error[{problem.code}]: {problem}\n")
    sys.exit(2)


def _parsed(texts: Mapping[str, str | None]) -> dict[str, Any]:
    """Convert the texts of options; exit if one is invalid."""
    values: dict[str, Any] = dict(texts)
    for option in _OPTIONS:
        text = texts[option.field]
        try:
            values[option.field] = option.read(text) if text else text
        except LatencyMapError as error:
            _end(error_of(*error.problems, source=option.flag).problem)
    if not values["node"]:
        _end(Problem("agent-node-missing"))
    if bool(values["peers"]) == bool(values["peers_dns"]):
        _end(Problem("agent-peers-ambiguous", {"got": "both" if values["peers"] else "none"}))
    return values


def read_options(
    arguments: Sequence[str], environment: Mapping[str, str], *, program: str = "latency-agent"
) -> AgentOptions:
    """Parse the options of an agent; on an invalid one print an error and exit with code 2."""
    parser = _Parser(
        prog=program,
        description="Measures round trips to other nodes and serves them to Prometheus.",
        epilog="Each option can be set by its environment variable instead.",
    )
    for option in _OPTIONS:
        suffix = f" (default {option.default})" if option.default else ""
        parser.add_argument(
            option.flag,
            default=environment.get(option.variable) or option.default,
            metavar=option.flag.removeprefix("--").upper(),
            dest=option.field,
            help=f"{option.text}{suffix}; {option.variable}".replace("%", "%%"),
        )
    given = _parsed(vars(parser.parse_args(arguments)))
    host, port = given.pop("listen")
    given["probe_port"] = given["probe_port"] or port or AGENT_PORT
    return AgentOptions(host=host, port=port, **given)
