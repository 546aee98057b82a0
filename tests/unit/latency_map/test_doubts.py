"""Doubts about a map are named wherever it is read: by every command, in any format, and by Python."""

import logging

import numpy as np
import pytest
from refusals import codes, logged_codes
from typer.testing import CliRunner

from gesscale.cli.latency_map import app
from latency_map import Survey, read_map, write_survey

# a - b failed and was written as 0; c - d is far above all others, and of two pairs
MATRIX = "rtt_ms,a,b,c,d\na,0,0,7.1,9999\nb,0,0,8.3,9.9\nc,7.1,8.3,0,9999\nd,9999,9.9,9999,0\n"
RTT_MS = [[0, 0, 7.1, 9999], [0, 0, 8.3, 9.9], [7.1, 8.3, 0, 9999], [9999, 9.9, 9999, 0]]
COMMANDS = {
    "import": ("--to", "again.json"),
    "show": (),
    "check": (),
    "repair": ("--zero-diagonal", "--to", "repaired.json"),
    "choose": ("--size", "2"),
    "rank": ("--members", "a"),
    "plan": ("--addresses", "hosts.csv", "--directory", "scripts"),
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "map.csv").write_text(MATRIX)
    write_survey(Survey(names=tuple("abcd"), rtt_ms=np.array(RTT_MS), measured_at_s=1e9), tmp_path / "map.json")
    (tmp_path / "hosts.csv").write_text("name,address\n" + "".join(f"{node},10.9.0.{ord(node)}\n" for node in "abcd"))
    return tmp_path


@pytest.mark.parametrize("file", ["map.csv", "map.json"])
@pytest.mark.parametrize(("command", "options"), COMMANDS.items(), ids=COMMANDS)
def test_every_command_names_zeros_and_lost_probes_of_any_format(folder, file, command, options):
    result = CliRunner().invoke(app, [command, str(folder / file), *options])
    assert result.exit_code == 0, result.output
    assert codes(result.stderr)[:2] == ["map-zero-delays", "map-delays-as-lost"]


@pytest.mark.parametrize("command", ["choose", "rank"])
def test_a_choice_by_an_old_map_is_warned_of(folder, command):
    for file, old in (("map.json", True), ("map.csv", False)):
        result = CliRunner().invoke(app, [command, str(folder / file), *COMMANDS[command]])
        assert ("map-old" in codes(result.stderr)) == old


def test_a_map_that_python_reads_has_its_doubts_in_the_log(folder, caplog):
    with caplog.at_level(logging.WARNING):
        read_map(folder / "map.csv")
    assert logged_codes(caplog.text) == ["map-zero-delays", "map-delays-as-lost"]
