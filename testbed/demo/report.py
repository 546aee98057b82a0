"""The report of a demo run: figure, decisions, summary, and whether every promise was kept."""

import json
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from gesscale.cli.output import API_VERSION, table
from gesscale.decision import Decision
from gesscale.document import as_document
from testbed.cluster.check import PairCheck
from testbed.cluster.topology import Topology
from testbed.demo.figure import draw
from testbed.demo.model_errors import law_errors
from testbed.demo.record import Record, write_records
from testbed.demo.rides import PreparedRides
from testbed.demo.scenario import Scenario
from testbed.demo.verdict import Check, check_both_directions, check_nodes, check_sink
from testbed.pipeline.sink import SinkCount, verify_sink

SETTLE_S = 25.0


def write_report(
    record: Record,
    scenario: Scenario,
    topology: Topology,
    pairs: Sequence[PairCheck],
    rides: PreparedRides,
    folder: Path,
    console: Console,
) -> bool:
    """Write the report folder and show its summary.

    Parameters
    ----------
    record
        What happened.
    scenario, topology, rides
        What was played, where, and with which rows.
    pairs
        The delays as measured before.
    folder
        Where to.
    console
        Where the summary is shown.

    Returns
    -------
    bool
        Whether every promise was kept.
    """
    sink = verify_sink(folder / "sink", rides.rows)
    checks = [
        check_both_directions(record.acted),
        check_nodes(record.acted, topology.map, topology.driver_node),
        check_sink(rides.rows, sink.rows, sink.distinct),
    ]
    records = {scenario.operator: record}
    write_records(records, folder)
    draw(
        records, f"policy {scenario.policy}: a New York day in {scenario.day_s:.0f} s", folder / "figure.png"
    )
    summary = _summary(record, pairs, rides, sink, checks)
    (folder / "summary.json").write_text(json.dumps(as_document(summary), indent=2) + "\n")
    with (folder / "summary.txt").open("w") as file:
        for shown in (changes_table(record), _figures(summary), promises_table(checks)):
            console.print(shown)
            Console(file=file, width=110).print(shown)
    console.print(
        f"report: {folder}/figure.png, summary.txt, decisions.jsonl, batches.jsonl", highlight=False
    )
    console.print(f"why each decision: gesscale explain -c {folder}/gesscale.yaml", highlight=False)
    return all(check.kept for check in checks)


def changes_table(record: Record, title: str = "Reconfigurations") -> Table:
    """Tabulate the reconfigurations of a run: when, which nodes, what they cost, why."""
    acted = record.acted
    first_tasks = [next(iter(decision.outcome.first_task_s.values()), None) for decision in acted]
    columns: dict[str, Sequence[object]] = {
        "at, s": [f"{record.since_start_s(decision.at_s):.0f}" for decision in acted],
        "nodes": [_signed(decision) for decision in acted],
        "replicas": [len(decision.plan.placement) for decision in acted],
        "NDmax, ms": [decision.plan.nd_max_ms for decision in acted],
        **({"to first task, s": first_tasks} if any(first_tasks) else {}),
        "longest gap, s": record.longest_gaps_s(SETTLE_S),
        "why": [decision.plan.reason.value for decision in acted],
    }
    return table(title, [*columns], list(zip(*columns.values(), strict=True)))


def promises_table(checks: Sequence[Check]) -> Table:
    """Tabulate what was promised, and whether it was kept."""
    rows = [(check.promise, "kept" if check.kept else "BROKEN", check.detail) for check in checks]
    return table("Promises", ("promise", "", "figures"), rows)


def _summary(
    record: Record,
    pairs: Sequence[PairCheck],
    rides: PreparedRides,
    sink: SinkCount,
    checks: Sequence[Check],
) -> dict[str, object]:
    first_tasks = [s for decision in record.acted for s in decision.outcome.first_task_s.values()]
    gaps = record.longest_gaps_s(SETTLE_S)
    return {
        "apiVersion": API_VERSION,
        "reconfigurations": len(record.acted),
        "replicas_most": max((len(batch.nodes) for batch in record.ordered), default=0),
        "nodes_used": sorted({node for batch in record.ordered for node in batch.nodes}),
        "first_task_s": first_tasks,
        "longest_gap_s": max(gaps, default=0.0),
        "gaps_s": gaps,
        "rows": {"produced": rides.rows, "in_sink": sink.rows, "duplicated": sink.duplicated},
        "cleaning": rides.cleaning,
        "backlog_rows_most": max((batch.backlog_rows or 0.0 for batch in record.ordered), default=0.0),
        "relay_error_ms_most": max(abs(pair.error_ms or 0.0) for pair in pairs),
        "model_errors": law_errors(record),
        "promises": {check.promise: check.kept for check in checks},
        "pairs": pairs,
    }


def _signed(decision: Decision) -> str:
    added = [f"+{node}" for node in decision.outcome.added]
    return " ".join([*added, *(f"-{node}" for node in decision.outcome.removed)])


def _figures(summary: dict[str, object]) -> Table:
    keys = (
        "reconfigurations",
        "replicas_most",
        "longest_gap_s",
        "backlog_rows_most",
        "relay_error_ms_most",
    )
    rows: list[tuple[str, object]] = [(key, summary[key]) for key in keys]
    errors = summary["model_errors"]
    if isinstance(errors, dict):
        rows += [(f"error of law {law}, %", error) for law, error in errors.items()]
    return table("Figures", ("figure", "value"), rows)
