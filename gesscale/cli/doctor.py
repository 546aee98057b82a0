"""``gesscale doctor``: what gesscale needs and lacks here, and what to do about it."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import typer

from gesscale.cli.options import (
    ConfigOption,
    ContextOption,
    KubeconfigOption,
    KubernetesOption,
    NamespaceOption,
    settings_file,
)
from gesscale.cli.output import Output, OutputOption, emit, stderr_console, table
from gesscale.clock import SystemClock
from gesscale.common import API_VERSION
from gesscale.doctor.check import Check, failed
from gesscale.doctor.machine import check_machine
from gesscale.errors import GesscaleError

app = typer.Typer()


@app.command(epilog="Example: gesscale doctor --output json")
def doctor(
    config: ConfigOption = None,
    kubernetes: KubernetesOption = False,
    output: OutputOption = Output.TABLE,
    namespace: NamespaceOption = None,
    kubeconfig: KubeconfigOption = None,
    context: ContextOption = None,
) -> None:
    """Check Python, Java, Spark, settings, latency map, drivers and clocks; with --kubernetes rights, labels and pools.

    It changes nothing. Exit 3: a check failed. Warnings alone exit 0.
    """
    checks = [*check_machine()]
    try:
        checks += _cluster(kubeconfig, context, namespace) if kubernetes else _site(config)
    except GesscaleError as error:  # no credentials, or no settings file
        checks += [failed("API server" if kubernetes else "settings", error.problem)]
    found = table("", ("check", "result", "found"), [(each.check, each.result, each.found) for each in checks])
    emit({"apiVersion": API_VERSION, "checks": [each._asdict() for each in checks]}, output, [found])
    for each in checks if output is Output.TABLE else ():
        if each.problem is not None:
            stderr_console.print(f"{each.check} [{each.problem.code}]: {each.action}")
    if any(each.result == "failed" for each in checks):
        raise typer.Exit(3)


def _site(config: Path | None) -> Iterator[Check]:
    from gesscale.doctor.site import check_site

    yield from check_site(settings_file(config), SystemClock().now_s)


def _cluster(kubeconfig: Path | None, context: str | None, namespace: str | None) -> Iterator[Check]:
    from gesscale.doctor.cluster import check_cluster
    from gesscale.kubernetes.api.credentials import connect

    with closing(connect(kubeconfig, context)) as connection:
        yield from check_cluster(connection, namespace, SystemClock().now_s())
