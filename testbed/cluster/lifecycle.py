"""Lifecycle of a cluster: bring it up, inspect it, and take it down without leftovers."""

import ipaddress
import json
from dataclasses import dataclass

from gesscale.errors import ClusterError
from testbed.cluster import delays, namespaces, processes, state
from testbed.cluster.commands import run
from testbed.cluster.delay_backend import DelayBackend
from testbed.cluster.topology import Topology


@dataclass(frozen=True, slots=True, kw_only=True)
class Removed:
    """Counts of the parts of a cluster that were removed."""

    processes: int
    network_parts: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterStatus:
    """Current state of a cluster.

    Attributes
    ----------
    problem: the reason why it is unhealthy; empty if it is healthy
    running: the processes that it started
    """

    topology: Topology
    delays: DelayBackend
    problem: str
    running: tuple[processes.Process, ...]


def up(topology: Topology, *, delays_by: DelayBackend = DelayBackend.AUTO) -> bool:
    """Bring a cluster up, after removing leftovers of an earlier one of its name; return False if it was up.

    Raises
    ------
    ClusterError
        If it cannot be built; everything is cleaned up.
    """
    with state.locked():
        if _is_up(topology, delays_by):
            return False
        _remove(topology.name)
        _require_free_subnet(topology)
        try:
            _build(topology, delays_by)
        except BaseException:
            _remove(topology.name)
            raise
    return True


def status(name: str) -> ClusterStatus:
    """Return the current state of a cluster.

    Raises
    ------
    ClusterError
        If it is not up.
    """
    record, topology = state.load(name)
    problem = ""
    if not record.complete:
        problem = "its start did not complete"
    elif not namespaces.intact(topology):
        problem = "a network namespace or the outside device is missing"
    elif record.delays == DelayBackend.RELAY_C and not delays.relay_answers(name):
        problem = "the relay does not answer"
    running = processes.find(str(state.state_directory(name)))
    return ClusterStatus(
        topology=topology,
        delays=DelayBackend(record.delays),
        problem=problem,
        running=tuple(process for process in running if process.started),
    )


def down(name: str) -> Removed:
    """Take a cluster down, or remove what a crash left of it; no error if there is nothing.

    Raises
    ------
    ClusterError
        If something cannot be removed.
    """
    with state.locked():
        return _remove(name)


def _is_up(topology: Topology, requested: DelayBackend) -> bool:
    try:
        present = status(topology.name)
    except ClusterError:
        return False
    return not present.problem and present.topology == topology and requested in (DelayBackend.AUTO, present.delays)


def _build(topology: Topology, kind: DelayBackend) -> None:
    if kind is DelayBackend.AUTO:
        kind = DelayBackend.NETEM if delays.has_netem() else DelayBackend.RELAY_C
    by_relay = kind is DelayBackend.RELAY_C
    state.save(state.ClusterRecord(delays=kind.value, complete=False), topology)
    for command in namespaces.tun_commands(topology) if by_relay else delays.netem_commands(topology):
        run(command)
    if by_relay:
        delays.start_relay(topology)
    state.save(state.ClusterRecord(delays=kind.value, complete=True), topology)


def _remove(name: str) -> Removed:
    ended = processes.stop_all(str(state.state_directory(name)))
    parts = namespaces.delete(name)
    state.forget(name)
    return Removed(processes=ended, network_parts=parts)


def _require_free_subnet(topology: Topology) -> None:
    for device in json.loads(run(("ip", "-j", "-4", "address", "show"))):
        for address in device.get("addr_info", ()):
            if ipaddress.IPv4Address(address["local"]) in topology.subnet:
                raise ClusterError(
                    "subnet-in-use",
                    topology=topology.name,
                    subnet=str(topology.subnet),
                    device=device["ifname"],
                    address=address["local"],
                )
