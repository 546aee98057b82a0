"""``gesscale explain-error``: each code of the catalogues, offline."""

import json

from refusals import error_in_json

from gesscale.common.errors import catalogue


def test_an_error_code_is_explained(gesscale):
    entry = catalogue()["package-missing"]
    status, out, _ = gesscale("explain-error", "package-missing", "--output", "json")
    document = json.loads(out)
    assert status == 0
    assert (document["package"], document["meaning"], document["action"]) == ("gesscale", entry.meaning, entry.action)
    _, table, _ = gesscale("explain-error", "error[package-missing]")
    assert entry.action in table


def test_an_unknown_code_leads_to_the_nearest(gesscale):
    status, _, err = gesscale("explain-error", "io-faild", "--output", "json")
    error = error_in_json(err)
    assert (status, error["code"], error["fields"]["got"]) == (2, "error-code-unknown", "io-faild")
    assert error["fields"]["nearest"][0] == "io-failed"
