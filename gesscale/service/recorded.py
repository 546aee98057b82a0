"""Writes a recorded run as one self-contained HTML file: the page with the record instead of a live scaler."""

import base64
import hashlib
import json
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from gesscale.assembly import open_latencies
from gesscale.common.errors import Problem, cause_of
from gesscale.errors import InputError, SettingsError
from gesscale.model.decision import Decision
from gesscale.model.order import Order
from gesscale.model.undone_changes import ChangesLastHour
from gesscale.monitor.record_files import (
    CLUSTERS,
    DECISIONS,
    LATENCY_MAP,
    SETTINGS,
    Recording,
    read_recording,
    settings_file,
    write_lines,
)
from gesscale.ports import ClusterState, Latencies
from gesscale.service.assets import page_html, page_script, page_style
from gesscale.service.documents import (
    ONLY_WORKFLOW,
    OrderCost,
    RecordDocument,
    cost_of,
    nodes_document,
    point_of,
    workflow_document,
)
from gesscale.settings import Settings, load_settings

#: Text of a file that was cut off before its script, which would replace it.
_CUT_OFF = (
    "Loading the run. If nothing more appears, this file is incomplete: copy it again, or write it again with "
    "<code>gesscale page FOLDER</code>."
)


def write_page(folder: Path, file: Path, *, title: str = "") -> tuple[Problem, ...]:
    """Write a recorded run as one HTML file.

    Raises
    ------
    InputError
        If the folder is not a record, or the file cannot be written.
    """
    document, problems = read_record(folder)
    if title:
        document["run"]["title"] = title
    try:
        file.write_text(html_of(document), "utf-8")
    except OSError as error:
        raise InputError("file-unwritable", source=str(file), cause=cause_of(error)) from None
    return problems


def read_record(folder: Path) -> tuple[dict[str, Any], tuple[Problem, ...]]:
    """Return the page's data of a recorded run, and the problems of omitted lines.

    Raises
    ------
    InputError
        If the folder is not a record, or has no decisions.
    """
    settings = load_settings(settings_file(folder), [], trusted=False)
    recording = read_recording(folder, settings.workflow.operators)
    if not recording.decisions:
        raise InputError("record-without-decisions", source=folder)
    return _document(folder.resolve().name, settings, recording), recording.problems


def write_served(record: RecordDocument, folder: Path) -> None:
    """Write a record that a page's API served; its batches come from the driver."""
    (folder / SETTINGS).write_text(yaml.safe_dump(record["settings"], sort_keys=False), "utf-8")
    (folder / LATENCY_MAP).write_text(record["latency_map"], "utf-8")
    write_lines(folder / DECISIONS, record["decisions"])
    write_lines(folder / CLUSTERS, record["clusters"])


def html_of(record: Mapping[str, Any]) -> str:
    """Return a self-contained HTML file of a record; its content security policy allows no requests."""
    style, script = page_style().decode(), page_script().decode()
    allowed = f"default-src 'none'; img-src data:; script-src {_hash_of(script)}; style-src {_hash_of(style)}"
    # Escaped less-than signs keep strings of the record from ending the script element.
    data = json.dumps(record, separators=(",", ":")).replace("<", "\\u003c")
    head = f'<meta charset="utf-8">\n<meta http-equiv="Content-Security-Policy" content="{allowed}">'
    return (
        page_html()
        .decode()
        .replace('<meta charset="utf-8">', head)
        .replace('<link rel="stylesheet" href="page.css">', f"<style>{style}</style>")
        .replace('<script type="module" src="page.js"></script>', "")
        .replace("<noscript>", f'<p class="empty">{_CUT_OFF}</p><noscript>')
        .replace(
            "</body>",
            f'<script type="application/json" id="recorded">{data}</script>\n'
            f'<script type="module">{script}</script>\n</body>',
        )
    )


def _hash_of(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _document(title: str, settings: Settings, recording: Recording) -> dict[str, Any]:
    workflow = settings.workflow.build()
    decisions = [each.decision for each in recording.decisions]
    costs = {(each.operator, each.at_s): _cost(each, recording) for each in decisions if each.acted}
    resizes = {
        name: [
            (each.at_s, len(each.plan.placement) - len(each.plan.before))
            for each in decisions
            if each.acted and each.operator == name
        ]
        for name in workflow.operators
    }
    ends_s = {name: [batch.ended_at_s for batch in batches] for name, batches in recording.batches.items()}
    points = [
        point_of(
            decision,
            costs.get((decision.operator, decision.at_s)),
            _age_s(ends_s[decision.operator], decision.at_s),
            ChangesLastHour.of(resizes[decision.operator], decision.at_s),
        )
        for decision in decisions
    ]
    newest = {point["operator"]: point for point in points}
    described = workflow_document(
        ONLY_WORKFLOW,
        workflow,
        period_s=settings.monitor.period_s,
        policy=decisions[-1].policy,
        last_step_s=decisions[-1].at_s,
    )
    drivers = {operator.driver_node for operator in workflow.operators.values()}
    cluster = recording.clusters[-1].state if recording.clusters else ClusterState()
    placed = {node for point in points for node in (*point["before"], *point["placement"])}
    return {
        "run": {
            "title": title,
            "now_s": decisions[-1].at_s,
            "problems": [],
            "workflows": [{**described, "points": [*newest.values()]}],
        },
        "points": {ONLY_WORKFLOW: points},
        "decisions": {ONLY_WORKFLOW: [each.document for each in recording.decisions]},
        "nodes": {ONLY_WORKFLOW: nodes_document(_delays(settings), cluster, drivers | placed)},
    }


def _age_s(ends_s: Sequence[float], at_s: float) -> float | None:
    """Return the age of the newest batch at an instant, by the ends of batches; None before the first."""
    ended = bisect_right(ends_s, at_s)
    return at_s - ends_s[ended - 1] if ended else None


def _delays(settings: Settings) -> Latencies:
    """Return the latency map of the record; empty if it was not read from a file."""
    if settings.latency_map.source != "file":
        return Latencies()
    try:
        return open_latencies(settings).current(0.0)
    except SettingsError:
        return Latencies()


def _cost(decision: Decision, recording: Recording) -> OrderCost:
    order = Order(placement=decision.plan.placement, at_s=decision.at_s)
    return cost_of(order, recording.batches[decision.operator])
