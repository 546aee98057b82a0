"""Steps of the benchmark: the scripts of ``plan``, the project's tests, and the relay."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

from image import PROJECT
from machine import Machine
from measure import Run, ping_all, read_checked

from gesscale.common.shell import command_line
from latency_map import LatencyMap, write_csv

PROGRAMS = Path(sys.executable).parent
EVERY_STATE = (
    "for node in $(ip netns list | cut -d' ' -f1); do echo \"node $node\"; for what in qdisc class filter; do"
    " ip netns exec $node tc $what show dev eth0; done; done"
)
LONG_S = 600
CLUSTER = "vmmap"
INSIDE = "/tmp"  # noqa: S108 - a folder of the virtual machine
KERNEL_TEST = "tests/real/test_netem_kernel.py"


def hosts_file(machine: Machine, scratch: Path) -> Path:
    """Write the hosts file of the nodes."""
    file = scratch / "hosts.csv"
    rows = "".join(f"{name},{address}\n" for name, address in machine.addresses.items())
    file.write_text(f"name,address\n{rows}", encoding="utf-8")
    return file


def map_file(latencies: LatencyMap, scratch: Path) -> Path:
    """Write the map as a file for the project's commands."""
    file = scratch / "map.csv"
    write_csv(latencies, file)
    return file


def try_scripts(
    machine: Machine, latencies: LatencyMap, scratch: Path, *, runs: int, count: int
) -> tuple[list[Run], dict[str, bool]]:
    """Run the scripts of ``plan`` twice on every node, measure, and undo them.

    Returns
    -------
    list of Run and dict
        The measurements and the checks: a second run of a script changes nothing, and the undo restores the
        initial state of every node.
    """
    scripts = scratch / "scripts"
    call(
        *("gesscale", "latency-map", "plan", str(map_file(latencies, scratch)), "--unit", "ms", "--kind", "rtt"),
        *("--addresses", str(hosts_file(machine, scratch)), "--directory", str(scripts)),
    )
    states: list[dict[str, str]] = [_states(machine)]
    for _ in range(2):
        for name in latencies.names:
            machine.must(name, "sh -s", text=(scripts / f"apply-{name}.sh").read_text(encoding="utf-8"))
        states.append(_states(machine))
    measured = [ping_all(machine, latencies, count=count, delayed=True) for _ in range(runs)]
    for name in latencies.names:
        machine.must(name, "sh -s", text=(scripts / f"undo-{name}.sh").read_text(encoding="utf-8"))
    return measured, {
        "every node has delays": all("netem" in state for state in states[1].values()),
        "the second run of a script changes nothing": states[2] == states[1],
        "the undo restores every node": _states(machine) == states[0],
    }


def try_inside(machine: Machine, latencies: LatencyMap, scratch: Path, *, count: int) -> tuple[Run, dict[str, object]]:
    """Run the project on the machine's kernel: the test of plan's scripts, and a cluster with netem."""
    python = f"{command_line(('cd', str(PROJECT)))} && {command_line((sys.executable, '-m'))}"
    tested = machine.ssh(None, f"{python} pytest -q -p no:cacheprovider {KERNEL_TEST} 2>&1", timeout_s=LONG_S)
    machine.must(None, f"cat >{INSIDE}/map.csv", text=map_file(latencies, scratch).read_text(encoding="utf-8"))
    machine.must(None, f"cat >{INSIDE}/topology.yaml", text=topology_text(latencies))
    load = os.getloadavg()[0]
    checked = machine.ssh(
        None,
        f"{python} testbed up {INSIDE}/topology.yaml --delays netem >/dev/null &&"
        f" {python} testbed check {CLUSTER} --count {count} --output json",
        timeout_s=LONG_S,
    )
    if checked.returncode not in (0, 3):
        message = f"testbed up or check failed in the machine: {checked.stderr.strip()}"
        raise SystemExit(message)
    machine.must(None, f"{python} testbed down {CLUSTER} >/dev/null")
    return read_checked(json.loads(checked.stdout), load), {
        f"{KERNEL_TEST} passes": tested.returncode == 0,
        "result": tested.stdout.strip().rsplit("\n", 1)[-1],
    }


def relay_runs(latencies: LatencyMap, scratch: Path, *, runs: int, count: int) -> list[Run]:
    """Measure the same map with the relay, in network namespaces of this system."""
    map_file(latencies, scratch)
    topology = scratch / "topology.yaml"
    topology.write_text(topology_text(latencies), encoding="utf-8")
    measured = []
    try:
        call("testbed", "up", str(topology), "--delays", "relay-c")
        for _ in range(runs):
            load = os.getloadavg()[0]
            document = call("testbed", "check", CLUSTER, "--count", str(count), "--output", "json", codes=(0, 3))
            measured.append(read_checked(json.loads(document), load))
    finally:
        call("testbed", "down", CLUSTER)
    return measured


def topology_text(latencies: LatencyMap) -> str:
    """Return the topology file of a cluster of the map's nodes, for a folder with ``map.csv``."""
    return (
        f"name: {CLUSTER}\nlatency: {{file: map.csv, unit: ms, kind: rtt}}\n"
        f"driver_node: {json.dumps(latencies.names[0])}\nsubnet: 10.92.0.0/24\n"
    )


def call(program: str, *arguments: str, inside: Machine | None = None, codes: tuple[int, ...] = (0,)) -> str:
    """Run a command of the project, in a machine's network if one is given, and return its output."""
    command = (str(PROGRAMS / program), *arguments)
    done = subprocess.run(
        inside.inside(command) if inside else command, capture_output=True, text=True, timeout=LONG_S, check=False
    )
    if done.returncode not in codes:
        message = f"{command_line((program, *arguments))} exited with {done.returncode}: {done.stderr.strip()}"
        raise SystemExit(message)
    return done.stdout


def _states(machine: Machine) -> dict[str, str]:
    """Return the output of tc for every node's device, without its packet counter, in one request."""
    reported = re.sub(r"direct_packets_stat \d+ ", "", machine.must(None, EVERY_STATE)).split("node ")[1:]
    return dict(state.split("\n", 1) for state in reported)
