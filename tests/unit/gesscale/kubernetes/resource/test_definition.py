"""The definition that the API server gets: structural, bounded, described, and with the defaults of the settings."""

import math
from pathlib import Path

import pytest
from structural import faults, nodes

from gesscale.kubernetes.resource.crd import COLUMNS, definition, definition_yaml
from gesscale.kubernetes.resource.reference import reference_page
from gesscale.kubernetes.resource.spec import StreamAutoscalerSpec
from gesscale.settings.analyze import AnalyzeSettings
from gesscale.settings.groups import MonitorSettings, PlanSettings
from gesscale.settings.latency_map import LatencyMapSettings
from gesscale.settings.operators import OperatorSettings

ROOT = Path(__file__).parents[5]
SCHEMA = definition()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
SPEC, STATUS = SCHEMA["properties"]["spec"], SCHEMA["properties"]["status"]


def test_the_file_that_is_applied_is_the_generated_one():
    assert (ROOT / "deploy/k3s/crd/streamautoscalers.yaml").read_text("utf-8") == definition_yaml()


def test_the_page_is_the_generated_one():
    assert (ROOT / "docs/reference/streamautoscaler.md").read_text("utf-8") == reference_page()


@pytest.mark.parametrize("schema", [SPEC, STATUS], ids=["spec", "status"])
def test_it_is_structural(schema):
    forbidden = {
        "$ref",
        "$defs",
        "title",
        "uniqueItems",
        "patternProperties",
        "oneOf",
        "const",
        "propertyNames",
    }
    for path, node in nodes(schema, "$"):
        assert not forbidden & node.keys(), path
        assert "type" in node or node.get("x-kubernetes-int-or-string"), path
        assert "anyOf" not in node or node.get("x-kubernetes-int-or-string"), path
        # a group is open in JSON Schema: the API server prunes what it does not know
        assert not ("properties" in node and "additionalProperties" in node), path
        assert node.get("default", "") is not None, path


@pytest.mark.parametrize("schema", [SPEC, STATUS], ids=["spec", "status"])
def test_all_that_grows_is_bounded_since_the_server_prices_rules_by_it(schema):
    for path, node in nodes(schema, "$"):
        kind = node.get("type")
        if kind == "array":
            assert "maxItems" in node, path
        if kind == "string":
            assert "maxLength" in node or "enum" in node or node.get("format") == "date-time", path
        if "additionalProperties" in node:
            assert "maxProperties" in node, path


@pytest.mark.parametrize("schema", [SPEC, STATUS], ids=["spec", "status"])
def test_every_member_is_described(schema):
    for path, node in nodes(schema, "$"):
        for name, member in node.get("properties", {}).items():
            assert len(member["description"]) > 3, f"{path}.{name}"
            assert "_" not in member["description"], (
                f"{path}.{name} speaks of a setting by its name in a file"
            )


def test_every_spec_member_without_a_required_value_says_why_its_default():
    for path, node in nodes(SPEC, "$"):
        for name, member in node.get("properties", {}).items():
            leaf = "properties" not in member
            optional = name not in node.get("required", ())
            within_list = "items" in path or path.endswith(("selector", "nodePool"))
            if leaf and optional and not within_list:
                assert "Default: " in member["description"], f"{path}.{name}"


def seconds(span):
    # written here once more: h, m, s, ms as Go reads them
    units = {"h": 3600, "m": 60, "s": 1}
    return float(span[:-1]) * units[span[-1]]


CAMEL = {
    "policy": (AnalyzeSettings, {"policy": "name"}),
    "monitor": (MonitorSettings, {}),
    "latencyMap": (LatencyMapSettings, {}),
    "reconfiguration": (PlanSettings, {}),
    "": (OperatorSettings, {}),
}


def camel(name):
    first, *rest = name.removesuffix("_s").split("_")
    return first + "".join(word.capitalize() for word in rest)


@pytest.mark.parametrize("group", CAMEL)
def test_every_default_is_that_of_the_setting(group):
    settings, renamed = CAMEL[group]
    members = (SPEC["properties"][group] if group else SPEC)["properties"]
    compared = 0
    for name, field in settings.model_fields.items():
        member = members.get(renamed.get(name, camel(name)))
        if member is None or field.is_required() or name in {"source", "agents_dns", "kafka"}:
            continue  # the sources differ on purpose: a cluster has agents, and a file it has not
        if member["type"] == "object" and "properties" in member:
            continue  # a group within is made from its settings
        compared += 1
        default = member.get("default")
        if name.endswith("_s") and default is not None:
            assert math.isclose(seconds(default), field.default), name
        else:
            assert default == (None if field.default in ((), None) else field.default), name
        for limit in field.metadata:
            for key, word in (("ge", "minimum"), ("gt", "minimum"), ("lt", "maximum")):
                if hasattr(limit, key):
                    assert member[word] == getattr(limit, key), name
    assert compared >= (1 if group == "reconfiguration" else 3)


def test_no_setting_of_the_policy_is_missing():
    # `policy` is called `name` there
    expected = {camel(name) for name in AnalyzeSettings.model_fields} - {"policy"} | {"name"}
    assert set(SPEC["properties"]["policy"]["properties"]) == expected


def test_the_defaults_of_the_definition_are_those_of_the_models():
    def filled(schema, value):
        """Fill in defaults as the API server does: where a member is missing, then within what is there."""
        if schema.get("type") == "object":
            for name, member in schema.get("properties", {}).items():
                if name not in value and "default" in member:
                    value[name] = (
                        member["default"].copy() if member["type"] == "object" else member["default"]
                    )
                if name in value:
                    filled(member, value[name])
        return value

    by_server = StreamAutoscalerSpec.model_validate(filled(SPEC, {}))
    assert by_server == StreamAutoscalerSpec.model_validate({})
    assert not list(faults(SPEC, filled(SPEC, {})))


def test_the_columns_name_members_that_there_are():
    for column in COLUMNS:
        schema = SCHEMA
        for part in column["jsonPath"].split("[")[0].removeprefix(".").split("."):
            if part == "metadata":
                break
            schema = schema["properties"][part]


def test_every_bound_of_a_whole_number_is_one_that_the_api_server_can_hold():
    # It reads them as floats and takes them for signed 64 bit numbers; one that is rounded up beyond makes it refuse
    # every write to the resource.
    bounds = [
        schema[key]
        for _, schema in nodes(SCHEMA)
        for key in ("minimum", "maximum")
        if schema.get("type") == "integer" and key in schema
    ]
    assert len(bounds) > 20
    assert all(isinstance(bound, int) and abs(bound) <= 2**53 for bound in bounds)
