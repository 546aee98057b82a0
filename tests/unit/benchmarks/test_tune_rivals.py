"""The grids of the rivals: the same effort for each."""

import csv
import runpy
from pathlib import Path

import pytest

from gesscale.policies import policy_info

BENCHMARK = runpy.run_path(str(Path(__file__).parents[3] / "benchmarks" / "tune_rivals.py"))
points, tuning, write_table = BENCHMARK["points"], BENCHMARK["tuning"], BENCHMARK["write_table"]


@pytest.mark.parametrize("rival", BENCHMARK["GRIDS"])
def test_each_grid_has_about_sixteen_valid_points_and_the_defaults(rival):
    settings = policy_info(rival).settings
    made = [settings.model_validate(point) for point in points(rival)]
    assert 15 <= len(made) <= 18
    assert settings() in made
    assert len({repr(each) for each in made}) == len(made)


@pytest.mark.parametrize(("experiment", "engines"), [("league", 2), ("edge", 1)])
def test_an_experiment_has_a_variant_for_each_engine_and_point(experiment, engines):
    made = tuning("ds2", experiment, 2, ["steps"])
    assert len(made.variant_names) == 16 * engines
    assert (made.seeds, made.workloads) == ((100, 101), ("steps",))


def test_the_table_has_the_cost_of_the_defaults_and_of_the_best_point(tmp_path):
    found = [{"total_costs": [float(number)] * 3} for number in range(len(points("ds2")))]
    best = {f"at {price}": {"total_cost": 0.5, "settings": {"cooldown": "1m"}} for price in (1, 10, 100)}
    write_table(tmp_path / "table.csv", {"ds2": {"spark": {"best": best, "total_costs": found}}})
    rows = list(csv.reader((tmp_path / "table.csv").read_text("utf-8").splitlines()))
    assert rows[0][:3] == ["policy", "engine", "price"]
    # The defaults, a cooldown of 5 min with 1.2, are the fifth point.
    assert rows[1] == ["ds2", "Spark", "1", "4.00", "0.50", "cooldown 1m"]
    assert len(rows) == 4
