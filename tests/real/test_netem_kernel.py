"""Plan's scripts on a kernel that has netem: three nodes as network namespaces, joined by a bridge in a fourth."""

import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from latency_map import DelayKind, DelayUnit, LatencyMap
from latency_map.emulate.hosts import Host
from latency_map.emulate.plan import EmulationPlan, NodePlan, plan_emulation
from latency_map.emulate.script import ScriptAction, render_script
from testbed.cluster import privilege
from testbed.cluster.check import evaluate_pair, measure_echoes
from testbed.cluster.delays import has_netem
from testbed.cluster.namespaces import NAMED

SWITCH = "gsk-switch"
SWITCH_ADDRESS = "10.92.2.254"
NAMES = ("a", "b", "c")
MAP = LatencyMap.from_delays(NAMES, [[0, 8, 60], [8, 0, 170], [60, 170, 0]], unit=DelayUnit.MS, kind=DelayKind.RTT)
ECHOES = 9

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(not privilege.is_privileged(), reason="needs root to make network namespaces"),
    pytest.mark.skipif(
        privilege.is_privileged() and not has_netem(),
        reason="this kernel has no netem; benchmarks/netem_vm runs this test on one that has",
    ),
]


@pytest.fixture
def plan() -> Iterator[EmulationPlan]:
    planned = plan_emulation(
        MAP, [Host(name=name, address=f"10.92.2.{number}") for number, name in enumerate(NAMES, 1)]
    )
    try:
        ip("netns", "add", SWITCH)
        ip("-n", SWITCH, "link", "add", "bridge0", "type", "bridge")
        ip("-n", SWITCH, "address", "add", f"{SWITCH_ADDRESS}/24", "dev", "bridge0")
        ip("-n", SWITCH, "link", "set", "bridge0", "up")
        for node in planned.nodes:
            join(node)
        yield planned
    finally:
        for name in (SWITCH, *map(namespace, NAMES)):
            subprocess.run(("ip", "netns", "delete", name), capture_output=True, check=False)


def ip(*arguments: str) -> None:
    subprocess.run(("ip", *arguments), check=True)


def namespace(name: str) -> str:
    return f"gsk-{name}"


def join(node: NodePlan) -> None:
    """Make the namespace of a node and link it to the bridge."""
    name, port = namespace(node.host.name), f"port-{node.host.name}"
    ip("netns", "add", name)
    ip("link", "add", port, "netns", SWITCH, "type", "veth", "peer", "name", node.host.device, "netns", name)
    ip("-n", SWITCH, "link", "set", port, "master", "bridge0", "up")
    ip("-n", name, "address", "add", f"{node.host.address}/24", "dev", node.host.device)
    ip("-n", name, "link", "set", node.host.device, "up")


def inside(name: str, *command: str, text: str | None = None) -> str:
    """Run a command in the namespace of a node."""
    return subprocess.run(
        ("ip", "netns", "exec", namespace(name), *command), input=text, stdout=subprocess.PIPE, text=True, check=True
    ).stdout


def run_scripts(plan: EmulationPlan, action: ScriptAction, *, undo_after_s: int | None = None) -> None:
    for node in plan.nodes:
        inside(node.host.name, "sh", "-s", text=render_script(node, action, undo_after_s=undo_after_s))


def min_ms(name: str, *addresses: str) -> dict[str, float]:
    """Measure the least round trip to each address: delays are in every echo, a busy machine is in some."""
    with ThreadPoolExecutor(1) as thread:  # which stays in the namespace
        answers = thread.submit(
            measure_echoes, NAMED / namespace(name), addresses, count=ECHOES, timeout_s=2.0
        ).result()
    return {address: min(filter(None, came)) for address, came in answers.items()}


def every_min_ms(plan: EmulationPlan) -> dict[tuple[str, str], float]:
    """Measure every pair in both directions, and from every node to the switch."""
    measured = {}
    for node in plan.nodes:
        others = {other.host.name: other.host.address for other in plan.nodes if other is not node}
        others["switch"] = SWITCH_ADDRESS
        least = min_ms(node.host.name, *others.values())
        measured |= {(node.host.name, other): least[address] for other, address in others.items()}
    return measured


def test_every_pair_gets_the_round_trip_of_the_map_and_no_other_packet_is_delayed(plan: EmulationPlan) -> None:
    own = every_min_ms(plan)
    run_scripts(plan, ScriptAction.APPLY)
    measured = every_min_ms(plan)
    checks = [
        evaluate_pair(
            0.0 if other == "switch" else MAP.delay_ms(name, other) or 0.0,
            [measured[name, other] - own[name, other]],
            first=name,
            second=other,
        )
        for name, other in own
    ]
    assert [check for check in checks if not check.ok] == []
