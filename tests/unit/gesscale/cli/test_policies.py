"""``gesscale policies``: what people see before they choose one."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gesscale.cli.app import app
from gesscale.errors import SettingsError
from gesscale.policies import policy_names
from gesscale.settings.analyze import AnalyzeSettings

ROOT = Path(__file__).parents[4]


def said(*arguments):
    result = CliRunner().invoke(app, ["policies", *arguments, "-o", "json"], catch_exceptions=False)
    assert result.exit_code == 0
    return json.loads(result.stdout)


def test_every_policy_is_listed_with_its_source():
    listed = said("list")["policies"]
    assert [item["name"] for item in listed] == list(policy_names())
    assert all(item["source"] and item["summary"] and item["installed"] for item in listed)


def test_a_policy_is_shown_with_the_settings_that_it_heeds():
    shown = said("show", "thr-nlaware")
    assert [row["key"] for row in shown["settings"]] == [
        "analyze.stabilization_window",
        "analyze.cpu_high_pct",
        "analyze.cpu_low_pct",
    ]
    assert shown["settings"][1]["default"] == "90.0"


@pytest.mark.parametrize("name", policy_names())
def test_no_policy_heeds_a_setting_that_there_is_not(name):
    from gesscale.policies import policy_card

    assert set(policy_card(name).accepted) <= AnalyzeSettings.model_fields.keys()
    assert len(said("show", name)["settings"]) >= len(policy_card(name).accepted)


@pytest.mark.parametrize("name", policy_names())
def test_every_policy_has_its_page_and_the_overview_names_it(name):
    guide = said("show", name)["guide"]
    assert f"`{name}`" in (ROOT / guide).read_text(encoding="utf-8")
    assert f"`{name}`" in (ROOT / "docs" / "reference" / "policies" / "README.md").read_text(encoding="utf-8")


def test_the_table_is_for_people():
    shown = CliRunner().invoke(app, ["policies", "show", "static"], catch_exceptions=False)
    assert "as many replicas as it began with" in shown.stdout
    assert "--policy static" in shown.stderr


def test_an_unknown_policy_is_refused_with_the_nearest_name():
    with pytest.raises(SettingsError, match="did you mean 'gesscale'"):
        CliRunner().invoke(app, ["policies", "show", "gescale"], catch_exceptions=False)
