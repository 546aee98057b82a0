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
from gesscale.settings.schema import plain_schema

_EXCLUSIVE = (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum"))


def structural_schema(model: type[BaseModel]) -> Any:
    """Return the schema of a part and all it contains, as ``openAPIV3Schema`` holds it."""
    return _with_flags(plain_schema(model))


def _with_flags(schema: Any) -> Any:
    """Write each exclusive limit as a flag next to the limit, as OpenAPI does."""
    if isinstance(schema, list):
        return [_with_flags(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    written = {key: _with_flags(item) for key, item in schema.items()}
    for exclusive, limit in _EXCLUSIVE:
        if exclusive in written:
            written |= {limit: written[exclusive], exclusive: True}
    return written


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
