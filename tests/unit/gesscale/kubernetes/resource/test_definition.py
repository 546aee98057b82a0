"""The CustomResourceDefinition: structural, bounded, described, with the defaults of the settings."""

from pathlib import Path

import pytest
from structural import faults, nodes

from gesscale.kubernetes.resource.autoscaler import GROUP, PLURAL, SINGULAR, VERSION
from gesscale.kubernetes.resource.crd import definition, definition_yaml, reference_page
from gesscale.kubernetes.resource.spec import StreamAutoscalerSpec

ROOT = Path(__file__).parents[5]
DEFINITION = definition()["spec"]
(DEFINED_VERSION,) = DEFINITION["versions"]
SCHEMA = DEFINED_VERSION["schema"]["openAPIV3Schema"]
SPEC, STATUS = SCHEMA["properties"]["spec"], SCHEMA["properties"]["status"]


def test_the_file_that_is_applied_is_the_generated_one():
    assert (ROOT / "deploy/k3s/crd/streamautoscalers.yaml").read_text("utf-8") == definition_yaml()


def test_the_page_is_the_generated_one():
    assert (ROOT / "docs/reference/streamautoscaler.md").read_text("utf-8") == reference_page()


def test_its_names_are_those_of_the_requests():
    names = DEFINITION["names"]
    assert (DEFINITION["group"], DEFINED_VERSION["name"]) == (GROUP, VERSION)
    assert (names["plural"], names["singular"]) == (PLURAL, SINGULAR)


@pytest.mark.parametrize("schema", [SPEC, STATUS], ids=["spec", "status"])
def test_it_is_structural_bounded_and_described(schema):
    forbidden = {"$ref", "$defs", "title", "uniqueItems", "patternProperties", "oneOf", "const", "propertyNames"}
    for path, node in nodes(schema, "$"):
        kind = node.get("type")
        assert not forbidden & node.keys(), path
        assert kind or node.get("x-kubernetes-int-or-string"), path
        assert "anyOf" not in node or node.get("x-kubernetes-int-or-string"), path
        # groups are open in JSON Schema: the API server prunes unknown members
        assert not ("properties" in node and "additionalProperties" in node), path
        assert node.get("default", "") is not None, path
        # the server limits the worst-case cost of rules
        assert kind != "array" or "maxItems" in node, path
        bounded = "maxLength" in node or "enum" in node or node.get("format") == "date-time"
        assert kind != "string" or bounded, path
        assert "additionalProperties" not in node or "maxProperties" in node, path
        for name, member in node.get("properties", {}).items():
            assert len(member["description"]) > 3, f"{path}.{name}"


@pytest.mark.parametrize(
    ("path", "default"), [("slo", "1m"), ("monitor.period", "1m"), ("latencyMap.maxAge", "24h"), ("maxReplicas", 8)]
)
def test_defaults_are_those_of_the_settings(path, default):
    member = SPEC
    for part in path.split("."):
        member = member["properties"][part]
    assert member["default"] == default


def test_the_settings_of_a_policy_are_an_open_map_without_defaults():
    policy = SPEC["properties"]["policy"]
    assert set(policy["properties"]) == {"name", "settings"}
    assert policy["properties"]["settings"]["x-kubernetes-preserve-unknown-fields"] is True
    assert policy["default"] == {"name": "gesscale"}


def test_the_defaults_of_the_definition_are_those_of_the_models():
    def filled(schema, value):
        """Fill in defaults as the API server does: first missing members, then within those present."""
        if schema.get("type") == "object":
            for name, member in schema.get("properties", {}).items():
                if name not in value and "default" in member:
                    value[name] = member["default"].copy() if member["type"] == "object" else member["default"]
                if name in value:
                    filled(member, value[name])
        return value

    by_server = StreamAutoscalerSpec.model_validate(filled(SPEC, {}))
    assert by_server == StreamAutoscalerSpec.model_validate({})
    assert not list(faults(SPEC, filled(SPEC, {})))


def test_the_columns_name_existing_fields():
    for column in DEFINED_VERSION["additionalPrinterColumns"]:
        schema = SCHEMA
        for part in column["jsonPath"].split("[")[0].removeprefix(".").split("."):
            if part == "metadata":
                break
            schema = schema["properties"][part]


def test_bounds_of_integers_fit_into_64_bits():
    # It parses them as floats and converts them to int64; one that is rounded up beyond makes it refuse every write.
    bounds = [
        schema[key]
        for _, schema in nodes(SCHEMA)
        for key in ("minimum", "maximum")
        if schema.get("type") == "integer" and key in schema
    ]
    assert len(bounds) > 20
    assert all(isinstance(bound, int) and abs(bound) <= 2**53 for bound in bounds)
