"""The definition of StreamAutoscaler and its structural schema, generated from the models."""

from collections.abc import Mapping
from typing import Any

import yaml
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from gesscale.fields import model_within
from gesscale.kubernetes.resource.autoscaler import (
    GROUP,
    KIND,
    PLURAL,
    SHORT,
    SINGULAR,
    VERSION,
    StreamAutoscaler,
)
from gesscale.kubernetes.resource.parts import NEVER, ResourcePart, format_span
from gesscale.kubernetes.resource.spec import StreamAutoscalerSpec
from gesscale.kubernetes.resource.status import StreamAutoscalerStatus

_DROPPED = {"title", "default", "additionalProperties", "$defs"}


def structural_schema(model: type[BaseModel]) -> dict[str, Any]:
    """Return the schema of a part and all it contains.

    Parameters
    ----------
    model
        A part, such as the spec.

    Returns
    -------
    dict
        As ``openAPIV3Schema`` holds it.
    """
    written = model.model_json_schema(by_alias=True)
    return _Walk(written.get("$defs", {})).part(model, written)


class _Walk:
    """Walks models and the JSON Schema that pydantic wrote of them side by side."""

    def __init__(self, definitions: Mapping[str, Any]) -> None:
        self._definitions = definitions

    def part(self, model: type[BaseModel], written: Mapping[str, Any]) -> dict[str, Any]:
        """Return the schema of one model."""
        schema: dict[str, Any] = {"type": "object", "description": written["description"]}
        required = [name for name in written.get("required", ()) if name in written.get("properties", {})]
        if required:
            schema["required"] = required
        schema["properties"] = {
            field.alias or name: self._field(field, written["properties"][field.alias or name])
            for name, field in model.model_fields.items()
        }
        if issubclass(model, ResourcePart) and model.RULES:
            schema["x-kubernetes-validations"] = [
                {"rule": rule.cel, "message": rule.message} for rule in model.RULES
            ]
        return schema

    def _field(self, field: FieldInfo, written: Mapping[str, Any]) -> dict[str, Any]:
        schema = self._value(field.annotation, written)
        schema["description"] = field.description or ""
        if (default := _default(field, schema)) is not None:
            schema["default"] = default
        return dict(sorted(schema.items(), key=lambda item: _ORDER.get(item[0], len(_ORDER))))

    def _value(self, annotation: Any, written: Mapping[str, Any]) -> dict[str, Any]:
        """Return the schema of a value whose type is, holds or may be a model."""
        merged = {**self._resolved(written), **{key: item for key, item in written.items() if key != "$ref"}}
        options = merged.get("anyOf", ())
        if any(option.get("type") == "null" for option in options):
            (only,) = (option for option in options if option.get("type") != "null")
            return self._value(annotation, {**only, **{k: v for k, v in merged.items() if k != "anyOf"}})
        inner = model_within(annotation)
        if merged.get("type") == "array":
            schema = {key: item for key, item in merged.items() if key not in _DROPPED | {"items"}}
            return {**schema, "items": self._value(annotation, merged["items"])}
        if inner is not None:
            return self.part(inner, self._resolved(written))
        schema = {key: item for key, item in merged.items() if key not in _DROPPED}
        if schema.get("x-kubernetes-preserve-unknown-fields"):
            return {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        if isinstance(members := merged.get("additionalProperties"), Mapping):
            schema["additionalProperties"] = self._value(None, members)
        schema.pop("propertyNames", None)  # not known to structural schemas
        return _openapi_limits(schema)

    def _resolved(self, written: Mapping[str, Any]) -> Mapping[str, Any]:
        reference = written.get("$ref")
        return self._definitions[reference.rpartition("/")[2]] if reference else written


_ORDER = {key: place for place, key in enumerate(("description", "type", "format", "default"))}


def _openapi_limits(schema: dict[str, Any]) -> dict[str, Any]:
    """Write exclusive limits as OpenAPI 3.0 does: a flag next to the limit."""
    for exclusive, limit in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if exclusive in schema:
            schema[limit] = schema[exclusive]
            schema[exclusive] = True
    return schema


def _default(field: FieldInfo, schema: Mapping[str, Any]) -> Any:
    """Return the default as a resource says it; None where it says nothing."""
    if schema.get("type") == "object":
        # Written out: the API server tries a default against the rules before it fills in what is within.
        members = schema.get("properties", {})
        nested = {name: member["default"] for name, member in members.items() if "default" in member}
        return nested if field.default_factory is not None and nested else None
    value = field.default
    if field.is_required() or value in ((), ""):
        return None
    if _is_span(schema):
        return format_span(value) if value is not None else NEVER if _takes_never(schema) else None
    return getattr(value, "value", value)


def _is_span(schema: Mapping[str, Any]) -> bool:
    return "ms)" in schema.get("pattern", "")


def _takes_never(schema: Mapping[str, Any]) -> bool:
    return NEVER in schema.get("pattern", "")


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
