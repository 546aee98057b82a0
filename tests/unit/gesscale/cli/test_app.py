"""The command as a whole: its help, its completion, and names that cannot be left empty."""

import pytest
from edge import delays

from latency_map import write_csv


def test_the_help_tells_every_exit_code(gesscale, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    code, out, _ = gesscale("--help")
    assert code == 0
    assert (
        "Exit codes: 0 done, 1 failed, 2 wrong input or usage, 3 not feasible or a check failed, 130 interrupted."
    ) in out


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_can_complete_it(gesscale, monkeypatch, shell):
    # --show-completion finds out by itself which shell it runs in; this is what it then asks for.
    monkeypatch.setenv("_GESSCALE_COMPLETE", f"source_{shell}")
    code, out, _ = gesscale()
    assert code == 0
    assert "_GESSCALE_COMPLETE=complete_" in out


@pytest.mark.parametrize(("words", "said"), [
    (("recommend", "-c"), "error: Option '-c' requires an argument"),
    (("recommend", "--nope"), "error: No such option: --nope; see gesscale recommend --help"),
    (("nope",), "error: No such command 'nope'; see gesscale --help"),
    (("latency-map", "nearest", "map.json"), "error: Missing option '--members'"),
])  # fmt: skip
def test_a_wrong_command_line_is_told_in_one_line(gesscale, words, said):
    code, out, err = gesscale(*words)
    assert (code, out) == (2, "")
    assert err.startswith(said)
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize("command", ["nearest", "farthest"])
def test_a_ranking_needs_members(gesscale, tmp_path, command):
    file = tmp_path / "map.csv"
    write_csv(delays(), file)
    code, out, err = gesscale(
        "latency-map", command, file, "--unit", "ms", "--kind", "rtt", "--members", " ,"
    )
    assert (code, out) == (2, "")
    assert "--members: expected the names of nodes, separated by commas" in err
