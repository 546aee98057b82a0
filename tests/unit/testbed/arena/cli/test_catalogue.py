"""``gesscale arena list``."""

import json


def test_policies_workloads_and_experiments_are_listed(arena):
    document = json.loads(arena("list", "--output", "json").stdout)
    assert "gesscale" in [each["name"] for each in document["policies"]]
    assert "nyc" in [each["name"] for each in document["workloads"]]
    assert {"standard", "table3"} <= {each["name"] for each in document["experiments"]}
    assert all(each["summary"] for part in ("policies", "workloads", "experiments") for each in document[part])
