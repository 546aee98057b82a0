import json
import math
import shutil
import subprocess
import sys

import pytest

from latency_map.measure.probe import Reply, Timeout, UnknownHost, Unreachable, interpret, main, ping_rtt_ms

PROBE = f"{sys.executable} -m latency_map.measure.probe"
SETTLE_S = 300  # bound of a subprocess, not an expectation


def test_the_three_answers_of_ping3_are_told_apart():
    assert interpret(12.5, timeout_s=1.0) == Reply(rtt_ms=12.5)
    assert interpret(None, timeout_s=1.0) == Timeout(timeout_s=1.0)
    assert isinstance(interpret(False, timeout_s=1.0), Unreachable)


def test_a_reply_after_no_time_at_all_is_a_reply():
    assert interpret(0.0, timeout_s=1.0) == Reply(rtt_ms=0.0)


@pytest.mark.parametrize("answer", [-3.0, math.nan, math.inf])
def test_a_round_trip_that_cannot_be_is_none(answer):
    assert isinstance(interpret(answer, timeout_s=1.0), Unreachable)


@pytest.mark.parametrize("address", ["", "a..b", "x" * 64 + ".y", "no\0name"])
def test_names_that_cannot_resolve_are_unknown_hosts(address):
    assert isinstance(ping_rtt_ms(address, timeout_s=0.1), UnknownHost)


@pytest.mark.parametrize(
    "arguments",
    [[], ["10.0.0.1", "--count", "0"], ["10.0.0.1", "--count", "x"], ["10.0.0.1", "--timeout", "-1"],
     ["10.0.0.1", "--timeout", "nan"], ["10.0.0.1", "--interval", "1e9"]],
)  # fmt: skip
def test_wrong_usage_ends_with_exit_code_2(arguments, capsys):
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert "usage:" in capsys.readouterr().err


def test_the_prober_loads_nothing_heavy():
    heavy = "{'scipy', 'networkx', 'pandas', 'ping3', 'rich', 'typer'} & set(sys.modules)"
    script = f"import sys, latency_map.measure.probe; sys.exit(str({heavy}) if {heavy} else 0)"
    subprocess.run([sys.executable, "-c", script], check=True, timeout=SETTLE_S)


def in_a_namespace(*commands: str) -> subprocess.CompletedProcess[str]:
    """Run shell commands in a network namespace of their own, whose loopback is up."""
    script = "\n".join(["set -e", "ip link set lo up", *commands])
    return subprocess.run(
        ["unshare", "--user", "--map-root-user", "--net", "sh", "-c", script],
        capture_output=True,
        text=True,
        timeout=SETTLE_S,
        check=False,
    )


@pytest.fixture(scope="module")
def namespaces() -> None:
    if not (shutil.which("unshare") and shutil.which("ip")) or in_a_namespace("true").returncode:
        pytest.skip("this machine has no unprivileged network namespaces (unshare, ip, user namespaces)")


def probe_lines(*commands: str) -> list[dict[str, object]]:
    run = in_a_namespace(*commands)
    assert run.returncode == 0, run.stderr
    return [json.loads(line) for line in run.stdout.splitlines()]


@pytest.mark.real
@pytest.mark.usefixtures("namespaces")
def test_replies_come_as_json_lines_in_rounds():
    lines = probe_lines(f"{PROBE} 127.0.0.1 127.0.0.2 --count 2 --interval 0.01")
    assert [line["address"] for line in lines] == ["127.0.0.1", "127.0.0.2"] * 2
    assert {line["answer"] for line in lines} == {"reply"}
    assert all(line["rtt_ms"] >= 0 and line["reason"] is None for line in lines)
    first = lines[0]["sequence"]
    assert [line["sequence"] for line in lines] == [(first + step) % 65536 for step in range(4)]


@pytest.mark.real
@pytest.mark.usefixtures("namespaces")
def test_silence_is_a_timeout():
    (line,) = probe_lines(
        "echo 1 > /proc/sys/net/ipv4/icmp_echo_ignore_all",
        f"{PROBE} 127.0.0.1 --count 1 --timeout 0.2",
    )
    assert (line["answer"], line["rtt_ms"]) == ("timeout", None)


@pytest.mark.real
@pytest.mark.usefixtures("namespaces")
def test_no_route_and_no_such_host_are_told_apart():
    unreachable, unknown = probe_lines(f"{PROBE} 192.0.2.1 nobody.invalid --count 1 --timeout 0.2")
    assert (unreachable["answer"], unreachable["rtt_ms"]) == ("unreachable", None)
    assert (unknown["answer"], unknown["rtt_ms"]) == ("unknown_host", None)


@pytest.mark.real
@pytest.mark.usefixtures("namespaces")
def test_without_the_right_to_send_echoes_it_says_what_to_do():
    run = in_a_namespace(
        # a new namespace lets no group use ping sockets, so without CAP_NET_RAW nothing is left
        "cat /proc/sys/net/ipv4/ping_group_range",
        f"setpriv --bounding-set -net_raw --inh-caps -net_raw {PROBE} 127.0.0.1",
    )
    assert run.returncode == 1
    assert "CAP_NET_RAW" in run.stderr
    assert "Traceback" not in run.stderr
