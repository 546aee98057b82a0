"""A script runs the commands of its plan and nothing else, for any hosts; tried in real shells."""

import csv
import io
import json

import pytest
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st
from stub_shell import CANARY, OURS, StubShell, shells
from thoroughness import examples

from gesscale.cli.latency_map.plan import read_hosts
from gesscale.errors import InputError
from latency_map import LatencyMap, LatencyMapError
from latency_map.emulate.hosts import parse_hosts
from latency_map.emulate.plan import apply_commands, plan_emulation, undo_commands
from latency_map.emulate.script import ScriptAction, render_script

PHASES = (Phase.explicit, Phase.generate)  # to shrink an example takes minutes of running shells
PIECES = (
    *(f"$({CANARY})", f"`{CANARY}`", f";{CANARY};", f"\n{CANARY}\n", f"|{CANARY}", f"&{CANARY}&"),
    *(f"';{CANARY};'", f'";{CANARY};"', f">{CANARY}", f"${{IFS}}{CANARY}", f"\\\n{CANARY}", f"\r{CANARY}"),
    *("'", '"', "\\", "$", "#", "*", "~", "{", "}", "(", ")", "!", " ", "\t", "-", "%", "a", "1", "é", "\u2028"),
)
HOSTILE = st.lists(st.sampled_from(PIECES), min_size=1, max_size=6).map("".join)
PLAIN = [
    {"name": "a", "address": "10.7.0.1", "device": "eth0", "networks": ["10.43.1.0/24"]},
    {"name": "edge-2", "address": "fd00::2", "device": "wlan0.1", "networks": ["fd42:2::/64"]},
    {"name": "n_3.x", "address": "10.7.0.3", "device": "br-lan", "networks": []},
]  # fmt: skip
DAMAGED = st.tuples(*[st.lists(HOSTILE, min_size=3, max_size=3, unique=True)] * 4)
ZONED = [{**PLAIN[0], "address": f"fd00::9%$({CANARY}>{CANARY})"}, *PLAIN[1:]]
NAMES = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,9}", fullmatch=True)
ADDRESSES = (
    st.ip_addresses()
    .filter(lambda each: not (each.is_link_local or each.is_loopback or each.is_multicast or each.is_unspecified))
    .map(str)
)
DAMAGE = st.tuples(st.integers(0, 2), st.sampled_from(("name", "address", "device", "networks")))
ADDED = ("{}", "10.7.0.9{}", "fd00::9{}", "fd00::9%{}", "fe80::9%{}", "fd00:9::%{}/64", "{}/24", "eth{}", "-o{}")


@st.composite
def entries(draw):
    """The hosts of a file; with most of them somebody has tampered."""
    damage = draw(st.lists(DAMAGE, max_size=2))
    names = draw(st.lists(NAMES, min_size=3, max_size=3, unique=True))
    addresses = draw(st.lists(ADDRESSES, min_size=3, max_size=3, unique=True))
    hosts = [
        {**host, "name": name, "address": address, "device": draw(NAMES)}
        for host, name, address in zip(PLAIN, names, addresses, strict=True)
    ]
    for number, field in damage:
        text = draw(st.sampled_from(ADDED)).format(draw(HOSTILE))
        hosts[number][field] = [text] if field == "networks" else text
    return hosts


def by_file(hosts, _folder):
    text = io.StringIO()
    table = csv.DictWriter(text, PLAIN[0].keys())
    table.writeheader()
    table.writerows({**host, "networks": " ".join(host["networks"])} for host in hosts)
    return parse_hosts(text.getvalue(), "hosts")


def by_kubectl(hosts, folder):
    items = [
        {
            "metadata": {"name": host["name"]},
            "spec": {"podCIDRs": host["networks"]},
            "status": {"addresses": [{"type": "InternalIP", "address": host["address"]}]},
        }
        for host in hosts
    ]
    (folder / "nodes.json").write_text(json.dumps({"items": items}))
    return read_hosts(folder / "nodes.json", hosts[0]["device"], pod_networks=True)


def plan_of(hosts):
    rtt_ms = [[0, 40, 0], [40, 0, 7], [0, 7, 0]]  # one pair is not delayed
    names = tuple(host.name for host in hosts)
    return plan_emulation(LatencyMap(names=names, rtt_ms=rtt_ms), hosts)


def show(host):
    return ("tc", "qdisc", "show", "dev", host.device, "root")


def check_scripts(shell, plan, number):
    """Run every script of one node; which programs run, and with which arguments, is all that counts."""
    node, host = plan.nodes[number], plan.nodes[number].host
    for script, qdisc, wanted in (
        (render_script(node, ScriptAction.APPLY), "", [show(host), show(host), *apply_commands(node)]),
        (render_script(node, ScriptAction.UNDO), OURS, [show(host), *undo_commands(node)]),
    ):
        shell.expect(qdisc=qdisc)
        ran = shell.run(script)
        assert (ran.code, ran.calls, ran.strays) == (0, wanted, []), ran
    check_timer(shell, node)


def check_timer(shell, node):
    shell.expect()
    ran = shell.run(render_script(node, ScriptAction.APPLY, undo_after_s=1800))
    assert (ran.code, ran.strays) == (0, []), ran
    # what is started in a session of its own runs in parallel to the rest
    (started,) = (call for call in ran.calls if call[0] == "setsid")
    assert started[:3] == ("setsid", "sh", "-c")
    assert started[4:] == ("gesscale-timer", timer_of(shell, node), "1800", *undo_commands(node)[0])
    host = node.host
    wanted = [show(host), show(host), *apply_commands(node), ("sleep", "1800"), *undo_commands(node)]
    assert sorted(without(ran, "setsid", "rm")) == sorted(wanted)


def timer_of(shell, node):
    return f"{shell.run_folder}/gesscale-delays-{node.host.name}-{node.host.device}.pid"


def without(ran, *programs):
    return [call for call in ran.calls if call[0] not in programs]


@pytest.fixture(scope="module", params=shells().values(), ids=shells())
def shell(request, tmp_path_factory):
    return StubShell(tmp_path_factory.mktemp("shell"), request.param)


@pytest.fixture(scope="module")
def dash(tmp_path_factory):
    """One shell is enough where the hosts are what matters."""
    return StubShell(tmp_path_factory.mktemp("dash"), shells().get("dash") or next(iter(shells().values())))


@pytest.mark.parametrize("read", [by_file, by_kubectl])
def test_hosts_are_refused_or_their_scripts_do_what_they_say(dash, read):
    refused, ran = [], []

    @settings(max_examples=examples(50), phases=PHASES)
    @given(entries(), st.integers(0, 2))
    @example(ZONED, 1)
    def check(hosts, number):
        try:
            plan = plan_of(read(hosts, dash.folder))
        except (LatencyMapError, InputError) as error:
            refused.append(str(error))
            return
        ran.append(plan)
        check_scripts(dash, plan, number)

    check()
    assert not [message for message in refused if "\n" in message]
    assert len(refused) > 1
    assert len(ran) > 1


def damaged(plan, values):
    """Put values past the checks of `Host` into a plan."""
    names, devices, addresses, networks = values
    for node, name, device, address, network in zip(plan.nodes, names, devices, addresses, networks, strict=True):
        for field, value in (("name", name), ("device", device), ("address", address), ("networks", (network,))):
            object.__setattr__(node.host, field, value)
    return plan


@settings(max_examples=examples(25, few=12), phases=PHASES)
@given(DAMAGED, st.integers(0, 2))
def test_quotes_alone_hold_what_passed_every_check(shell, values, number):
    plan = damaged(plan_of(by_file(PLAIN, None)), values)
    check_scripts(shell, plan, number)
