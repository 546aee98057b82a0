"""Bringing a cluster up, looking at it, and taking it down so that nothing stays behind."""

import ipaddress
import json
import os
from dataclasses import dataclass

from gesscale.errors import ClusterError
from testbed.cluster import namespaces, processes, relay_link, state
from testbed.cluster.commands import run
from testbed.cluster.delay_backend import DelayBackend
from testbed.cluster.netem import has_netem, netem_commands
from testbed.cluster.privilege import TUN
from testbed.cluster.topology import Topology


@dataclass(frozen=True, slots=True, kw_only=True)
class Swept:
    """What was found of a cluster and removed."""

    processes: int
    network_parts: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterStatus:
    """A cluster as it is now.

    Attributes
    ----------
    problem
        What is wrong with it; empty where nothing is.
    running
        The processes that it started.
    """

    topology: Topology
    delays: DelayBackend
    problem: str
    running: tuple[processes.Process, ...]


def up(topology: Topology, *, source: str, delays: DelayBackend = DelayBackend.AUTO) -> bool:
    """Bring a cluster up; what is left of an earlier one of its name goes first.

    Parameters
    ----------
    source
        The topology as the user named it, for messages.
    delays
        What is to make the delays; AUTO takes netem where the kernel has it, else the relay.

    Returns
    -------
    bool
        False where the same cluster was up and well already.

    Raises
    ------
    ClusterError
        Where it cannot be built; nothing of it stays behind.
    """
    with state.locked():
        if _is_up(topology, delays):
            return False
        _sweep(topology.name)
        _require_free_subnet(topology)
        kind = _choose(delays)
        try:
            _build(topology, source, kind)
        except BaseException:
            _sweep(topology.name)
            raise
    return True


def status(name: str) -> ClusterStatus:
    """Return what is up of a cluster.

    Raises
    ------
    ClusterError
        Where it is not up at all.
    """
    record, topology = state.load(name)
    problem = ""
    if not record.complete:
        problem = "it was never completed"
    elif not namespaces.intact(topology):
        problem = "a namespace or the device outside is gone"
    elif record.delays != DelayBackend.NETEM and not relay_link.relay_answers(name):
        problem = "the relay does not answer"
    found = processes.find(str(state.state_directory(name)))
    return ClusterStatus(
        topology=topology,
        delays=DelayBackend(record.delays),
        problem=problem,
        running=tuple(process for process in found if process.started),
    )


def down(name: str) -> Swept:
    """Take a cluster down; also what is left of one that crashed. Nothing to do is no error.

    Raises
    ------
    ClusterError
        Where something cannot be removed.
    """
    with state.locked():
        return _sweep(name)


def _is_up(topology: Topology, delays: DelayBackend) -> bool:
    try:
        present = status(topology.name)
    except ClusterError:
        return False
    return (
        not present.problem and present.topology == topology and delays in (DelayBackend.AUTO, present.delays)
    )


def _choose(delays: DelayBackend) -> DelayBackend:
    if delays is not DelayBackend.AUTO:
        return delays
    return DelayBackend.NETEM if has_netem() else DelayBackend.RELAY_C


def _build(topology: Topology, source: str, kind: DelayBackend) -> None:
    record = state.ClusterRecord(source=source, delays=kind.value, complete=False)
    state.save(record, topology)
    if kind is DelayBackend.NETEM:
        commands = netem_commands(topology)
    else:
        if not os.access(TUN, os.R_OK | os.W_OK):
            message = f"the relay needs {TUN}; run as root, or: sudo modprobe tun; sudo chmod 0666 {TUN}"
            raise ClusterError(message)
        commands = namespaces.tun_commands(topology)
    for command in commands:
        run(command)
    if kind is not DelayBackend.NETEM:
        relay_link.start_relay(topology)
    state.save(state.ClusterRecord(source=source, delays=kind.value, complete=True), topology)


def _sweep(name: str) -> Swept:
    ended = processes.stop_all(str(state.state_directory(name)))
    parts = namespaces.delete(name)
    state.forget(name)
    return Swept(processes=ended, network_parts=parts)


def _require_free_subnet(topology: Topology) -> None:
    for device in json.loads(run(("ip", "-j", "-4", "address", "show"))):
        for address in device.get("addr_info", ()):
            if ipaddress.IPv4Address(address["local"]) in topology.subnet:
                message = (
                    f"topology {topology.name!r}: its subnet {topology.subnet} is in use by device "
                    f"{device['ifname']} ({address['local']}); set another subnet in the topology file"
                )
                raise ClusterError(message)
