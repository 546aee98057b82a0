"""``gesscale status``: all operators on one screen, and an exit code for scripts."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from gesscale.cli.options import ConfigOption, ContextOption, KubeconfigOption, NamespaceOption, settings_file
from gesscale.cli.output import Output, OutputOption, console, emit, emit_each, table
from gesscale.clock import SystemClock
from gesscale.common import API_VERSION
from gesscale.formatting import format_duration

app = typer.Typer()
#: A decision is old after this many periods, and this time: a step may be slow.
_OLD_PERIODS, _OLD_S = 3, 60.0
#: States that need nobody.
_GOOD = {"ok", "changing"}

Decisions = Callable[[], Mapping[str, dict[str, Any] | None]]


class OperatorStatus(NamedTuple):
    """One operator on the screen; None for what is not known."""

    operator: str
    #: ok, changing, late, limited, failed, no metrics, stopped or new.
    state: str
    replicas: int | None
    input_rows_per_s: float | None
    capacity_rows_per_s: float | None
    #: Age of the oldest row and the objective, such as 12s/60s.
    row_age: str | None
    decided_s_ago: float | None
    #: The last decision.
    sentence: str


@app.command(epilog="Example: gesscale status --watch")
def status(
    config: ConfigOption = None,
    kubernetes: Annotated[
        bool, typer.Option("--kubernetes", help="Read the StreamAutoscalers of a cluster instead.")
    ] = False,
    watch: Annotated[bool, typer.Option("--watch", "-w", help="Print it again and again, until Ctrl-C.")] = False,
    every: Annotated[float, typer.Option(min=0.5, max=3600, help="With --watch: seconds between two.")] = 5.0,
    output: OutputOption = Output.TABLE,
    namespace: NamespaceOption = None,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = None,
) -> None:
    """Print the state of each operator: replicas, load, capacity, age of the oldest row, and the last decision.

    Exit 3: an operator is late, limited, failed, without metrics, not stepped any more, or has no decision yet.
    """
    if kubernetes:
        read, period_s = _of_cluster(namespace, kubeconfig, context), _OLD_S
    else:
        read, period_s = _of_settings(settings_file(config))
    clock = SystemClock()
    if watch:
        clock.stop_on_signals()
    while True:
        found = [_status_of(*each, clock.now_s(), period_s) for each in read().items()]
        if watch and output is Output.TABLE and console.is_terminal:
            console.clear()
        _show(found, output, repeated=watch)
        if not (watch and clock.wait_until(clock.now_s() + every)):
            break
    if not watch and any(each.state not in _GOOD for each in found):
        raise typer.Exit(3)


def _of_settings(file: Path) -> tuple[Decisions, float]:
    from gesscale.knowledge.sqlite import SqliteHistory
    from gesscale.settings import load_settings

    settings = load_settings(file)

    def read() -> Mapping[str, dict[str, Any] | None]:
        if not settings.knowledge.file.is_file():
            return dict.fromkeys(settings.workflow.operators)
        with SqliteHistory(settings.knowledge.file) as history:
            return {name: next(iter(history.decisions(name, 1)), None) for name in settings.workflow.operators}

    return read, settings.monitor.period_s


def _of_cluster(namespace: str | None, kubeconfig: Path | None, context: str | None) -> Decisions:
    from gesscale.cli.explain_resource import last_decision, resources
    from gesscale.kubernetes.api.credentials import connect

    def read() -> Mapping[str, dict[str, Any] | None]:
        with closing(connect(kubeconfig, context)) as connection:
            return {
                f"{each['metadata']['namespace']}/{each['metadata']['name']}": last_decision(each)
                if each.get("status", {}).get("lastDecision")
                else None
                for each in resources(connection, None, namespace)
            }

    return read


def _status_of(operator: str, decision: Mapping[str, Any] | None, now_s: float, period_s: float) -> OperatorStatus:
    if decision is None:
        return OperatorStatus(operator, "new", None, None, None, None, None, "no decision yet: is the scaler running?")
    analysis, row_age, age_s = decision["analysis"], decision.get("row_age") or {}, now_s - decision["at_s"]
    reading = analysis["reading"] or {}
    return OperatorStatus(
        operator=operator,
        state="stopped" if age_s > max(_OLD_PERIODS * period_s, _OLD_S) else _state(decision),
        replicas=len(reading.get("placement", ())) or None,
        input_rows_per_s=reading.get("input_rows_per_s"),
        capacity_rows_per_s=(analysis["mst"] or {}).get("mid"),
        row_age=row_age.get("text") or None,
        decided_s_ago=round(max(0.0, age_s), 1),
        sentence=decision["sentence"],
    )


def _state(decision: Mapping[str, Any]) -> str:
    from gesscale.model.decision import LIMITS, OutcomeStatus, Reason

    reason, outcome, row_age = decision["reason"], decision["outcome"]["status"], decision.get("row_age") or {}
    if reason in {Reason.METRICS_MISSING, Reason.METRICS_STALE}:
        return "no metrics"
    if outcome in {OutcomeStatus.FAILED, OutcomeStatus.PARTLY_APPLIED} or reason in {
        Reason.POLICY_FAILED,
        Reason.CLUSTER_UNAVAILABLE,
        Reason.NODE_POOL_EMPTY,
        Reason.OVERRIDE_UNMET,
    }:
        return "failed"
    if (row_age.get("seconds") or 0.0) > (row_age.get("objective_s") or float("inf")):
        return "late"
    if reason in LIMITS - {Reason.AT_MIN_REPLICAS}:
        return "limited"
    changing = outcome in {OutcomeStatus.ORDERED, OutcomeStatus.APPLIED} or reason == Reason.RECONFIGURING
    return "changing" if changing else "ok"


def _show(found: Sequence[OperatorStatus], output: Output, *, repeated: bool) -> None:
    document = {"apiVersion": API_VERSION, "operators": [each._asdict() for each in found]}
    if repeated and output is not Output.TABLE:
        emit_each(document, output)
        return
    at = datetime.now(UTC).strftime("%H:%M:%S UTC")
    columns = ("operator", "state", "replicas", "rows/s", "capacity", "oldest row", "decided")
    emit(document, output, [table(at, columns, _rows(found))])
    if output is Output.TABLE:
        for each in found:
            console.print(f"{each.operator}: {each.sentence}", markup=False, highlight=False)


def _rows(found: Iterable[OperatorStatus]) -> Iterable[tuple[object, ...]]:
    for each in found:
        ago = None if each.decided_s_ago is None else f"{format_duration(each.decided_s_ago)} ago"
        yield (*each[:6], ago)
