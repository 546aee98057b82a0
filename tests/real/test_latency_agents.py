"""Agents on a real cluster of network namespaces: what they gather is what is emulated."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager

import numpy as np
import pytest
from refusals import codes

from gesscale.common.http_client import UNRESTRICTED_CLIENT
from latency_map import LatencyMapError
from latency_map.measure.gather import GatheredMap, gather_agents
from testbed.cluster import commands, lifecycle, namespaces, privilege, state
from testbed.cluster.check import TOLERANCE_MS, TOLERANCE_RATIO
from testbed.cluster.topology import Topology, read_topology

NAME = "agents"
NODES = ("n1", "n2", "n3", "n4", "n5", "n6")
# 4 to 300 ms: two near groups and a far node, and n1-n6-n5 is shorter than n1-n5 (a broken triangle)
MAP = """,n1,n2,n3,n4,n5,n6
n1,0,4,12,90,300,110
n2,4,0,9,95,290,105
n3,12,9,0,80,270,100
n4,90,95,80,0,220,30
n5,300,290,270,220,0,180
n6,110,105,100,30,180,0
"""
PORT = 9109
SETTLE_S = 240.0  # bound of a wait, not an expectation
WITHOUT_ICMP = ("setpriv", "--bounding-set=-net_raw", "--inh-caps=-net_raw")


def can_build() -> bool:
    return privilege.is_privileged() and os.access(privilege.TUN, os.R_OK | os.W_OK)


pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(not can_build(), reason="needs root and /dev/net/tun to make network namespaces"),
]


@pytest.fixture(scope="module")
def topology(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Topology]:
    directory = tmp_path_factory.mktemp("agents")
    (directory / "map.csv").write_text(MAP)
    file = directory / "topology.yaml"
    file.write_text(
        f"name: {NAME}\nlatency: {{file: map.csv, unit: ms, kind: rtt}}\ndriver_node: n1\nsubnet: 10.91.0.0/24\n"
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(state.STATE_ROOT, str(directory / "state"))
        built = read_topology(str(file))
        lifecycle.up(built)
        yield built
        lifecycle.down(NAME)


@contextmanager
def agents(
    topology: Topology, *options: str, on: Sequence[str] = NODES, before: Sequence[str] = (), stderr: int | None = None
) -> Iterator[dict[str, subprocess.Popen[str]]]:
    """Run an agent in the namespace of each node; end them all."""
    peers = ",".join(f"{node.name}={node.address}" for node in topology.nodes)
    with ExitStack() as stack:
        running = {}
        for name in on:
            node = topology.node(name)
            listen = f"{node.address}:{PORT}"
            command = (
                *before,
                *(sys.executable, "-m", "latency_map.measure.agent", "--node", name, "--listen", listen),
                *("--peers", peers, "--rate", "50", "--timeout", "0.7", *options),
            )
            running[name] = stack.enter_context(
                subprocess.Popen(namespaces.inside(NAME, name, command), stderr=stderr, text=True)
            )
            stack.callback(running[name].kill)
        yield running


def urls(topology: Topology) -> dict[str, str]:
    return {node.name: f"http://{node.address}:{PORT}" for node in topology.nodes}


def gather(topology: Topology, *, fill: bool = False) -> GatheredMap:
    return gather_agents(list(urls(topology).values()), now_s=time.time(), timeout_s=10, fill_missing=fill)


def eventually(
    topology: Topology, wanted: Callable[[GatheredMap], bool], *, unreachable: Sequence[str] = ()
) -> GatheredMap:
    """Gather until it is as wanted, and no nodes but those given are out of reach."""
    silent = [urls(topology)[name] for name in unreachable]
    deadline_s = time.monotonic() + SETTLE_S
    while True:
        try:
            last: GatheredMap | LatencyMapError = gather(topology)
        except LatencyMapError as error:
            last = error
        if isinstance(last, GatheredMap) and list(last.unreachable) == silent and wanted(last):
            return last
        assert time.monotonic() < deadline_s, f"last gathered: {last}"
        time.sleep(0.2)


def complete(gathered: GatheredMap) -> bool:
    return not np.isnan(gathered.survey.rtt_ms).any()


def as_emulated(gathered: GatheredMap) -> bool:
    """Whether all is within the tolerance of ``testbed check``."""
    expected_ms = np.array([row.split(",")[1:] for row in MAP.splitlines()[1:]], dtype=float)
    tolerance_ms = np.maximum(TOLERANCE_MS, TOLERANCE_RATIO * expected_ms)
    survey = gathered.survey
    added_ms = survey.rtt_ms - expected_ms
    return survey.names == NODES and bool((np.abs(added_ms) <= tolerance_ms).all())


def total(url: str, name: str) -> float:
    page = UNRESTRICTED_CLIENT.fetch(f"{url}/metrics", timeout_s=30, max_bytes=1 << 20).decode()
    return next(float(line.rsplit(" ", 1)[1]) for line in page.splitlines() if line.startswith(f"{name}{{"))


def test_what_agents_gather_is_what_is_emulated(topology: Topology) -> None:
    with agents(topology, "--round", "2"):
        gathered = eventually(topology, as_emulated)
        assert time.time() - SETTLE_S < gathered.survey.measured_at_s <= time.time()
        assert not gathered.survey.estimated.any()


def test_a_killed_agent_is_told_and_what_others_knew_of_its_node_ages_out(topology: Topology) -> None:
    with agents(topology, "--round", "1", "--count", "3", "--window", "4") as running:
        eventually(topology, complete)
        running["n5"].kill()
        row = NODES.index("n5")
        others = [place for place in range(len(NODES)) if place != row]

        def known(found: GatheredMap) -> np.ndarray:
            return ~np.isnan(found.survey.rtt_ms)

        # no agent asks from n5 any more; the others still reach its address, as only its agent is gone
        gathered = eventually(topology, lambda found: known(found)[others].all(), unreachable=["n5"])
        assert not known(gathered)[row, others].any()
        commands.run(namespaces.inside(NAME, "n5", ("ip", "link", "set", namespaces.DEVICE, "down")))
        try:

            def n5_alone_is_lost(found: GatheredMap) -> bool:
                return not known(found)[others, row].any() and known(found)[np.ix_(others, others)].all()

            eventually(topology, n5_alone_is_lost, unreachable=["n5"])
        finally:
            commands.run(namespaces.inside(NAME, "n5", ("ip", "link", "set", namespaces.DEVICE, "up")))


def test_with_few_neighbours_traffic_is_n_k_and_coordinates_tell_the_rest(topology: Topology) -> None:
    each, count = 2, 2
    with agents(
        topology, "--round", "600", "--neighbours", f"{each}", "--count", f"{count}", "--timeout", "5"
    ) as running:
        gathered = eventually(
            topology, lambda found: (~np.isnan(found.survey.rtt_ms)).sum() == len(NODES) * (each + 1)
        )  # one round; the diagonal counts too
        sent = {name: total(url, "gesscale_latency_sent_total") for name, url in urls(topology).items()}
        rounds = {name: total(url, "gesscale_latency_rounds_total") for name, url in urls(topology).items()}
        assert set(rounds.values()) == {1}
        assert sum(sent.values()) == len(running) * each * count
        filled = gather(topology, fill=True).survey
        measured = ~np.isnan(gathered.survey.rtt_ms)
        assert (filled.rtt_ms[measured] == gathered.survey.rtt_ms[measured]).all()
        assert not (filled.estimated & measured).any()
        both_ways_unknown = ~(measured | measured.T)
        assert (filled.estimated == both_ways_unknown).all()
        assert len(filled.to_map().missing()) == 0
        assert "estimated by coordinates" in filled.changes[0]


def test_where_icmp_is_not_allowed_tcp_measures_the_same_and_it_is_said_once(topology: Topology) -> None:
    with agents(topology, "--round", "1", before=WITHOUT_ICMP, stderr=subprocess.PIPE) as running:
        eventually(topology, as_emulated)
        running["n1"].terminate()
        _, printed = running["n1"].communicate(timeout=SETTLE_S)
        assert codes(printed) == ["icmp-unavailable"]
