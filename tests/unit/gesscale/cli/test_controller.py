"""``gesscale run --kubernetes`` with wrong options."""

import pytest
from refusals import codes


@pytest.mark.parametrize("extra", [("--config", "x.yaml"), ("--steps", "3")])
def test_its_settings_are_resources_and_nothing_else(gesscale, extra):
    code, _, err = gesscale("run", "--kubernetes", *extra)
    assert (code, codes(err)) == (2, ["usage-conflict"])


def test_the_change_budget_of_a_controller_is_its_own_option(gesscale):
    code, _, err = gesscale("run", "--config", "x.yaml", "--max-changing-operators", "2")
    assert (code, codes(err)) == (2, ["usage-option-required"])
    code, _, err = gesscale("run", "--kubernetes", "--max-changing-operators", "0")
    assert (code, codes(err)) == (2, ["usage-invalid"])
