"""``gesscale explain``: the last decisions and their reasons."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from gesscale.cli.options import ContextOption, KubeconfigOption, NamespaceOption, operators_of
from gesscale.cli.output import (
    Output,
    OutputOption,
    emit,
    format_estimate,
    format_placement,
    join_nonempty,
    rate,
    stderr_console,
    table,
    with_unit,
)
from gesscale.common import API_VERSION
from gesscale.errors import InputError

#: Number of decisions that are scanned for operator names when the given one is unknown.
_SCANNED_DECISIONS = 10_000


app = typer.Typer()


@app.command(epilog="Example: gesscale explain nearest -c gesscale.yaml -n 1")
def explain(
    operator: Annotated[
        str | None,
        typer.Argument(
            help="An operator, or with --kubernetes a StreamAutoscaler. Default: all.",
            show_default=False,
            autocompletion=operators_of,
        ),
    ] = None,
    knowledge: Annotated[Path | None, typer.Option(help="The knowledge file.")] = None,
    config: Annotated[
        Path | None, typer.Option("--config", "-c", help="Settings file that names the knowledge file.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=1_000_000, help="Maximum number of decisions.")] = 5,
    output: OutputOption = Output.TABLE,
    kubernetes: Annotated[
        bool, typer.Option("--kubernetes", help="Read the status of StreamAutoscalers instead of a knowledge file.")
    ] = False,
    namespace: NamespaceOption = None,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = None,
) -> None:
    """Explain the last decisions: why an operator was or was not scaled, with all figures and rejected candidates.

    Exit 2: there is no such operator.
    """
    if kubernetes:
        from gesscale.cli.explain_resource import explanation_tables, print_page_hint, read_resources

        if knowledge or config:
            conflicting = ("--knowledge", "--config")
            raise InputError("usage-conflict", command="explain", expected="--kubernetes", conflicting=conflicting)
        found = read_resources(operator, namespace=namespace, kubeconfig=kubeconfig, context=context)
        if not found:
            stderr_console.print("no StreamAutoscaler found")
        tables = [each for resource in found for each in explanation_tables(resource)]
        emit({"apiVersion": API_VERSION, "streamautoscalers": found}, output, tables)
        print_page_hint()
        return
    from gesscale.knowledge.sqlite import SqliteHistory

    path = _knowledge_file(knowledge, config)
    with SqliteHistory(path) as history:
        decisions = history.decisions(operator, limit)
        models = history.models(operator, limit)
        if operator and not decisions:
            _check_operator(
                operator, config, {each["operator"] for each in history.decisions(None, _SCANNED_DECISIONS)}
            )
    if not decisions:
        whose = f" about operator {operator!r}" if operator else ""
        stderr_console.print(f"{path} holds no decisions{whose} yet")
    tables = [_explanation(decision) for decision in decisions]
    if models:
        rows = [(_when(model), model["operator"], _model(model)) for model in models]
        tables.append(table("how the model changed", ("at", "operator", "model"), rows))
    emit({"apiVersion": API_VERSION, "decisions": decisions, "models": models}, output, tables)


def _check_operator(operator: str, config: Path | None, decided: set[str]) -> None:
    """Reject an operator that neither the settings nor any decision has."""
    from gesscale.settings import load_settings
    from gesscale.validation import nearest

    known = decided | ({*load_settings(config).workflow.operators} if config is not None else set())
    if known and operator not in known:
        raise InputError("explain-operator-unknown", got=operator, nearest=nearest(operator, known))


def _knowledge_file(knowledge: Path | None, config: Path | None) -> Path:
    if (knowledge is None) == (config is None):
        expected = "exactly one of --knowledge FILE, --config FILE and --kubernetes"
        raise InputError("usage-option-required", command="explain", expected=expected)
    from gesscale.settings import load_settings

    path = knowledge or load_settings(config).knowledge.file
    if not path.is_file():
        if path.is_dir():
            raise InputError("knowledge-file-is-directory", file=path)
        raise InputError("knowledge-file-missing", file=path)
    return path


def _explanation(decision: Mapping[str, Any]) -> Table:
    title = f"{_when(decision)}  {decision['operator']}: {decision['sentence']}"
    return table(title, ("policy", decision["policy"]), [row for row in _rows(decision) if row[1]])


def _rows(decision: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    from gesscale.model.decision import MapStatus, format_replicas

    analysis, plan, outcome = decision["analysis"], decision["plan"], decision["outcome"]
    reading = analysis["reading"] or {}
    yield "analysis", join_nonempty(f"{analysis['verdict']}, {analysis['reason']}", analysis["detail"])
    yield "input rate (IR)", rate(reading.get("input_rows_per_s"))
    yield "throughput (CT)", rate(reading.get("throughput_rows_per_s"))
    yield "backlog", with_unit(reading.get("backlog_rows"), "rows")
    yield "back pressure", _share(reading.get("saturated_share"))
    yield "placement", format_placement(reading.get("placement", ()), analysis["nd_max_ms"])
    yield "state partitions", _state(reading.get("by_node") or {})
    yield "useful replicas", with_unit(reading.get("useful_replicas"), "at most")
    yield "MST", format_estimate(analysis["mst"])
    yield "headroom (DT)", with_unit(analysis["headroom_pct"], "%")
    yield "model", _model(analysis["model"])
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


def _when(record: Mapping[str, Any]) -> str:
    return datetime.fromtimestamp(record["at_s"], UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def _model(model: Mapping[str, Any] | None) -> str:
    from gesscale.model.document import codec
    from gesscale.model.model_text import model_lines
    from perfmodel import ModelSummary

    return "\n".join(model_lines(codec(ModelSummary).validate_python(model))) if model else ""


def _share(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.0f} % of the batches saturated"
