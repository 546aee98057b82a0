"""The definition of StreamAutoscaler and its structural schema, generated from the models."""

from collections.abc import Mapping
from typing import Any

import yaml
from pydantic import BaseModel

from gesscale.kubernetes.resource.autoscaler import (
    GROUP,
    KIND,
    PLURAL,
    SHORT,
    SINGULAR,
    VERSION,
    StreamAutoscaler,
)
from gesscale.kubernetes.resource.spec import StreamAutoscalerSpec
from gesscale.kubernetes.resource.status import StreamAutoscalerStatus

_DROPPED = {"title", "$defs", "additionalProperties", "propertyNames", "anyOf", "$ref"}
_ORDER = {key: place for place, key in enumerate(("description", "type", "format", "default"))}
_NULL = {"type": "null"}


def structural_schema(model: type[BaseModel]) -> dict[str, Any]:
    """Return the schema of a part and all it contains, as ``openAPIV3Schema`` holds it.

    Pydantic writes JSON Schema; Kubernetes takes the part of OpenAPI that it can prune, default and price: no
    references, no null, no closed objects.
    """
    written = model.model_json_schema(by_alias=True, mode="serialization")
    return _structural(written, written.get("$defs", {}))


def _structural(written: Mapping[str, Any], definitions: Mapping[str, Any]) -> dict[str, Any]:
    if "$ref" in written:
        written = {**definitions[written["$ref"].rpartition("/")[2]], **written}
    options = written.get("anyOf", ())
    if _NULL in options:
        (only,) = (option for option in options if option != _NULL)
        said = {key: item for key, item in written.items() if key != "anyOf"}
        return _structural({**only, **said}, definitions)
    schema = {key: item for key, item in written.items() if key not in _DROPPED}
    if options:  # a whole number or text: Kubernetes knows no other choice
        schema["anyOf"] = options
    if schema.get("default", "") in ((), [], "", None):
        schema.pop("default", None)
    for exclusive, limit in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if exclusive in schema:  # a flag next to the limit
            schema |= {limit: schema[exclusive], exclusive: True}
    if "items" in schema:
        schema["items"] = _structural(schema["items"], definitions)
    if isinstance(members := written.get("additionalProperties"), Mapping):
        schema["additionalProperties"] = _structural(members, definitions)
    if "properties" in schema:
        required = schema.get("required", ())
        schema["properties"] = {
            name: _member(member, definitions, required=name in required)
            for name, member in schema["properties"].items()
        }
    return dict(sorted(schema.items(), key=lambda item: _ORDER.get(item[0], len(_ORDER))))


def _member(written: Mapping[str, Any], definitions: Mapping[str, Any], *, required: bool) -> dict[str, Any]:
    """Write out the default of a group: the API server tries it against the rules before it fills in what is within."""
    schema = _structural(written, definitions)
    schema["description"] = " ".join(schema["description"].split())
    members = schema.get("properties", {})
    within = {name: member["default"] for name, member in members.items() if "default" in member}
    if within and not required and "anyOf" not in written:
        schema["default"] = within
    return schema


_HEAD = """\
# Written by `gesscale crd show > deploy/k3s/crd/streamautoscalers.yaml`;
# change gesscale/kubernetes/resource/ and gesscale/settings/ instead.
"""
_READY = '.status.conditions[?(@.type=="Ready")]'

COLUMNS: tuple[Mapping[str, Any], ...] = (
    {"name": "Min", "type": "integer", "jsonPath": ".spec.minReplicas"},
    {"name": "Max", "type": "integer", "jsonPath": ".spec.maxReplicas"},
    {"name": "Replicas", "type": "integer", "jsonPath": ".status.replicas"},
    {"name": "Desired", "type": "integer", "jsonPath": ".status.desiredReplicas"},
    {"name": "MST", "type": "number", "jsonPath": ".status.mst.mid"},
    {"name": "Load", "type": "number", "jsonPath": ".status.load.inputRowsPerSecond"},
    {"name": "Mode", "type": "string", "jsonPath": ".spec.mode"},
    {"name": "Ready", "type": "string", "jsonPath": f"{_READY}.status"},
    {"name": "Reason", "type": "string", "jsonPath": f"{_READY}.reason", "priority": 1},
    {"name": "Workflow", "type": "string", "jsonPath": ".spec.workflow", "priority": 1},
    {"name": "Placement", "type": "string", "jsonPath": ".status.placement", "priority": 1},
    {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
)
"""What ``kubectl get sas`` shows; those of priority 1 with ``-o wide`` only. MST and Load are in rows per second."""


def definition() -> dict[str, Any]:
    """Return the CustomResourceDefinition as nested mappings."""
    schema = {
        "description": "One operator of a streaming workflow: a Spark Structured Streaming application whose executors "
        "are placed and counted by gesscale.",
        "type": "object",
        "required": ["spec"],
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object"},
            "spec": structural_schema(StreamAutoscalerSpec),
            "status": structural_schema(StreamAutoscalerStatus),
        },
        "x-kubernetes-validations": [
            {"rule": rule.cel, "message": rule.message} for rule in StreamAutoscaler.RULES
        ],
    }
    version = {
        "name": VERSION,
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "additionalPrinterColumns": [dict(column) for column in COLUMNS],
        "schema": {"openAPIV3Schema": schema},
    }
    names = {"kind": KIND, "listKind": f"{KIND}List", "plural": PLURAL, "singular": SINGULAR}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{PLURAL}.{GROUP}", "labels": {"app.kubernetes.io/name": "gesscale"}},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {**names, "shortNames": [SHORT], "categories": ["gesscale"]},
            "versions": [version],
        },
    }


def definition_yaml() -> str:
    """Return the definition as YAML: what deploy/k3s/crd/streamautoscalers.yaml holds; a test compares the two."""
    return _HEAD + yaml.dump(
        definition(), Dumper=_Plain, sort_keys=False, width=110, allow_unicode=True, default_flow_style=False
    )


class _Plain(yaml.SafeDumper):
    """Writes what occurs twice twice: people read this."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - PyYAML's hook
        """Never refer back."""
        return True
