"""``gesscale arena score``."""

import json

import pytest

from gesscale.errors import InputError


def test_a_recorded_series_is_scored(tmp_path, arena):
    file = tmp_path / "series.csv"
    file.write_text(
        "t_s,demand_replicas,supply_replicas,input_rows_per_s,processed_rows_per_s,reconfiguration\n"
        "0,1,2,100,100,0\n60,2,2,200,200,0\n120,2,1,200,200,1\n180,1,1,100,100,0\n"
    )
    scores = json.loads(arena("score", file, "--slo", "30s", "--output", "json").stdout)
    # of 180 s: one replica too many in the first 60, one too few in the last 60; 2 + 2 + 1 replica-minutes
    assert scores["accuracy_O"] == pytest.approx(1 / 3)
    assert scores["accuracy_U"] == pytest.approx(1 / 3)
    assert scores["cost"] == pytest.approx(5.0)
    assert scores["reconfigurations"] == 1
    quiet = file.read_text() + "240,1,1,0,0,0\n"
    file.write_text(quiet.replace("180,1,1,100,100,0", "180,1,2,0,0,0"))
    # A fourth minute without input and one replica too many: two of four minutes, and 2 replica-minutes more.
    whole, input_only = (
        json.loads(arena("score", file, *options, "--output", "json").stdout)
        for options in ((), ("--until", "input"))
    )
    assert (whole["accuracy_O"], whole["cost"]) == (pytest.approx(2 / 4), pytest.approx(7))
    assert (input_only["accuracy_O"], input_only["cost"]) == (pytest.approx(1 / 3), pytest.approx(5))
    assert "accuracy_O" in arena("score", file).stdout
    with pytest.raises(InputError, match="--slo: expected a positive duration"):
        arena("score", file, "--slo", "soon")
