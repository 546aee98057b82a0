"""The options of an agent, each also by an environment variable, as a DaemonSet sets them."""

import argparse
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from latency_map.errors import LatencyMapError
from latency_map.kinds import ProbeMethod
from latency_map.measure.peers import AGENT_PORT, parse_peers, split_host_port
from latency_map.measure.sweep import rounds_to_cover
from latency_map.names import find_name_fault

Value = TypeVar("Value")
#: By default figures are kept for so many turns of a pair.
WINDOW_TURNS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentOptions:
    """How an agent measures."""

    #: The name of the node that it is on.
    node: str
    #: Where it serves its figures (host, port).
    host: str
    port: int
    #: Whom it probes: a listing, or the agents behind a name; exactly one is set (peers, peers_dns).
    peers: Mapping[str, str]
    peers_dns: str
    #: How many others it probes in a round.
    neighbours: int
    #: How many probes each of them gets.
    count: int
    #: Budget of probes.
    rate_per_s: float
    #: From the beginning of a round to that of the next.
    round_s: float
    #: How long it waits for each reply.
    timeout_s: float
    #: How long figures are kept; None to derive it from the number of peers.
    window_s: float | None
    #: How round trips are measured (method, probe_port).
    method: ProbeMethod
    probe_port: int

    def longest_round_s(self, nodes: int) -> float:
        """Return how long a round lasts in a cluster of so many nodes, all replies late."""
        probes = min(self.neighbours, nodes - 1) * self.count
        return max(self.round_s, probes / self.rate_per_s + self.timeout_s)

    def turn_s(self, nodes: int) -> float:
        """Return after how many seconds every pair has had its turn, in a cluster of so many nodes."""
        return self.longest_round_s(nodes) * rounds_to_cover(nodes, self.neighbours)

    def kept_s(self, nodes: int) -> float:
        """Return how long figures are kept in a cluster of so many nodes."""
        return self.window_s if self.window_s is not None else WINDOW_TURNS * self.turn_s(nodes)


class _Option(NamedTuple):
    flag: str
    field: str
    read: Callable[[str], object]
    default: str | None
    text: str

    @property
    def variable(self) -> str:
        """The environment variable that it may come from."""
        name = "PROBE_PORT" if self.flag == "--port" else self.flag.removeprefix("--")
        return "GESSCALE_" + name.upper().replace("-", "_")


def _number(low: float, high: float, what: str) -> Callable[[str], float]:
    def read(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not low <= value <= high:
            raise argparse.ArgumentTypeError(f"expected {what} from {low:g} to {high:g}, got {text!r}")
        return value

    return read


def _whole(low: int, high: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        if not text.isdecimal() or not low <= int(text) <= high:
            raise argparse.ArgumentTypeError(f"expected a whole number from {low} to {high}, got {text!r}")
        return int(text)

    return read


def _seconds(text: str) -> float:
    """Read seconds, with or without the letter s behind them."""
    return _number(0.01, 1e7, "seconds")(text.removesuffix("s"))


def _name(text: str) -> str:
    fault = find_name_fault([text])
    if fault:
        raise argparse.ArgumentTypeError(fault[1])
    return text


def _refusing(read: Callable[[str], Value]) -> Callable[[str], Value]:
    """Let argparse see the errors of a reader."""

    def refusing(text: str) -> Value:
        try:
            return read(text)
        except LatencyMapError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return refusing


def _method(text: str) -> ProbeMethod:
    if text not in list(ProbeMethod):
        raise argparse.ArgumentTypeError(f"expected {', '.join(ProbeMethod)}, got {text!r}")
    return ProbeMethod(text)


_OPTIONS = (
    _Option("--node", "node", _name, None, "name of the node it is on"),
    _Option(
        "--listen", "listen", _refusing(split_host_port), f"0.0.0.0:{AGENT_PORT}",
        "where its figures are served: HOST:PORT, an IPv6 address in brackets",
    ),
    _Option("--peers", "peers", _refusing(parse_peers), "", "whom it probes: name=address, by commas or lines"),
    _Option(
        "--peers-dns", "peers_dns", str, "",
        "a name that stands for the addresses of all agents, such as a headless service: NAME or NAME:PORT",
    ),
    _Option(
        "--neighbours", "neighbours", _whole(1, 5000), "10", "how many others it probes in a round; each in its turn"
    ),
    _Option("--count", "count", _whole(1, 100), "5", "probes that each of them gets in a round"),
    _Option(
        "--rate", "rate_per_s", _number(0.01, 50, "probes a second"), "5",
        "most probes a second; each is 84 bytes each way, by ICMP over IPv4",
    ),
    _Option("--round", "round_s", _seconds, "30", "seconds from the beginning of a round to that of the next"),
    _Option("--timeout", "timeout_s", _number(0.01, 5, "seconds"), "2", "seconds to wait for a reply"),
    _Option(
        "--window", "window_s", _seconds, None,
        f"seconds that figures are kept; as long as every pair takes for {WINDOW_TURNS} turns by default",
    ),
    _Option("--method", "method", _method, "auto", "icmp, tcp, or auto: icmp where it is allowed"),
    _Option(
        "--port", "probe_port", _whole(1, 65535), None, "port for tcp, open or closed; that of --listen by default"
    ),
)  # fmt: skip

FLAGS = tuple(option.flag for option in _OPTIONS)
VARIABLES = tuple(option.variable for option in _OPTIONS)


def read_options(
    arguments: Sequence[str], environment: Mapping[str, str], *, program: str = "latency-agent"
) -> AgentOptions:
    """Read the options of an agent; wrong ones end the process with exit code 2 and a line on stderr."""
    parser = argparse.ArgumentParser(
        prog=program,
        description="Measures round trips to other nodes and serves them to Prometheus.",
        epilog="Every option may be given by the environment variable that is named with it.",
    )
    for option in _OPTIONS:
        suffix = f" (default {option.default})" if option.default else ""
        parser.add_argument(
            option.flag,
            type=option.read,
            default=environment.get(option.variable) or option.default,
            metavar=option.flag.removeprefix("--").upper(),
            dest=option.field,
            help=f"{option.text}{suffix}; {option.variable}".replace("%", "%%"),
        )
    given = vars(parser.parse_args(arguments))
    if not given["node"]:
        parser.error("expected the name of the node: --node NAME or GESSCALE_NODE, got none")
    if bool(given["peers"]) == bool(given["peers_dns"]):
        parser.error(f"expected one of --peers and --peers-dns, got {'both' if given['peers'] else 'none'}")
    host, port = given.pop("listen")
    given["probe_port"] = given["probe_port"] or port or AGENT_PORT
    return AgentOptions(host=host, port=port, **given)
