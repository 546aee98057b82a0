"""The page of all members of a StreamAutoscaler, written from its definition."""

from collections.abc import Iterator, Mapping
from typing import Any

from gesscale.kubernetes.resource.conditions import MEANING
from gesscale.kubernetes.resource.crd import COLUMNS, definition
from gesscale.settings.schema import is_duration, schema_rows

_HEAD = """\
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
    status_rows = "".join(
        f"| `{row.key}` | {row.kind} | {row.meaning} |\n" for row in schema_rows(status, "status.")
    )
    rules = "".join(f"- `{path}`: {message}\n" for path, message in sorted(set(_rules(schema, ""))))
    conditions = "".join(f"| `{name}` | {meaning} |\n" for name, meaning in MEANING.items())
    columns = ", ".join(
        f"{column['name']} (`{column['jsonPath']}`{', wide' if column.get('priority') else ''})"
        for column in COLUMNS
    )
    return (
        f"{_HEAD}\n## What people say: spec\n\n{_TABLE}{spec_rows}\n"
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
