"""What ``gesscale run``, ``once`` and ``recommend`` do: one step of the loop, or one after the other."""

from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import typer

from gesscale.assembly import build_loop
from gesscale.cli.output import API_VERSION, Output, emit, emit_each, stderr_console, table, warn
from gesscale.clock import SystemClock
from gesscale.decision import Decision, OutcomeStatus, Reason, Verdict
from gesscale.document import decision_document
from gesscale.loop import ControlLoop
from gesscale.settings import Settings, load_settings
from gesscale.settings.doubts import doubts
from gesscale.settings.loading import naming

NOT_FEASIBLE = {
    Reason.AT_MAX_REPLICAS,
    Reason.NO_CANDIDATE_NODE,
    Reason.DELAY_EATS_GAIN,
    Reason.LATENCY_MAP_MISSING,
}


NOT_READ = {Reason.METRICS_MISSING, Reason.METRICS_STALE}


def settings_of(config: Path, overrides: list[str] | None, policy: str | None) -> Settings:
    """Load settings with what was overridden on the command line."""
    named = [] if policy is None else [naming(policy)]
    return load_settings(config, [*(overrides or []), *named])


def go_on(settings: Settings, steps: int, output: Output) -> None:
    """Step once per period until a signal or so many steps; JSON and YAML get a document of each step."""
    clock = SystemClock()
    loop = build_loop(settings, clock.now_s())
    clock.stop_on_signals()
    _warn_of(settings, loop, clock.now_s())
    done = 0

    def report(decisions: tuple[Decision, ...]) -> None:
        nonlocal done
        done += 1
        for decision in decisions:
            at = datetime.fromtimestamp(decision.at_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            stderr_console.print(f"{at} {decision.operator}: {decision.sentence}")
        emit_each(_document(decisions), output)
        if done == steps:
            clock.stop()

    acting = "acting" if loop.acts else "advice only: set execute.mode to act to let it act"
    stderr_console.print(f"policy {loop.policy.name}, every {settings.monitor.period_s:g} s, {acting}")
    with closing(loop.knowledge):
        loop.run(clock, settings.monitor.period_s, report, least_period_s=settings.monitor.least_period_s)
    stderr_console.print(f"stopped after {done} steps")


def _warn_of(settings: Settings, loop: ControlLoop, now_s: float) -> None:
    delays = loop.latencies.current(now_s).map
    warn(doubts(settings, () if delays is None else delays.names))


def step(settings: Settings, output: Output, *, advise_only: bool) -> None:
    """Run one step and write what was decided.

    Raises
    ------
    typer.Exit
        With 1 where no operator could be read, or a change failed; with 3 where more is needed and not to be had.
    """
    now_s = SystemClock().now_s()
    loop = build_loop(settings, now_s, advise_only=advise_only)
    _warn_of(settings, loop, now_s)
    with closing(loop.knowledge):
        decisions = loop.step(now_s)
    columns = ("operator", "replicas", "reason", "nodes", "MST, rows/s", "NDmax, ms", "outcome")
    rows = [
        (
            decision.operator,
            len(decision.plan.placement) or None,  # not known
            decision.plan.reason.value,
            ", ".join(decision.plan.placement),
            decision.plan.mst.mid if decision.plan.mst else None,
            decision.plan.nd_max_ms,
            decision.outcome.status.value,
        )
        for decision in decisions
    ]
    emit(_document(decisions), output, [table("Decisions", columns, rows)])
    if output is Output.TABLE:
        for decision in decisions:
            stderr_console.print(f"{decision.operator}: {decision.sentence}")
        if decisions and (said := decisions[0].latency_map.sentence):
            stderr_console.print(f"latency map: {said}")
    unread = all(
        decision.analysis.reading is None and decision.plan.reason in NOT_READ for decision in decisions
    )
    if unread or any(decision.outcome.status is OutcomeStatus.FAILED for decision in decisions):
        raise typer.Exit(1)
    if any(_is_wanting(decision) for decision in decisions):
        raise typer.Exit(3)


def _document(decisions: Sequence[Decision]) -> dict[str, object]:
    return {
        "apiVersion": API_VERSION,
        "decisions": [decision_document(decision) for decision in decisions],
    }


def _is_wanting(decision: Decision) -> bool:
    return decision.analysis.verdict is Verdict.MORE and decision.plan.reason in NOT_FEASIBLE
