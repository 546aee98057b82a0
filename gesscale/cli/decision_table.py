"""The table of a decision, from a knowledge file, a controller's page or the status of a resource."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from rich.table import Table

from gesscale.cli.output import format_estimate, format_placement, join_nonempty, rate, table, with_unit


def decision_table(decision: Mapping[str, Any]) -> Table:
    """Return the table of a decision; see `gesscale.model.document.decision_document`."""
    title = f"{format_when(decision)}  {decision['operator']}: {decision['sentence']}"
    return table(title, ("policy", decision["policy"]), [row for row in _rows(decision) if row[1]])


def _rows(decision: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    from gesscale.model.decision import MapStatus, format_replicas

    analysis, plan, outcome = decision["analysis"], decision["plan"], decision["outcome"]
    reading = analysis["reading"] or {}
    yield (
        "analysis",
        join_nonempty(", ".join(filter(None, (analysis["verdict"], analysis["reason"]))), analysis["detail"]),
    )
    yield "input rate (IR)", rate(reading.get("input_rows_per_s"))
    yield "throughput (CT)", rate(reading.get("throughput_rows_per_s"))
    yield "backlog", with_unit(reading.get("backlog_rows"), "rows")
    yield "oldest row", _row_age(decision.get("row_age") or {})
    yield "back pressure", _share(reading.get("saturated_share"))
    yield "CPU", _cpu(reading)
    yield "placement", format_placement(reading.get("placement", ()), analysis["nd_max_ms"])
    yield "state partitions", _state(reading.get("by_node") or {})
    yield "useful replicas", with_unit(reading.get("useful_replicas"), "at most")
    yield "MST", format_estimate(analysis["mst"])
    yield "headroom (DT)", with_unit(analysis["headroom_pct"], "%")
    yield "model", format_model(analysis["model"])
    yield "latency map", MapStatus(**decision.get("latency_map", {})).sentence
    yield "plan", format_placement(plan["placement"], plan["nd_max_ms"])
    yield "MST planned", format_estimate(plan["mst"])
    yield "outcome", join_nonempty(outcome["status"], outcome["detail"])
    yield "took", with_unit(outcome["seconds"] or None, "s")
    for candidate in plan.get("candidates", ()):
        moved = f", {candidate['moved']} moved" if candidate.get("moved") else ""
        yield f"{format_replicas(candidate['replicas'])}{moved}", _candidate(candidate)
    for lost in plan["rejections"]:
        yield f"not {lost['node']}", join_nonempty(lost["reason"], lost["detail"])
        if lost.get("others"):
            yield (
                f"not {lost['others']} others",
                join_nonempty(lost["reason"], ", ".join(lost.get("other_nodes", ()))),
            )
    listed = {lost["node"] for lost in plan["rejections"]}
    for ineligible in decision.get("ineligible", ()):
        if ineligible["node"] not in listed:
            others = f"; {ineligible['others']} others too" if ineligible.get("others") else ""
            yield f"ineligible {ineligible['node']}", join_nonempty(ineligible["reason"], ineligible["detail"]) + others


def _row_age(row_age: Mapping[str, Any]) -> str:
    """Return the age of the oldest row against the objective, and for how long rows were late."""
    late = with_unit(row_age.get("late_s"), "s late since the scaler started")
    return join_nonempty(row_age.get("text", ""), late)


def _cpu(reading: Mapping[str, Any]) -> str:
    by_node = sorted((reading.get("by_node") or {}).items())
    shares = [("", reading.get("cpu_share")), *((f"{node} ", each.get("cpu_share")) for node, each in by_node)]
    return ", ".join(f"{name}{100 * share:.0f} %" for name, share in shares if share is not None)


def _state(by_node: Mapping[str, Mapping[str, Any]]) -> str:
    from gesscale.model.observation import HOLDS_NONE_YET, SEVERAL_PARTITIONS

    counts = {node: each.get("state_partitions") for node, each in sorted(by_node.items())}
    none_yet = f" ({HOLDS_NONE_YET})" if max((n or 0 for n in counts.values()), default=0) >= SEVERAL_PARTITIONS else ""
    return ", ".join(
        f"{node} {count}{'' if count else none_yet}" for node, count in counts.items() if count is not None
    )


def _candidate(candidate: Mapping[str, Any]) -> str:
    wait_s, late_s = candidate["wait_s"], candidate["late_s"]
    waits = "rows wait without end" if wait_s is None else f"rows wait up to {wait_s:.0f} s" if wait_s else ""
    late = f"late by {late_s:.0f} s" if late_s else ""
    return join_nonempty(f"MST {format_estimate(candidate['mst'])}", ", ".join(filter(None, (waits, late))))


def format_when(record: Mapping[str, Any]) -> str:
    """Return the time of a record."""
    return datetime.fromtimestamp(record["at_s"], UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def format_model(model: Mapping[str, Any] | None) -> str:
    """Return the lines of a model; empty for None."""
    from gesscale.model.document import codec
    from gesscale.model.model_text import model_lines
    from perfmodel import ModelSummary

    return "\n".join(model_lines(codec(ModelSummary).validate_python(model))) if model else ""


def _share(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.0f} % of the batches saturated"
