"""``gesscale run --kubernetes`` as a user types it, where it cannot begin."""

import pytest


def flat(text):
    return " ".join(text.split())


@pytest.mark.parametrize("extra", [("--config", "x.yaml"), ("--steps", "3")])
def test_its_settings_are_resources_and_nothing_else(gesscale, extra):
    code, _, said = gesscale("run", "--kubernetes", *extra)
    assert code == 2
    assert "expected --kubernetes without --config, --set, --policy, --steps and --output" in flat(said)


def test_the_change_budget_of_a_controller_is_its_own_option(gesscale):
    code, _, said = gesscale("run", "--config", "x.yaml", "--max-changing-operators", "2")
    assert code == 2
    assert "else set plan.max_changing_operators" in flat(said)
    code, _, said = gesscale("run", "--kubernetes", "--max-changing-operators", "0")
    assert code == 2
    assert "greater than or equal to 1" in flat(said)
