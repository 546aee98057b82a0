"""``gesscale doctor``: what gesscale needs and lacks here, and what to do about it."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from gesscale.cli.options import ConfigOption, ContextOption, KubeconfigOption, NamespaceOption, settings_file
from gesscale.cli.output import Output, OutputOption, emit, stderr_console, table
from gesscale.clock import SystemClock
from gesscale.common import API_VERSION
from gesscale.doctor.check import Check, failed
from gesscale.errors import GesscaleError

app = typer.Typer()


@app.command(epilog="Example: gesscale doctor --output json")
def doctor(
    config: ConfigOption = None,
    kubernetes: Annotated[
        bool, typer.Option("--kubernetes", help="Check a cluster and its StreamAutoscalers instead of settings.")
    ] = False,
    output: OutputOption = Output.TABLE,
    namespace: NamespaceOption = None,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = None,
) -> None:
    """Check Python, Java, Spark, settings, latency map, drivers and clocks; with --kubernetes rights, labels and pools.

    It changes nothing. Exit 3: a check failed. Warnings alone exit 0.
    """
    checks = [*_machine(), *(_cluster(kubeconfig, context, namespace) if kubernetes else _site(config))]
    rows = [(each.subject, each.result, each.found) for each in checks]
    document = {"apiVersion": API_VERSION, "checks": [each.document() for each in checks]}
    emit(document, output, [table("", ("check", "result", "found"), rows)])
    if output is Output.TABLE:
        for each in checks:
            if each.problem is not None:
                stderr_console.print(f"{each.subject} [{each.problem.code}]: {each.action}")
    if any(each.result == "failed" for each in checks):
        raise typer.Exit(3)


def _machine() -> Iterator[Check]:
    from gesscale.doctor.machine import check_machine

    return check_machine()


def _site(config: Path | None) -> Iterator[Check]:
    from gesscale.doctor.site import check_site

    try:
        file = settings_file(config)
    except GesscaleError as error:
        return iter([failed("settings", error.problem, is_warning=True)])
    return check_site(file, SystemClock().now_s)


def _cluster(kubeconfig: Path | None, context: str | None, namespace: str | None) -> Iterator[Check]:
    from gesscale.doctor.cluster import check_cluster
    from gesscale.kubernetes.api.credentials import connect

    try:
        connection = connect(kubeconfig, context)
    except GesscaleError as error:
        yield failed("API server", error.problem)
        return
    with closing(connection):
        yield from check_cluster(connection, namespace, SystemClock().now_s())
