"""``gesscale policies list`` and ``show``."""

import json
from pathlib import Path

import pytest
from refusals import codes

from gesscale.policies import policy_info, policy_names
from gesscale.settings.analyze import AnalyzeSettings

DOCS = Path(__file__).parents[4] / "docs"


@pytest.fixture
def printed(gesscale):
    def command(*words):
        code, out, err = gesscale("policies", *words, "-o", "json")
        assert code == 0, err
        return json.loads(out)

    return command


def test_every_policy_is_listed_with_its_source(printed):
    listed = printed("list")["policies"]
    assert [item["name"] for item in listed] == list(policy_names())
    assert all(item["source"] and item["summary"] and item["installed"] for item in listed)


def test_a_policy_whose_settings_have_the_price_of_a_late_minute_knows_it(printed):
    for item in printed("list")["policies"]:
        settings = policy_info(item["name"]).settings
        has_price = settings is not None and "late_minute_price" in settings.model_fields
        assert item["knows_price"] == printed("show", item["name"])["knows_price"] == has_price


def test_every_policy_has_existing_settings_and_a_page(printed):
    overview = (DOCS / "reference" / "policies" / "README.md").read_text("utf-8")
    for name in policy_names():
        assert set(policy_info(name).accepted) <= AnalyzeSettings.model_fields.keys()
        shown = printed("show", name)
        assert len(shown["settings"]) >= len(policy_info(name).accepted)
        assert f"`{name}`" in (DOCS.parent / shown["guide"]).read_text("utf-8")
        assert f"`{name}`" in overview


def test_an_unknown_policy_is_refused_with_the_nearest_name(gesscale):
    code, _, err = gesscale("policies", "show", "gescale")
    assert (code, codes(err)) == (2, ["policy-unknown"])
    assert "gesscale" in err
