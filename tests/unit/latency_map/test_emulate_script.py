"""The scripts as text; what they do is tried in tests/real/test_plan_scripts.py."""

import subprocess

import pytest

from latency_map import DelayKind, DelayUnit, LatencyMap
from latency_map.emulate.hosts import number_hosts
from latency_map.emulate.plan import tc_plan
from latency_map.emulate.script import ScriptAction, render_script
from latency_map.emulate.tc import apply_commands

PAIR = LatencyMap.from_delays(["a", "b"], [[0, 40], [40, 0]], unit=DelayUnit.MS, kind=DelayKind.RTT)
OWN = LatencyMap.from_delays(["a", "b"], [[0, 1], [1, 0]], unit=DelayUnit.MS, kind=DelayKind.RTT)
NODE = tc_plan(PAIR, number_hosts(["a", "b"], "10.0.0.0/24")).node("a")
SCRIPTS = {
    "apply": render_script(NODE, ScriptAction.APPLY),
    "apply for a time": render_script(NODE, ScriptAction.APPLY, undo_after_s=1800),
    "undo": render_script(NODE, ScriptAction.UNDO),
}


@pytest.mark.parametrize("script", SCRIPTS.values(), ids=SCRIPTS)
@pytest.mark.parametrize("share", [0.6])
def test_a_script_that_arrives_cut_runs_nothing(script, share, tmp_path):
    trace = tmp_path / "ran"
    tc = tmp_path / "tc"
    tc.write_text(f"#!/bin/sh\necho ran >> {trace}\n")
    tc.chmod(0o755)
    cut = script[: int(len(script) * share)]
    subprocess.run(
        ("/bin/sh", "-s"),
        input=cut,
        text=True,
        stderr=subprocess.DEVNULL,
        env={"PATH": str(tmp_path)},
        check=False,
    )
    assert not trace.exists()


def test_the_script_holds_the_commands_of_the_plan_each_class_with_its_purpose():
    written = [line.strip() for line in SCRIPTS["apply"].splitlines()]
    wanted = [" ".join(command) for command in apply_commands(NODE)]
    assert [line for line in written if line in wanted] == wanted
    assert "# to b 10.0.0.2: 20 ms of 40 ms round trip" in written
    assert written[0] == "#!/bin/sh"
    assert written[1].startswith("# Delays of node a (10.0.0.1, eth0) to 1 others.")


def test_only_a_script_for_a_time_starts_a_timer():
    assert "setsid" not in SCRIPTS["apply"]
    assert 'gesscale-timer "$timer" 1800 tc qdisc del dev eth0' in SCRIPTS["apply for a time"]
