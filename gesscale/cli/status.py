"""``gesscale status``: all operators on one screen, and an exit code for scripts."""

from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from gesscale.cli.options import (
    ConfigOption,
    ContextOption,
    KubeconfigOption,
    KubernetesOption,
    NamespaceOption,
    settings_file,
)
from gesscale.cli.output import Output, OutputOption, console, emit, emit_each, table
from gesscale.clock import SystemClock
from gesscale.common import API_VERSION
from gesscale.formatting import format_duration

app = typer.Typer()
#: A decision is old after this many periods, and this time: a step may be slow.
_OLD_PERIODS, _OLD_S = 3, 60.0
#: Taken for StreamAutoscalers, whose periods differ: a minute by default.
_RESOURCE_PERIOD_S = 300.0
_NO_DECISION = "no decision yet: is the scaler running?"

#: The last decision of each operator; None before the first.
Decisions = Mapping[str, Mapping[str, Any] | None]


class OperatorStatus(NamedTuple):
    """One operator on the screen; None for what is not known."""

    operator: str
    #: ok, changing, late, limited, failed, no metrics, stopped or new.
    state: str
    replicas: int | None = None
    input_rows_per_s: float | None = None
    capacity_rows_per_s: float | None = None
    #: Age of the oldest row and the objective, such as 12s/60s.
    row_age: str | None = None
    #: How long ago the last decision was made.
    decided: str | None = None
    sentence: str = _NO_DECISION


@app.command(epilog="Example: gesscale status --watch")
def status(
    config: ConfigOption = None,
    kubernetes: KubernetesOption = False,
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
        read, period_s = _of_cluster(namespace, kubeconfig, context), _RESOURCE_PERIOD_S
    else:
        read, period_s = _of_settings(settings_file(config))
    clock = SystemClock()
    if watch:
        clock.stop_on_signals()
    while True:
        found = [_status_of(*each, clock.now_s(), period_s) for each in read().items()]
        if watch and console.is_terminal:
            console.clear()
        document = {"apiVersion": API_VERSION, "operators": [each._asdict() for each in found]}
        columns = ("operator", "state", "replicas", "rows/s", "capacity", "oldest row", "decided")
        if watch and output is not Output.TABLE:
            emit_each(document, output)
        else:
            emit(document, output, [table("", columns, [each[:-1] for each in found])])
        for each in found if output is Output.TABLE else ():
            console.print(f"{each.operator}: {each.sentence}", markup=False, highlight=False)
        if not (watch and clock.wait_until(clock.now_s() + every)):
            break
    if not watch and any(each.state not in {"ok", "changing"} for each in found):
        raise typer.Exit(3)


def _of_settings(file: Path) -> tuple[Callable[[], Decisions], float]:
    from gesscale.knowledge.sqlite import SqliteHistory
    from gesscale.settings import load_settings

    settings = load_settings(file)

    def read() -> Decisions:
        if not settings.knowledge.file.is_file():
            return dict.fromkeys(settings.workflow.operators)
        with SqliteHistory(settings.knowledge.file) as history:
            return {name: next(iter(history.decisions(name, 1)), None) for name in settings.workflow.operators}

    return read, settings.monitor.period_s


def _of_cluster(namespace: str | None, kubeconfig: Path | None, context: str | None) -> Callable[[], Decisions]:
    from gesscale.cli.explain_resource import last_decision, resources
    from gesscale.kubernetes.api.credentials import connect

    def read() -> Decisions:
        with closing(connect(kubeconfig, context)) as connection:
            found = resources(connection, None, namespace)
        return {
            "/".join((each["metadata"]["namespace"], each["metadata"]["name"])): last_decision(each)
            if each.get("status", {}).get("lastDecision")
            else None
            for each in found
        }

    return read


def _status_of(operator: str, decision: Mapping[str, Any] | None, now_s: float, period_s: float) -> OperatorStatus:
    if decision is None:
        return OperatorStatus(operator, "new")
    age_s = max(0.0, now_s - decision["at_s"])
    reading = decision["analysis"]["reading"] or {}
    return OperatorStatus(
        operator=operator,
        state="stopped" if age_s > max(_OLD_PERIODS * period_s, _OLD_S) else _state(decision),
        replicas=len(reading.get("placement", ())) or None,
        input_rows_per_s=reading.get("input_rows_per_s"),
        capacity_rows_per_s=(decision["analysis"]["mst"] or {}).get("mid"),
        row_age=(decision.get("row_age") or {}).get("text") or None,
        decided=f"{format_duration(age_s)} ago",
        sentence=decision["sentence"],
    )


def _state(decision: Mapping[str, Any]) -> str:
    from gesscale.model.decision import LIMITS, Reason

    reason, outcome, row_age = decision["reason"], decision["outcome"]["status"], decision.get("row_age") or {}
    if reason in {Reason.METRICS_MISSING, Reason.METRICS_STALE}:
        return "no metrics"
    broken = {Reason.POLICY_FAILED, Reason.CLUSTER_UNAVAILABLE, Reason.NODE_POOL_EMPTY, Reason.OVERRIDE_UNMET}
    if outcome in {"Failed", "PartlyApplied"} or reason in broken:
        return "failed"
    if (row_age.get("seconds") or 0.0) > (row_age.get("objective_s") or float("inf")):
        return "late"
    if reason in LIMITS - {Reason.AT_MIN_REPLICAS}:
        return "limited"
    return "changing" if outcome in {"Ordered", "Applied"} or reason == Reason.RECONFIGURING else "ok"
