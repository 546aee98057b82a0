"""``gesscale config`` and ``gesscale crd``: what they print, and what ``validate`` finds."""

import json

import pytest
import yaml
from refusals import codes

SOUND = """
workflow:
  operators:
    nearest: {driver_node: edge1, metrics_url: "http://edge1:4041"}
latency_map: {file: edge8.csv, unit: ms, kind: rtt}
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "gesscale.yaml"
    path.write_text(SOUND, "utf-8")
    (tmp_path / "edge8.csv").write_text(",edge1,edge2\nedge1,0,20\nedge2,20,0\n", "utf-8")
    return path


def test_a_valid_file_is_reported_on_stderr(gesscale, file):
    code, out, err = gesscale("config", "validate", file)
    assert (code, out) == (0, "")
    assert "valid; operators: nearest" in err


def test_options_variables_and_the_latency_map_are_checked_too(gesscale, file, monkeypatch):
    code, _, err = gesscale("config", "validate", file, "--set", "monitor.period=5x")
    assert (code, codes(err)) == (2, ["duration-invalid"])
    assert "option, monitor.period" in err
    monkeypatch.setenv("GESSCALE_MONITOR__PERIOD", "5x")
    code, _, err = gesscale("config", "validate", file)
    assert (code, codes(err)) == (2, ["duration-invalid"])
    assert "environment, monitor.period" in err
    monkeypatch.delenv("GESSCALE_MONITOR__PERIOD")
    file.with_name("edge8.csv").write_text(",edge9,edge2\nedge9,0,20\nedge2,20,0\n", "utf-8")
    code, _, err = gesscale("config", "validate", file)
    assert (code, codes(err)) == (2, ["node-not-in-latency-map"])


def test_schema_definition_and_pages_go_to_stdout(gesscale):
    assert "workflow" in json.loads(gesscale("config", "schema")[1])["properties"]
    assert gesscale("config", "docs")[1].startswith("# Settings")
    definition = yaml.safe_load(gesscale("crd", "show")[1])
    assert definition["metadata"]["name"] == "streamautoscalers.gesscale.dev"
    assert gesscale("crd", "docs")[1].startswith("# StreamAutoscaler\n")
