"""Delays between the nodes: with the kernel's netem if it has it, otherwise with the relay, a program in C.

With netem the nodes are ports of a bridge, and each delays the packets it sends, as `latency_map.emulate` plans it.
With the relay each node has a TUN device, and the relay forwards each packet after its delay. The relay can change
delays while it runs.
"""

import contextlib
import hashlib
import os
import shutil
import socket
import time
from collections.abc import Iterator
from pathlib import Path

from gesscale.common.errors import Problem
from gesscale.errors import ClusterError
from latency_map.emulate.hosts import Host
from latency_map.emulate.plan import apply_commands, half_us, plan_emulation
from testbed.cluster import processes
from testbed.cluster.commands import run
from testbed.cluster.namespaces import DEVICE, MTU, NAMED, control_device, namespace
from testbed.cluster.state import cache_directory, state_directory
from testbed.cluster.topology import CONTROL_HOST, EdgeNode, Topology

SOURCE = Path(__file__).with_name("relay.c")
START_TIMEOUT_S = 60.0


def has_netem(*, as_user: bool = False) -> bool:
    """Check whether the kernel has netem and htb, by using them in a temporary network namespace."""
    unshare = ("unshare", "--user", "--map-root-user", "--net") if as_user else ("unshare", "--net")
    try:
        for discipline in (("netem", "delay", "1ms"), ("htb",)):
            run((*unshare, "tc", "qdisc", "add", "dev", "lo", "root", *discipline))
    except ClusterError:
        return False
    return True


def netem_commands(topology: Topology) -> tuple[tuple[str, ...], ...]:
    """Return the commands that create the namespaces, the links and the delays.

    A packet is delayed by half the round trip as it leaves its node, unless its target is outside the nodes.
    """
    bridge = control_device(topology.name)
    head = (
        ("ip", "link", "add", bridge, "mtu", str(MTU), "type", "bridge"),
        ("ip", "address", "add", f"{topology.control_address}/24", "dev", bridge),
        ("ip", "link", "set", bridge, "up"),
    )
    links = (command for node in topology.nodes for command in _link(topology.name, bridge, node))
    delays = _netem_delays(topology) if len(topology.nodes) > 1 else ()
    return (*head, *links, *delays)


def _link(cluster: str, bridge: str, node: EdgeNode) -> Iterator[tuple[str, ...]]:
    name, port = namespace(cluster, node.name), f"{bridge[:11]}-{node.host}"
    yield ("ip", "netns", "add", name)
    yield ("ip", "-n", name, "link", "set", "lo", "up")
    yield ("ip", "link", "add", port, "mtu", str(MTU), "type", "veth", "peer", "name", DEVICE, "netns", name)
    yield ("ip", "link", "set", port, "mtu", str(MTU), "master", bridge, "up")
    yield ("ip", "-n", name, "address", "add", f"{node.address}/24", "dev", DEVICE)
    yield ("ip", "-n", name, "link", "set", DEVICE, "mtu", str(MTU), "up")


def _netem_delays(topology: Topology) -> Iterator[tuple[str, ...]]:
    hosts = [Host(name=node.name, address=node.address, device=DEVICE) for node in topology.nodes]
    for node in plan_emulation(topology.map, hosts).nodes:
        for tc, *arguments in apply_commands(node):
            yield (tc, "-n", namespace(topology.name, node.host.name), *arguments)


def compiled_relay() -> Path:
    """Return the relay's program; compile it on the first call for this source.

    Raises
    ------
    ClusterError
        If it has to be compiled, and there is no compiler or the compiler fails.
    """
    program = cache_directory() / f"relay-{hashlib.sha256(SOURCE.read_bytes()).hexdigest()[:16]}"
    if program.exists():
        return program
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        raise ClusterError("relay-compiler-missing")
    program.parent.mkdir(parents=True, exist_ok=True)
    scratch = program.with_name(f"{program.name}.{os.getpid()}")
    try:
        run((compiler, "-O2", "-o", str(scratch), str(SOURCE)), failure=Problem("relay-not-compiled"))
        scratch.replace(program)
    finally:
        scratch.unlink(missing_ok=True)
    return program


def relay_config(topology: Topology) -> str:
    """Return the relay's configuration: devices, and half the round trip for each direction of a pair."""
    lines = [f"node {node.host} {NAMED / namespace(topology.name, node.name)} {DEVICE}" for node in topology.nodes]
    lines.append(f"node {CONTROL_HOST} - {control_device(topology.name)}")
    lines.extend(
        f"delay {first.host} {second.host} {half_us(topology.rtt_ms(first.name, second.name))}"
        for first in topology.nodes
        for second in topology.nodes
        if first.name != second.name
    )
    return "\n".join(lines) + "\n"


def start_relay(topology: Topology) -> None:
    """Start the relay and wait until it responds.

    Raises
    ------
    ClusterError
        If it cannot be compiled, exits, or does not respond in time.
    """
    directory = state_directory(topology.name)
    config, log = directory / "relay.conf", directory / "logs" / "relay.log"
    config.write_text(relay_config(topology), encoding="utf-8")
    process = processes.start(
        (str(compiled_relay()), str(config), str(_socket_path(topology.name))),
        processes.Mark(cluster=str(directory), role=processes.Role.RELAY),
        environment=processes.base_environment(),
        log=log,
    )
    deadline = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline and process in processes.find(str(directory)):
        if relay_answers(topology.name):
            return
        time.sleep(0.05)
    output = log.read_text(encoding="utf-8", errors="replace").strip()
    raise ClusterError("relay-failed", cluster=topology.name, output=output or "empty")


def relay_answers(cluster: str) -> bool:
    """Return whether the relay of a cluster responds."""
    return _ask(cluster, "ping") == "ok"


def set_delay(cluster: str, first: EdgeNode, second: EdgeNode, *, rtt_ms: float) -> None:
    """Change the round trip between two nodes of a running cluster; needs the relay.

    Raises
    ------
    ClusterError
        If the relay rejects it or does not respond.
    """
    for source, target in ((first, second), (second, first)):
        answer = _ask(cluster, f"delay {source.host} {target.host} {round(rtt_ms * 500)}")
        if answer != "ok":
            raise ClusterError(
                "delay-not-applied",
                cluster=cluster,
                first=source.name,
                second=target.name,
                rtt_ms=rtt_ms,
                answer=answer,
            )


def _socket_path(cluster: str) -> Path:
    return state_directory(cluster) / "relay.socket"


def _ask(cluster: str, message: str) -> str:
    """Send the relay a message and return its response, empty without one."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as client:
        client.bind("")  # an address that the kernel picks, for the response
        client.settimeout(1.0)
        client.connect(str(_socket_path(cluster)))
        client.send(message.encode())
        return client.recv(64).decode()
    return ""
