"""Writes the reference of the served JSON and a schema of each document: ``python tests/json_page.py``."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_type_hints

from page_world import growing, step_of
from pydantic import TypeAdapter
from recorded_steps import T0_S
from typing_extensions import is_typeddict

from gesscale.batch_record import BatchRecord, HostWork, figures_of
from gesscale.common.errors import Problem
from gesscale.model.decision import Decision
from gesscale.model.document import codec
from gesscale.monitor.records import BatchesDocument, ServedRecord
from gesscale.ports import Node
from gesscale.service import documents
from gesscale.service.api import pages_of
from gesscale.service.journal import Journal

REFERENCE = Path(__file__).parents[1] / "docs" / "reference"
SERVED = {
    "run": ("`/api/run`", documents.Run),
    "points": ("`/api/points?workflow=W[&operator=O]`", documents.DecisionPoints),
    "nodes": ("`/api/nodes?workflow=W`", documents.NodesDocument),
    "alive": ("Event `alive` of `/api/events`", documents.Head),
    "step": ("Event `step` of `/api/events`", documents.StepEvent),
}
_DRAFT = "https://json-schema.org/draft/2020-12/schema"
_OMITTED_IF_EMPTY = {"others", "other_nodes"}
_HEAD = """\
# Served JSON

Written by `python tests/json_page.py` from the types in `gesscale/service/documents.py`. Times are seconds since the
epoch. Unknown values are null. Readers must accept unknown members: later versions add some.

A driver's `/batches`, which you may write yourself: [its sample and members](spark_metrics.md#the-pages),
[schema](schemas/batches.json). The rest of this page is [the API of the page](../howto/page.md#api).
"""


def samples() -> dict[str, Any]:
    """Return a sample of each document after two steps, with fixed version and build."""
    journal = Journal()
    nodes = {each: Node(name=each) for each in ("hub", "near", "mid", "edge", "far")}
    nodes["edge"] = Node(name="edge", problem="its kubelet does not report")
    journal.add(step_of(at_s=T0_S - 10))
    journal.add(step_of({"op": growing(T0_S)}, nodes=nodes))
    pages = pages_of(journal, lambda: (Problem("loop-stuck", {"age": "5 min", "period": "10 s"}),), lambda: T0_S + 1)
    where = {"workflow": ["workflow"], "operator": ["op"], "at_s": [str(T0_S)]}
    answers = {name: json.loads(pages[f"/api/{name}"](where)[1]) for name in ("run", "points", "nodes", "decision")}
    answers["run"] |= {"version": "0.1.0", "build": "0123456789ab"}
    answers["points"]["points"] = answers["points"]["points"][-1:]
    answers["alive"] = {name: member for name, member in answers["run"].items() if name != "workflows"}
    answers["step"] = {"workflow": "workflow", "points": answers["points"]["points"]}
    return answers


def schemas() -> dict[str, dict[str, Any]]:
    """Return the JSON schema of each document, by its name."""
    made = {name: TypeAdapter(form).json_schema() for name, (_, form) in SERVED.items()}
    made["decision"] = _written(codec(Decision).json_schema(mode="serialization"))
    made["batches"] = _batches()
    return {name: {"$schema": _DRAFT, **_untitled(each)} for name, each in made.items()}


def _batches() -> dict[str, Any]:
    """Return the schema of a driver's batches; members that Monitor needs are required."""
    document, record = BatchesDocument.model_json_schema(), TypeAdapter(BatchRecord).json_schema()
    record["required"] = ServedRecord.model_json_schema()["required"]
    for form, of in ((record, BatchRecord), (record["$defs"]["HostWork"], HostWork)):
        for name, figure in figures_of(of).items():
            form["properties"][name]["description"] = figure.text
    document["$defs"] = document.pop("$defs", {}) | record.pop("$defs") | {"Batch": record}
    document["properties"]["batches"]["items"] = {"$ref": "#/$defs/Batch"}
    return document


def _written(form: Any) -> Any:
    """Allow null for every number, which may be non-finite, and require all members that are always written."""
    if isinstance(form, list):
        return [_written(each) for each in form]
    if not isinstance(form, dict):
        return form
    bare = {name: _written(each) for name, each in form.items() if name != "default"}
    if isinstance(members := form.get("properties"), dict):
        bare["required"] = [name for name in members if name not in _OMITTED_IF_EMPTY]
    return bare | {"type": ["number", "null"]} if form.get("type") == "number" else bare


def _untitled(form: Any) -> Any:
    if isinstance(form, list):
        return [_untitled(each) for each in form]
    if not isinstance(form, dict):
        return form
    return {name: _untitled(each) for name, each in form.items() if not (name == "title" and isinstance(each, str))}


def json_page() -> str:
    """Return the text of docs/reference/json.md."""
    parts, shown, answers = [_HEAD], set(), samples()
    for name, (title, document) in SERVED.items():
        parts.append(f"\n## {title}\n\n{_sample(answers[name], name)}")
        for form in _forms(document):
            if form not in shown:
                shown.add(form)
                parts.append(_table(form))
    parts.append(
        "\n## `/api/decision?workflow=W&operator=O&at_s=T`\n\nOne decision, as `gesscale explain --output json` writes "
        f"it; null if it is not kept.\n\n{_sample(answers['decision'], 'decision')}"
    )
    parts.append(
        "\n## `/api/record?workflow=W`\n\nWhat [a record](../howto/replay.md#the-record) has of a workflow besides its "
        "batches; null before its drivers were found.\n\n" + _table(documents.RecordDocument)
    )
    return "\n".join(parts)


def _sample(document: object, name: str) -> str:
    text = re.sub(
        r"\[\s+([^][{}]*?)\s+\]",  # a list of plain values in one line
        lambda found: f"[{' '.join(found[1].split())}]",
        json.dumps(document, indent=1),
    )
    return f"[Schema](schemas/{name}.json). For instance:\n\n```json\n{text}\n```\n"


def _forms(form: Any) -> Iterator[Any]:
    """Yield a document, then those within it."""
    if is_typeddict(form):
        yield form
        for hint in get_type_hints(form).values():
            yield from _forms(hint)
    else:
        for part in getattr(form, "__args__", ()):
            yield from _forms(part)


def _table(form: type[Any]) -> str:
    written = TypeAdapter(form).json_schema()
    rows = [
        f"| `{name}` | {_kind(hint)} | {written['properties'][name].get('description', '')} |"
        for name, hint in get_type_hints(form).items()
    ]
    return "\n".join((f"{form.__doc__}\n", "| Member | Type | Meaning |", "|---|---|---|", *rows, ""))


def _kind(hint: Any) -> str:
    words = {str: "text", float: "number", int: "whole number", bool: "true or false", type(None): "null"}
    if hint in words:
        return words[hint]
    if is_typeddict(hint) or hint is Any or getattr(hint, "__args__", ())[1:] == (Any,):
        return "object"
    parts = [_kind(each) for each in hint.__args__]
    name = getattr(hint, "__origin__", None)
    if name is list:
        return f"list of {parts[0]}"
    return f"object of {parts[1]}" if name is dict else " or ".join(parts)


if __name__ == "__main__":
    (REFERENCE / "json.md").write_text(json_page(), "utf-8")
    (REFERENCE / "schemas").mkdir(exist_ok=True)
    for each, form in schemas().items():
        (REFERENCE / "schemas" / f"{each}.json").write_text(json.dumps(form, indent=1) + "\n", "utf-8")
