"""``gesscale run``, ``once`` and ``recommend``: the loop from the shell."""

from pathlib import Path
from typing import Annotated

import typer

from gesscale.cli.options import (
    ConfigOption,
    ContextOption,
    KubeconfigOption,
    NamespaceOption,
    PolicyOption,
    SetOption,
    overrides_of,
    settings_file,
)
from gesscale.cli.output import LogFormat, Output, OutputOption, logging_to_stderr
from gesscale.errors import InputError

app = typer.Typer()


@app.command(epilog="Example: gesscale run --set monitor.period=30s")
def run(
    config: ConfigOption = None,
    set_: SetOption = None,
    policy: PolicyOption = None,
    steps: Annotated[int, typer.Option(min=0, help="Stop after this many steps; 0 for no limit.")] = 0,
    kubernetes: Annotated[
        bool,
        typer.Option("--kubernetes", help="Run as the controller of a cluster; StreamAutoscalers replace settings."),
    ] = False,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = None,
    namespace: NamespaceOption = None,
    lease_namespace: Annotated[
        str, typer.Option(help="With --kubernetes: namespace of the leader's Lease, the same for all.")
    ] = "gesscale",
    lease_name: Annotated[
        str, typer.Option(help="With --kubernetes: its name, one per scope.")
    ] = "gesscale-controller",
    listen: Annotated[
        str | None,
        typer.Option(
            help="Serve the page, /api, /metrics and /healthz at HOST:PORT, or at a port of 127.0.0.1. Default: do not "
            "serve; with --kubernetes 0.0.0.0:8080, whose page is for kubectl port-forward only."
        ),
    ] = None,
    token_file: Annotated[
        Path | None,
        typer.Option(help="File with a token that page, API and metrics require; only its owner may read it."),
    ] = None,
    log_format: Annotated[LogFormat, typer.Option(help="Format of the log.")] = LogFormat.TEXT,
    allow_target: Annotated[
        list[str] | None,
        typer.Option(
            help="With --kubernetes: HOST[:PORT], ADDRESS[:PORT] or NETWORK[:PORT] that StreamAutoscalers may name in "
            "addition to their own pods and Services and the latency agents; repeatable."
        ),
    ] = None,
    max_changing_operators: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="With --kubernetes: maximum number of operators that change at the same time, in all workflows. "
            "Otherwise set plan.max_changing_operators.",
        ),
    ] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Run the loop: a step now and then once per period, until Ctrl-C or SIGTERM. Acts only in mode act.

    The mode is execute.mode, or that of the resource. Both signals end the loop after the current step, with exit code
    0. With --output json, each step writes its decisions to stdout as a line.
    """
    from gesscale.service.access import read_token

    if token_file is not None and listen is None and not kubernetes:
        raise InputError("usage-option-required", command="run", expected="--token-file with --listen HOST:PORT")
    token = "" if token_file is None else read_token(token_file)
    if kubernetes:
        if config is not None or set_ or policy or steps or output is not Output.TABLE:
            conflicting = ("--config", "--set", "--policy", "--steps", "--output")
            raise InputError("usage-conflict", command="run", expected="--kubernetes", conflicting=conflicting)
        from gesscale.cli.controller import serve_controller

        with logging_to_stderr(log_format):
            serve_controller(
                kubeconfig=kubeconfig,
                context=context,
                namespace=namespace,
                lease_namespace=lease_namespace,
                lease_name=lease_name,
                listen=listen,
                allow_targets=allow_target or (),
                max_changing_operators=max_changing_operators,
                token=token,
            )
        return
    if max_changing_operators is not None:
        expected = "--max-changing-operators with --kubernetes; otherwise set plan.max_changing_operators"
        raise InputError("usage-option-required", command="run", expected=expected)
    from gesscale.cli.control_loop import run_loop
    from gesscale.settings import load_settings

    settings = load_settings(settings_file(config), overrides_of(set_, policy))
    with logging_to_stderr(log_format):
        run_loop(settings, steps, output, listen, token)


@app.command(epilog="Example: gesscale once -c gesscale.yaml -o json")
def once(
    config: ConfigOption = None,
    set_: SetOption = None,
    policy: PolicyOption = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Run one step. Acts only if execute.mode is act.

    Exit 1: no operator could be read, or a change failed. Exit 3: more replicas are needed but not feasible.
    """
    from gesscale.cli.control_loop import step
    from gesscale.settings import load_settings

    step(load_settings(settings_file(config), overrides_of(set_, policy)), output, advise_only=False)


@app.command(epilog="Example: gesscale recommend -c gesscale.yaml --policy ds2")
def recommend(
    config: ConfigOption = None,
    set_: SetOption = None,
    policy: PolicyOption = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Print what a step would do. Never acts.

    Exit 1: no operator could be read. Exit 3: more replicas are needed but not feasible.
    """
    from gesscale.cli.control_loop import step
    from gesscale.settings import load_settings

    step(load_settings(settings_file(config), overrides_of(set_, policy)), output, advise_only=True)
