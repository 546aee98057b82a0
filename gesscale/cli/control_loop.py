"""Implementation of ``gesscale run``, ``once`` and ``recommend``: one step of the loop, or one per period."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from typing import TYPE_CHECKING, Any

import typer

from gesscale.assembly import build_loop
from gesscale.cli.controller import host_and_port
from gesscale.cli.decision_table import decision_table
from gesscale.cli.output import Output, emit, emit_each, warn
from gesscale.clock import SystemClock
from gesscale.common import API_VERSION
from gesscale.common.logs import log_problem
from gesscale.knowledge.sqlite import SqliteHistory
from gesscale.loop import ControlLoop
from gesscale.model.decision import GROWTH_LIMITS, Decision, OutcomeStatus, Reason, Verdict
from gesscale.model.document import decision_document
from gesscale.service.access import is_loopback
from gesscale.settings import Settings
from gesscale.settings.lint import lint_settings

if TYPE_CHECKING:
    from gesscale.service.local import ServedLoop

_LOG = logging.getLogger("gesscale.run")
_PAST_DECISIONS = 1000

_NOT_READ = {Reason.METRICS_MISSING, Reason.METRICS_STALE}


def run_loop(settings: Settings, steps: int, output: Output, listen: str | None, token: str) -> None:
    """Run a step once per period until a signal; JSON and YAML get a document of each step.

    Parameters
    ----------
    steps
        Stop after this many steps; 0 for no limit.
    listen
        Address of page, API and metrics; None to serve nothing.
    token
        What readers must present; empty for none.
    """
    place = None if listen is None else host_and_port(listen)
    clock = SystemClock()
    loop = build_loop(settings, clock.now_s())
    clock.stop_on_signals()
    _lint(settings, loop, clock.now_s())
    done = 0
    with ExitStack() as stack:
        stack.enter_context(closing(loop.knowledge))
        served = None if place is None else stack.enter_context(_serve(loop, settings, place, token))

        def report(decisions: tuple[Decision, ...]) -> None:
            nonlocal done
            done += 1
            for decision in decisions:
                _LOG.info("%s: %s", decision.operator, decision.sentence)
            emit_each(_document(decisions), output)
            if served is not None:
                served.report(decisions)
            if done == steps:
                clock.stop()

        mode = "act" if loop.acts else "recommend: set execute.mode to act to apply changes"
        _LOG.info("started policy=%s period_s=%g mode=%s", loop.policy.name, settings.monitor.period_s, mode)
        (served.loop if served else loop).run(
            clock, settings.monitor.period_s, report, immediately=True, min_period_s=settings.monitor.min_period_s
        )
    _LOG.info("stopped after %d steps", done)


@contextmanager
def _serve(loop: ControlLoop, settings: Settings, place: tuple[str, int], token: str) -> "Iterator[ServedLoop]":
    """Serve a loop while the context lasts; the page begins with the decisions of earlier processes."""
    from gesscale.service.local import ServedLoop

    host, port = place
    with SqliteHistory(settings.knowledge.file) as history:
        past = history.decisions(limit=_PAST_DECISIONS)
    with closing(ServedLoop(loop, settings, host=host, port=port, token=token, past=reversed(past))) as served:
        _LOG.info("serving page, API and metrics url=%s", served.url)
        if not is_loopback(host):
            readers = "clients with the token" if token else "all clients"
            log_problem(_LOG, logging.WARNING, "listen-unencrypted", address=host, readers=readers)
        yield served


def _lint(settings: Settings, loop: ControlLoop, now_s: float) -> None:
    delays = loop.latencies.current(now_s).map
    warn(lint_settings(settings, () if delays is None else delays.names))


def step(settings: Settings, output: Output, *, advise_only: bool) -> None:
    """Run one step and write its decisions.

    Raises
    ------
    typer.Exit
        With 1 if no operator could be read or a change failed; with 3 if more replicas are needed but not feasible.
    """
    now_s = SystemClock().now_s()
    loop = build_loop(settings, now_s, advise_only=advise_only)
    _lint(settings, loop, now_s)
    with closing(loop.knowledge):
        decisions = loop.step(now_s)
    document = _document(decisions)
    emit(document, output, [decision_table(each) for each in document["decisions"]])
    unread = all(decision.analysis.reading is None and decision.plan.reason in _NOT_READ for decision in decisions)
    if unread or any(decision.outcome.status is OutcomeStatus.FAILED for decision in decisions):
        raise typer.Exit(1)
    if any(each.analysis.verdict is Verdict.MORE and each.plan.reason in GROWTH_LIMITS for each in decisions):
        raise typer.Exit(3)


def _document(decisions: Sequence[Decision]) -> dict[str, Any]:
    return {"apiVersion": API_VERSION, "decisions": [decision_document(decision) for decision in decisions]}
