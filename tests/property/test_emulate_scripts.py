"""Whatever is in hosts, a script runs the commands of its plan and nothing else; tried under real shells."""

import json
import os
from unittest import mock

import pytest
import yaml
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st
from stub_shell import CANARY, OURS, StubShell, shells
from thoroughness import examples

from gesscale.cli.latency_map.planning import read_hosts
from gesscale.errors import InputError
from latency_map import LatencyMap, LatencyMapError
from latency_map.emulate.hosts import number_hosts
from latency_map.emulate.hosts_file import parse_hosts
from latency_map.emulate.plan import tc_plan
from latency_map.emulate.preflight import preflight_problems, render_preflight
from latency_map.emulate.script import ScriptAction, render_script
from latency_map.emulate.tc import apply_commands, undo_commands
from testbed.emulation.apply import look_at, put_on, take_off
from testbed.emulation.daemonset import render_daemonset
from testbed.emulation.pairs import check_plan, render_pings
from testbed.emulation.remote import Login

PHASES = (Phase.explicit, Phase.generate)  # to shrink an example takes minutes of running shells
PIECES = (
    *(f"$({CANARY})", f"`{CANARY}`", f";{CANARY};", f"\n{CANARY}\n", f"|{CANARY}", f"&{CANARY}&"),
    *(f"';{CANARY};'", f'";{CANARY};"', f">{CANARY}", f"${{IFS}}{CANARY}", f"\\\n{CANARY}", f"\r{CANARY}"),
    *(
        "'",
        '"',
        "\\",
        "$",
        "#",
        "*",
        "~",
        "{",
        "}",
        "(",
        ")",
        "!",
        " ",
        "\t",
        "-",
        "%",
        "a",
        "1",
        "é",
        "\u2028",
    ),
)
HOSTILE = st.lists(st.sampled_from(PIECES), min_size=1, max_size=6).map("".join)
PLAIN = [
    {"name": "a", "address": "10.0.0.1", "device": "eth0", "networks": ["10.42.1.0/24"], "user": "pi", "port": 22},
    {"name": "edge-2", "address": "fd00::2", "device": "wlan0.1", "networks": ["fd42:2::/64"], "ssh": "gateway"},
    {"name": "n_3.x", "address": "10.0.0.3", "device": "br-lan", "networks": []},
]  # fmt: skip
DAMAGED = st.tuples(*[st.lists(HOSTILE, min_size=3, max_size=3, unique=True)] * 4)
ZONED = [{**PLAIN[0], "address": f"fd00::9%$({CANARY}>{CANARY})"}, *PLAIN[1:]]
NAMES = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,9}", fullmatch=True)
ADDRESSES = st.ip_addresses().filter(lambda address: not address.is_link_local).map(str)
DAMAGE = st.tuples(
    st.integers(0, 2), st.sampled_from(("name", "address", "device", "networks", "user", "port", "ssh"))
)
ADDED = (
    "{}",
    "10.0.0.9{}",
    "fd00::9{}",
    "fd00::9%{}",
    "fe80::9%{}",
    "fd00:9::%{}/64",
    "{}/24",
    "eth{}",
    "-o{}",
)


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
    return parse_hosts(yaml.safe_dump(hosts, allow_unicode=True), "hosts")


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


def by_number(hosts, _folder):
    subnets = [network for host in hosts for network in host["networks"]]
    return number_hosts([host["name"] for host in hosts], subnets[0], device=hosts[0]["device"])


def plan_of(hosts):
    rtt_ms = [[0, 40, 0], [40, 0, 7], [0, 7, 0]]  # one pair is not delayed
    names = tuple(host.name for host in hosts)
    return tc_plan(LatencyMap(names=names, rtt_ms=rtt_ms), hosts)


def show(host):
    return ("tc", "qdisc", "show", "dev", host.device, "root")


def preflight_of(host):
    return [
        ("id", "-u"),
        ("ip", "link", "show", "dev", host.device),
        ("ip", "-o", "address", "show", "dev", host.device),
        ("grep", "-qF", f" {host.address}/"),
        *[show(host)] * 2,
    ]


def pings_of(delays):
    # 2 s, and 2 x 40 ms or 2 x 7 ms in whole seconds
    wait_s = {40: "3", 7: "3", 0: "2"}
    return [
        ("ping", "-n", "-c", "3", "-i", "0.2", "-W", wait_s[delay.asked_ms], delay.to.address)
        for delay in delays
    ]


def addresses_of(plan):
    return "".join(f"2: eth0    inet {node.host.address}/24 scope global\n" for node in plan.nodes)


def check_scripts(shell, plan, number):
    """Run every script of one node; which programs run, and with which arguments, is all that counts."""
    node, host = plan.nodes[number], plan.nodes[number].host
    for script, qdisc, wanted in (
        (render_script(node, ScriptAction.APPLY), "", [show(host), show(host), *apply_commands(node)]),
        (render_script(node, ScriptAction.UNDO), OURS, [show(host), *undo_commands(node)]),
        (render_pings(node.delays, count=3), "", pings_of(node.delays)),
    ):
        shell.expect(qdisc=qdisc)
        ran = shell.run(script)
        assert (ran.code, ran.calls, ran.strays) == (0, wanted, []), ran
    check_timer(shell, node)
    shell.expect(qdisc=OURS, addresses=addresses_of(plan))
    ran = shell.run(render_preflight(node, tools=("ping", "setsid")))
    assert (ran.code, preflight_problems(ran.output), ran.strays) == (0, (), []), ran
    # the ends of a pipe start in any order; that the kernel is tried is the same on every node
    assert sorted(without(ran, "unshare")) == sorted(preflight_of(host))


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
    """The shell of Debian; in that of BusyBox, ``sh -s`` at the far end of ssh would not see the stubs."""
    return StubShell(tmp_path_factory.mktemp("dash"), shells().get("dash") or next(iter(shells().values())))


@pytest.mark.parametrize("read", [by_file, by_kubectl, by_number])
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
    assert not [said for said in refused if "\n" in said]
    assert len(refused) > 5
    assert len(ran) > 5


def damaged(plan, values):
    """Put values past the checks of `Host` into a plan."""
    names, devices, addresses, networks = values
    for node, name, device, address, network in zip(
        plan.nodes, names, devices, addresses, networks, strict=True
    ):
        for field, value in (
            ("name", name),
            ("device", device),
            ("address", address),
            ("networks", (network,)),
        ):
            object.__setattr__(node.host, field, value)
    return plan


@settings(max_examples=examples(25, few=12), phases=PHASES)
@given(DAMAGED, st.integers(0, 2))
def test_quotes_alone_hold_what_passed_every_check(shell, values, number):
    plan = damaged(plan_of(parse_hosts(yaml.safe_dump(PLAIN), "hosts")), values)
    check_scripts(shell, plan, number)


@pytest.mark.parametrize("letter", ["\0", "\ud800"], ids=["nul", "half a pair"])
@pytest.mark.parametrize("field", ["name", "device", "address"])
def test_what_no_argument_can_hold_is_refused_by_the_script(letter, field):
    plan = plan_of(parse_hosts(yaml.safe_dump(PLAIN), "hosts"))
    object.__setattr__(plan.nodes[0].host, field, f"a{letter}b")
    for action in ScriptAction:
        with pytest.raises(LatencyMapError, match="a word that a command can be given"):
            render_script(plan.nodes[0], action)
    with pytest.raises(LatencyMapError, match="a word that a command can be given"):
        render_preflight(plan.nodes[0])


@settings(max_examples=10, phases=PHASES)
@given(entries(), HOSTILE, HOSTILE)
@example(ZONED, "lab", "my/tc:1")
def test_a_daemonset_runs_the_scripts_of_its_node(shell, hosts, namespace, image):
    try:
        plan = plan_of(by_file(hosts, shell.folder))
    except LatencyMapError:
        plan = plan_of(by_file(PLAIN, shell.folder))
    *config_maps, daemonset = yaml.safe_load_all(render_daemonset(plan, namespace=namespace, image=image))
    assert {part["metadata"]["namespace"] for part in (*config_maps, daemonset)} == {namespace}
    assert daemonset["spec"]["template"]["spec"]["containers"][0]["image"] == image
    scripts = {name: text for part in config_maps for name, text in part["data"].items()}
    folder = shell.folder / "scripts"
    folder.mkdir(exist_ok=True)
    for name, text in scripts.items():
        (folder / name).write_text(text.replace("timer=/run/", f"timer={shell.run_folder}/"))
    node = plan.nodes[0]
    shell.expect()
    ran = shell.run_until_it_sleeps(folder / "run.sh", NODE_NAME=node.host.name)
    assert (ran.code, ran.strays) == (0, [])
    # tc shows nothing of ours, so there is nothing to take away
    wanted = [show(node.host), show(node.host), *apply_commands(node), show(node.host)]
    assert without(ran, "sleep", "dirname") == wanted


@settings(max_examples=8, phases=PHASES)
@given(entries(), st.sampled_from((True, False, None)), HOSTILE | st.sampled_from((None, "root", "pi")))
def test_apply_by_ssh_calls_ssh_and_the_commands_of_the_plan(dash, hosts, sudo, user):
    try:
        login = Login(user=user, sudo=sudo)
    except LatencyMapError:
        login = Login(sudo=sudo)
    try:
        plan = plan_of(by_file(hosts, dash.folder))
    except LatencyMapError:
        plan = plan_of(by_file(PLAIN, dash.folder))
    check_ssh(dash, plan, login)


@settings(max_examples=8, phases=PHASES)
@given(
    DAMAGED,
    st.tuples(HOSTILE, HOSTILE),
    st.sampled_from((True, None)),
)
def test_quotes_alone_hold_over_ssh_too(dash, values, login_values, sudo):
    plan = damaged(plan_of(parse_hosts(yaml.safe_dump(PLAIN), "hosts")), values)
    user, place = login_values
    for node in plan.nodes:
        object.__setattr__(node.host, "user", user)
        object.__setattr__(node.host, "ssh", place)
    check_ssh(dash, plan, Login(sudo=sudo))


def check_ssh(shell, plan, login):
    """Run `testbed apply --ssh` step by step and see what every step calls."""
    hosts = [node.host for node in plan.nodes]
    measured = {
        node.host.name: [delay for delay in node.delays if delay.class_id > number]
        for number, node in enumerate(plan.nodes, start=1)
    }
    pinging = [node.host for node in plan.nodes if measured[node.host.name]]
    with mock.patch.dict(os.environ, shell.environment, clear=True):
        for act, asked, qdisc, wanted, as_root in (
            (lambda: look_at(plan, login), hosts, OURS, [c for h in hosts for c in preflight_of(h)], True),
            (lambda: put_on(plan, login), hosts, "", [c for n in plan.nodes for c in put_on_node(n)], True),
            (
                lambda: check_plan(plan, login, count=3),
                pinging,
                "",
                [c for delays in measured.values() for c in pings_of(delays)],
                False,
            ),
            (
                lambda: take_off(plan.nodes, login),
                hosts,
                OURS,
                [c for n in plan.nodes for c in take_off_node(n)],
                True,
            ),
        ):
            shell.expect(qdisc=qdisc, addresses=addresses_of(plan))
            act()
            ran = shell.ran(0)
            calls = without(ran, "unshare")
            assert sorted(calls) == sorted(
                [*wanted, *(c for h in asked for c in logins(h, login, as_root=as_root))]
            )
            assert ran.strays == []


def put_on_node(node):
    return [show(node.host), show(node.host), *apply_commands(node)]


def take_off_node(node):
    return [show(node.host), *undo_commands(node)]


def logins(host, login, *, as_root):
    """The call of ssh, and what the way to root costs there."""
    by_sudo, way = ("sudo -n sh -s", [("sudo", "-n", "sh", "-s")])
    if not as_root or login.sudo is False:
        there, way = "sh -s", []
    elif login.sudo:
        there = by_sudo
    else:
        there, way = (
            f"sh -c 'if [ \"$(id -u)\" = 0 ]; then exec sh -s; else exec {by_sudo}; fi'",
            [("id", "-u")],
        )
    user, port = host.user or login.user, host.port or login.port
    called = (
        *("ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10"),
        *("-o", "ServerAliveInterval=5", "-o", "ServerAliveCountMax=3"),
        *(("-l", user) if user else ()),
        *(("-p", str(port)) if port else ()),
        *("--", host.ssh or host.address, there),
    )
    return [called, *way]
