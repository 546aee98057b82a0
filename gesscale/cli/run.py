"""``gesscale run``, ``once`` and ``recommend``: the loop from the shell."""

import logging
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gesscale.assembly import build_loop
from gesscale.cli.controller import PROBES_PORT, serve_controller
from gesscale.cli.logs import LogFormat, logging_to_stderr
from gesscale.cli.output import API_VERSION, Output, OutputOption, emit, stderr_console, table
from gesscale.clock import SystemClock
from gesscale.decision import Decision, OutcomeStatus, Reason, Verdict
from gesscale.document import decision_document
from gesscale.errors import InputError
from gesscale.knowledge.history import SqliteHistory
from gesscale.loop import ControlLoop
from gesscale.service.access import is_loopback, read_token
from gesscale.settings import Settings, load_settings
from gesscale.settings.loading import naming
from latency_map import LatencyMapError
from latency_map.measure.places import split_place

if TYPE_CHECKING:
    from gesscale.service.local import ServedLoop

ConfigOption = Annotated[Path, typer.Option("--config", "-c", help="The settings file (YAML).")]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set", help="Override one setting, for instance analyze.headroom_threshold_pct=20; repeatable."
    ),
]
PolicyOption = Annotated[
    str | None,
    typer.Option("--policy", "-p", help="One of `gesscale policies list`, or FILE.py:NAME; else as set."),
]

_LOG = logging.getLogger("gesscale.run")
_PAST_DECISIONS = 1000

NOT_FEASIBLE = {
    Reason.AT_MAX_REPLICAS,
    Reason.NO_CANDIDATE_NODE,
    Reason.DELAY_EATS_GAIN,
    Reason.LATENCY_MAP_MISSING,
}


def run(
    config: Annotated[
        Path | None, typer.Option("--config", "-c", help="The settings file (YAML); or --kubernetes.")
    ] = None,
    set_: SetOption = None,
    policy: PolicyOption = None,
    steps: Annotated[int, typer.Option(min=0, help="Stop after so many steps; 0: go on.")] = 0,
    kubernetes: Annotated[
        bool,
        typer.Option(
            "--kubernetes", help="Be the controller of a cluster: StreamAutoscalers instead of settings."
        ),
    ] = False,
    kubeconfig: Annotated[
        Path | None,
        typer.Option(
            help="With --kubernetes: the file of the cluster; else the pod's own account or KUBECONFIG."
        ),
    ] = None,
    context: Annotated[str | None, typer.Option(help="With --kubernetes: a context of that file.")] = None,
    namespace: Annotated[
        str | None, typer.Option(help="With --kubernetes: steer the StreamAutoscalers of this one only.")
    ] = None,
    listen: Annotated[
        str | None,
        typer.Option(
            help="HOST:PORT, or a port of this machine only, where the page, /api, /metrics and /healthz are served. "
            "Default: nowhere; with --kubernetes 0.0.0.0:8080, whose page is for kubectl port-forward only.",
            show_default=False,
        ),
    ] = None,
    token_file: Annotated[
        Path | None,
        typer.Option(
            help="A file with a token that page, API and metrics then ask for; only its owner may read it.",
            show_default=False,
        ),
    ] = None,
    log_format: Annotated[LogFormat, typer.Option(help="Form of a line of the log.")] = LogFormat.TEXT,
    allow_target: Annotated[
        list[str] | None,
        typer.Option(
            help="With --kubernetes: HOST[:PORT], ADDRESS[:PORT] or NETWORK[:PORT] that StreamAutoscalers of every "
            "namespace may name, besides their own pods and Services and the latency agents; repeatable."
        ),
    ] = None,
) -> None:
    """Step at once and then once per period until Ctrl-C or SIGTERM; acts only where the mode is to act.

    The mode is execute.mode, or that of the resource. Either signal ends the loop after the step that is going on, with
    exit code 0.
    """
    if token_file is not None and listen is None and not kubernetes:
        message = "run: expected --token-file with --listen HOST:PORT: without it nothing is served"
        raise InputError(message)
    token = "" if token_file is None else read_token(token_file)
    if kubernetes:
        if config is not None or set_ or policy or steps:
            message = (
                "run: expected --kubernetes without --config, --set, --policy and --steps: its settings are "
                "resources"
            )
            raise InputError(message)
        host, port = _host_and_port(listen or f"0.0.0.0:{PROBES_PORT}")
        with logging_to_stderr(log_format):
            serve_controller(
                kubeconfig=kubeconfig,
                context=context,
                namespace=namespace,
                host=host,
                port=port,
                allow_targets=allow_target or (),
                token=token,
            )
        return
    if config is None:
        message = "run: expected --config FILE, or --kubernetes to be the controller of a cluster"
        raise InputError(message)
    settings = _load(config, set_, policy)
    place = None if listen is None else _host_and_port(listen)
    with logging_to_stderr(log_format):
        _run_settings(settings, steps, place, token)


def once(
    config: ConfigOption,
    set_: SetOption = None,
    policy: PolicyOption = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Run one step; acts only where execute.mode is act. Exit 3: more is needed but not to be had."""
    _step(_load(config, set_, policy), output, advise_only=False)


def recommend(
    config: ConfigOption,
    set_: SetOption = None,
    policy: PolicyOption = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Say what a step would do. Never acts. Exit 3: more is needed but not to be had."""
    _step(_load(config, set_, policy), output, advise_only=True)


def _run_settings(settings: Settings, steps: int, place: tuple[str, int] | None, token: str) -> None:
    clock = SystemClock()
    loop = build_loop(settings, clock.now_s())
    clock.stop_on_signals()
    done = 0
    with ExitStack() as stack:
        stack.enter_context(closing(loop.knowledge))
        served = None if place is None else stack.enter_context(_serve(loop, settings, place, token))

        def report(decisions: tuple[Decision, ...]) -> None:
            nonlocal done
            done += 1
            for decision in decisions:
                _LOG.info("%s: %s", decision.operator, decision.sentence)
            if served is not None:
                served.report(decisions)
            if done == steps:
                clock.stop()

        acting = "acting" if loop.acts else "advice only: set execute.mode to act to let it act"
        _LOG.info("policy %s, every %g s, %s", loop.policy.name, settings.monitor.period_s, acting)
        (served.loop if served else loop).run(
            clock,
            settings.monitor.period_s,
            report,
            at_once=True,
            least_period_s=settings.monitor.least_period_s,
        )
    _LOG.info("stopped after %d steps", done)


@contextmanager
def _serve(
    loop: ControlLoop, settings: Settings, place: tuple[str, int], token: str
) -> "Iterator[ServedLoop]":
    """Serve a loop for as long as the context lasts; the page begins with the decisions of earlier processes."""
    from gesscale.service.local import ServedLoop

    host, port = place
    with SqliteHistory(settings.knowledge.file) as history:
        past = history.decisions(limit=_PAST_DECISIONS)
    with closing(
        ServedLoop(loop, settings, host=host, port=port, token=token, past=reversed(past))
    ) as served:
        _LOG.info("page, API and metrics at %s", served.url)
        if not is_loopback(host):
            who = "who knows the token" if token else "everybody who reaches this address"
            _LOG.warning(
                "--listen %s is not this machine only: %s can read loads, nodes and decisions, without encryption; "
                "a port of 127.0.0.1 with an SSH tunnel is safer",
                host,
                who,
            )
        yield served


def _host_and_port(listen: str) -> tuple[str, int]:
    place = f"127.0.0.1:{listen}" if listen.isdecimal() else listen
    try:
        return split_place(place, default_port=PROBES_PORT)
    except LatencyMapError as error:
        message = f"--listen: {error}"
        raise InputError(message) from error


def _load(config: Path, overrides: list[str] | None, policy: str | None) -> Settings:
    named = [] if policy is None else [naming(policy)]
    return load_settings(config, [*(overrides or []), *named])


def _step(settings: Settings, output: Output, *, advise_only: bool) -> None:
    now_s = SystemClock().now_s()
    loop = build_loop(settings, now_s, advise_only=advise_only)
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
    documents = [decision_document(decision) for decision in decisions]
    emit({"apiVersion": API_VERSION, "decisions": documents}, output, [table("Decisions", columns, rows)])
    if output is Output.TABLE:
        for decision in decisions:
            stderr_console.print(f"{decision.operator}: {decision.sentence}")
        if decisions and (said := decisions[0].latency_map.sentence):
            stderr_console.print(f"latency map: {said}", markup=False, highlight=False)
    if any(decision.outcome.status is OutcomeStatus.FAILED for decision in decisions):
        raise typer.Exit(1)
    if any(_is_wanting(decision) for decision in decisions):
        raise typer.Exit(3)


def _is_wanting(decision: Decision) -> bool:
    return decision.analysis.verdict is Verdict.MORE and decision.plan.reason in NOT_FEASIBLE
