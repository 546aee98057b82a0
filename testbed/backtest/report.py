"""Results of a backtest: tables, a document, and the resource to paste."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import yaml
from rich.table import Table

from gesscale.cli.output import table
from gesscale.common import API_VERSION
from testbed.backtest.law import Learned
from testbed.backtest.play import Conditions, Played, Range
from testbed.backtest.recorded_query import RecordedQuery

_FIGURES = {
    "replicas": "replicas in the mean",
    "late_min": "late minutes",
    "changes": "changes",
    "replica_h": "replica-hours",
}


def tables(query: RecordedQuery, learned: Learned, conditions: Conditions, played: Played) -> list[Table]:
    """Return the table of the figures, and that of what the batches show."""
    now = query.usage(conditions.from_s, conditions.slo_s)
    rows = [[words, getattr(now, name), *_cells(getattr(played, name))] for name, words in _FIGURES.items()]
    rows.append(["saved replica-hours", None, *_cells(played.saved_replica_h)])
    hours = (query.span_s[1] - conditions.from_s) / 3600
    title = f"{query.name}: {hours:.3g} h until {_moment(query.span_s[1])}, rows late after {conditions.slo_s:g} s"
    facts: list[Sequence[object]] = [
        ["warm batches read", learned.batches],
        ["replicas that they had", ", ".join(map(str, learned.replicas))],
        ["trigger interval, s", query.trigger_s],
        ["cap on the rows of a batch", None if query.cap is None else query.cap.at(1)],
        *(
            [
                f"capacity of {replicas}, rows/s",
                _span(*(law.mst_rows_per_s(replicas, query.trigger_s, query.cap) for law in learned.laws)),
            ]
            for replicas in sorted({1, *learned.replicas, conditions.max_replicas})
        ),
        ["scatter of a batch, %", 100 * learned.noise],
    ]
    return [
        table(title, ["", "now", f"with {conditions.policy}", "from", "to"], rows),
        table("What the batches show", ["", ""], facts),
    ]


def _cells(figure: Range) -> tuple[float, float, float]:
    return figure.mid, figure.low, figure.high


def _span(*values: float) -> str:
    return f"{values[0]:.4g} ({min(values):.4g} to {max(values):.4g})"


def _moment(at_s: float) -> str:
    return datetime.fromtimestamp(at_s, UTC).strftime("%Y-%m-%d %H:%M UTC")


def document(query: RecordedQuery, learned: Learned, conditions: Conditions, played: Played) -> Mapping[str, Any]:
    """Return the document for JSON and YAML."""
    return {
        "apiVersion": API_VERSION,
        "query": query.name,
        "from_s": conditions.from_s,
        "until_s": query.span_s[1],
        "policy": conditions.policy,
        "slo_s": conditions.slo_s,
        "trigger_s": query.trigger_s,
        "learned": {
            "batches": learned.batches,
            "replicas": learned.replicas,
            "noise": learned.noise,
            "laws": [law._asdict() for law in learned.laws],
            "leftOpen": [each.as_json() for each in learned.left_open],
        },
        "now": query.usage(conditions.from_s, conditions.slo_s),
        "played": {name: getattr(played, name)._asdict() for name in (*_FIGURES, "saved_replica_h")},
        "resource": yaml.safe_load(resource(query, conditions)),
    }


def resource(query: RecordedQuery, conditions: Conditions) -> str:
    """Return the StreamAutoscaler of the query as YAML."""
    cap = query.cap
    spec: dict[str, object] = {
        "slo": f"{conditions.slo_s:g}s",
        "mode": "Recommend",
        "minReplicas": conditions.min_replicas,
        "maxReplicas": conditions.max_replicas,
    }
    if cap is not None:
        spec["batchCap"] = {"rows": cap.rows} if cap.rows else {"rowsPerReplica": cap.rows_per_replica}
    name = "".join(letter if letter.isalnum() else "-" for letter in query.name.lower()).strip("-")
    head = {"apiVersion": "gesscale.dev/v1alpha1", "kind": "StreamAutoscaler", "metadata": {"name": name}}
    return yaml.safe_dump({**head, "spec": spec}, sort_keys=False)
