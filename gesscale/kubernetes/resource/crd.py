"""The definition of StreamAutoscaler, generated from the models, and the page of all its members."""

from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from gesscale.kubernetes.resource.autoscaler import GROUP, KIND, PLURAL, SHORT, SINGULAR, VERSION, StreamAutoscaler
from gesscale.kubernetes.resource.conditions import MEANING
from gesscale.kubernetes.resource.spec import StreamAutoscalerSpec
from gesscale.kubernetes.resource.status import StreamAutoscalerStatus
from gesscale.settings.reference import is_duration, plain_schema, schema_rows

_EXCLUSIVE = (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum"))


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

#: What ``kubectl get sas`` shows; those of priority 1 with ``-o wide`` only. MST and Load are in rows per
#: second.
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
            "spec": _with_flags(plain_schema(StreamAutoscalerSpec)),
            "status": _with_flags(plain_schema(StreamAutoscalerStatus)),
        },
        "x-kubernetes-validations": [{"rule": rule.cel, "message": rule.message} for rule in StreamAutoscaler.RULES],
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


_PAGE_HEAD = """\
# StreamAutoscaler

Written by `gesscale crd docs > docs/reference/streamautoscaler.md`; change the descriptions in
`gesscale/kubernetes/resource/` and `gesscale/settings/`.

One StreamAutoscaler (`gesscale.dev/v1alpha1`, short name `sas`, namespaced) stands for one operator of a workflow: one
Spark Structured Streaming application, whose executors are its replicas. The smallest one only recommends:

```yaml
apiVersion: gesscale.dev/v1alpha1
kind: StreamAutoscaler
metadata: {name: nearest, namespace: taxi}
spec: {}
```

A duration is written as Go writes it: `250ms`, `90s`, `5m`, `1h30m`, `168h`; `Never` stands where a limit may be
lifted. An instant is RFC 3339, such as `2026-11-21T21:00:00Z`. The API server fills in the defaults.
"""

_TABLE = "| Member | Type | Default | Meaning, and why this default |\n|---|---|---|---|\n"
_STATUS_TABLE = "| Member | Type | Meaning |\n|---|---|---|\n"


def reference_page() -> str:
    """Return the page as Markdown: what docs/reference/streamautoscaler.md holds; a test compares the two."""
    version = definition()["spec"]["versions"][0]
    schema = version["schema"]["openAPIV3Schema"]
    spec, status = schema["properties"]["spec"], schema["properties"]["status"]
    spec_rows = "".join(
        f"| `{row.key}` | {row.kind} | {row.default} | {row.meaning} |\n"
        for row in schema_rows(spec, "spec.", groups=True)
    )
    status_rows = "".join(f"| `{row.key}` | {row.kind} | {row.meaning} |\n" for row in schema_rows(status, "status."))
    rules = "".join(f"- `{path}`: {message}\n" for path, message in sorted(set(_rules(schema, ""))))
    conditions = "".join(f"| `{name}` | {meaning} |\n" for name, meaning in MEANING.items())
    columns = ", ".join(
        f"{column['name']} (`{column['jsonPath']}`{', wide' if column.get('priority') else ''})" for column in COLUMNS
    )
    return (
        f"{_PAGE_HEAD}\n## What people say: spec\n\n{_TABLE}{spec_rows}\n"
        f"## What the API server refuses besides\n\n{rules}\n"
        f"## What is reported: status\n\n{_STATUS_TABLE}{status_rows}\n"
        f"## Conditions\n\n| Type | True means |\n|---|---|\n{conditions}\n"
        f"## Columns of `kubectl get sas`\n\n{columns}. MST and Load are in rows per second.\n"
    )


def _rules(schema: Mapping[str, Any], path: str) -> Iterator[tuple[str, str]]:
    for rule in schema.get("x-kubernetes-validations", ()):
        if not is_duration(schema):
            yield path or "metadata", rule["message"]
    for name, member in schema.get("properties", {}).items():
        yield from _rules(member, f"{path}.{name}".lstrip("."))
    if "items" in schema:
        yield from _rules(schema["items"], f"{path}[]")
