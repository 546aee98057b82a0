import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gesscale.cli.config import app
from gesscale.errors import SettingsError

SOUND = """
workflow:
  operators:
    nearest: {driver_node: edge1, metrics_url: "http://edge1:4041"}
latency_map: {file: edge8.csv, unit: ms, kind: rtt}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "gesscale.yaml"
    path.write_text(SOUND, "utf-8")
    (tmp_path / "edge8.csv").write_text(",edge1,edge2\nedge1,0,20\nedge2,20,0\n", "utf-8")
    return path


def test_a_sound_file_is_said_to_be_valid_on_stderr(file: Path) -> None:
    result = CliRunner().invoke(app, ["validate", str(file)])
    assert result.exit_code == 0
    assert result.stdout == ""
    assert "valid; operators: nearest" in result.stderr


def test_a_wrong_option_is_found_too(file: Path) -> None:
    result = CliRunner().invoke(app, ["validate", str(file), "--set", "monitor.period=5x"])
    assert isinstance(result.exception, SettingsError)
    assert "option: monitor.period: expected a positive duration" in str(result.exception)


def test_a_wrong_variable_is_found_too(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GESSCALE_MONITOR__PERIOD", "5x")
    result = CliRunner().invoke(app, ["validate", str(file)])
    assert isinstance(result.exception, SettingsError)
    assert "environment: monitor.period: expected a positive duration" in str(result.exception)


def test_the_latency_map_is_looked_at_too(file: Path) -> None:
    map_file = file.with_name("edge8.csv")
    map_file.write_text(map_file.read_text("utf-8").replace("edge1", "edge9"), "utf-8")
    result = CliRunner().invoke(app, ["validate", str(file)])
    assert isinstance(result.exception, SettingsError)
    assert f"expected a node of the latency map {map_file} (edge9, edge2), got 'edge1'" in str(
        result.exception
    )


def test_the_schema_is_json_on_stdout() -> None:
    result = CliRunner().invoke(app, ["schema"])
    assert result.exit_code == 0
    assert "workflow" in json.loads(result.stdout)["properties"]


def test_the_page_of_settings_is_markdown_on_stdout() -> None:
    result = CliRunner().invoke(app, ["docs"])
    assert result.exit_code == 0
    assert result.stdout.startswith("# Settings")
