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
)
from gesscale.cli.output import LogFormat, Output, OutputOption, logging_to_stderr
from gesscale.errors import InputError

app = typer.Typer()


@app.command(epilog="Example: gesscale run -c gesscale.yaml --set monitor.period=30s")
def run(
    config: Annotated[
        Path | None, typer.Option("--config", "-c", help="The settings file (YAML); or --kubernetes.")
    ] = None,
    set_: SetOption = None,
    policy: PolicyOption = None,
    steps: Annotated[int, typer.Option(min=0, help="Stop after so many steps; 0: go on.")] = 0,
    kubernetes: Annotated[
        bool,
        typer.Option("--kubernetes", help="Be the controller of a cluster: StreamAutoscalers instead of settings."),
    ] = False,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = None,
    namespace: NamespaceOption = None,
    listen: Annotated[
        str | None,
        typer.Option(
            help="HOST:PORT, or a port of this machine only, where the page, /api, /metrics and /healthz are served. "
            "Default: nowhere; with --kubernetes 0.0.0.0:8080, whose page is for kubectl port-forward only."
        ),
    ] = None,
    token_file: Annotated[
        Path | None,
        typer.Option(help="A file with a token that page, API and metrics then ask for; only its owner may read it."),
    ] = None,
    log_format: Annotated[LogFormat, typer.Option(help="Form of a line of the log.")] = LogFormat.TEXT,
    allow_target: Annotated[
        list[str] | None,
        typer.Option(
            help="With --kubernetes: HOST[:PORT], ADDRESS[:PORT] or NETWORK[:PORT] that StreamAutoscalers of every "
            "namespace may name, besides their own pods and Services and the latency agents; repeatable."
        ),
    ] = None,
    max_changing_operators: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="With --kubernetes: so many operators of all workflows may be in change at once, the others wait. "
            "Without it: plan.max_changing_operators.",
        ),
    ] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Step at once and then once per period until Ctrl-C or SIGTERM; acts only where the mode is to act.

    The mode is execute.mode, or that of the resource. Either signal ends the loop after the step that is going on, with
    exit code 0. With --output json, each step writes its decisions to stdout as a line.
    """
    from gesscale.service.access import read_token

    if token_file is not None and listen is None and not kubernetes:
        raise InputError("run: expected --token-file with --listen HOST:PORT: without it nothing is served")
    token = "" if token_file is None else read_token(token_file)
    if kubernetes:
        if config is not None or set_ or policy or steps or output is not Output.TABLE:
            raise InputError(
                "run: expected --kubernetes without --config, --set, --policy, --steps and --output: its settings are "
                "resources, and so are its results"
            )
        from gesscale.cli.controller import serve_controller

        with logging_to_stderr(log_format):
            serve_controller(
                kubeconfig=kubeconfig,
                context=context,
                namespace=namespace,
                listen=listen,
                allow_targets=allow_target or (),
                max_changing_operators=max_changing_operators,
                token=token,
            )
        return
    if max_changing_operators is not None:
        raise InputError(
            "run: expected --max-changing-operators with --kubernetes; else set plan.max_changing_operators"
        )
    if config is None:
        raise InputError("run: expected --config FILE, or --kubernetes to be the controller of a cluster")
    from gesscale.cli.stepping import go_on
    from gesscale.settings import load_settings

    settings = load_settings(config, overrides_of(set_, policy))
    with logging_to_stderr(log_format):
        go_on(settings, steps, output, listen, token)


@app.command(epilog="Example: gesscale once -c gesscale.yaml -o json")
def once(
    config: ConfigOption, set_: SetOption = None, policy: PolicyOption = None, output: OutputOption = Output.TABLE
) -> None:
    """Run one step; acts only where execute.mode is act.

    Exit 1: no operator could be read, or a change failed. Exit 3: more is needed but not to be had.
    """
    from gesscale.cli.stepping import step
    from gesscale.settings import load_settings

    step(load_settings(config, overrides_of(set_, policy)), output, advise_only=False)


@app.command(epilog="Example: gesscale recommend -c gesscale.yaml --policy ds2")
def recommend(
    config: ConfigOption, set_: SetOption = None, policy: PolicyOption = None, output: OutputOption = Output.TABLE
) -> None:
    """Say what a step would do. Never acts.

    Exit 1: no operator could be read. Exit 3: more is needed but not to be had.
    """
    from gesscale.cli.stepping import step
    from gesscale.settings import load_settings

    step(load_settings(config, overrides_of(set_, policy)), output, advise_only=True)
