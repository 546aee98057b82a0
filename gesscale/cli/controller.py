"""``gesscale run --kubernetes``: the loop as a controller, inside a cluster or outside."""

import logging
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from gesscale.cli.output import stderr_console
from gesscale.clock import on_stop_signals
from gesscale.errors import InputError
from latency_map import LatencyMapError
from latency_map.measure.places import split_place

PROBES_PORT = 8080
"""Where probes and metrics are served by default."""


def serve_controller(
    *,
    kubeconfig: Path | None,
    context: str | None,
    namespace: str | None,
    listen: str,
    allow_targets: Sequence[str],
) -> None:
    """Run the controller until SIGINT or SIGTERM.

    Parameters
    ----------
    kubeconfig, context
        See `gesscale.kubernetes.api.connect`.
    namespace
        Whose StreamAutoscalers are steered; None for all.
    listen
        ``HOST:PORT`` where probes and metrics are served.
    allow_targets
        Where resources of any namespace may have us connect to; see `gesscale.kubernetes.controller.targets`.

    Raises
    ------
    InputError
        Where the kubeconfig cannot be used, or the port is taken.
    ModuleNotFoundError
        Where the package kubernetes is not installed.
    ClusterError
        Where the pod's own credentials cannot be used.
    """
    from gesscale.kubernetes.api import connect
    from gesscale.kubernetes.api.lease import steady_now_s
    from gesscale.kubernetes.controller.controller import Controller, ControllerOptions
    from gesscale.kubernetes.controller.probes import serve_probes
    from gesscale.kubernetes.controller.targets import AllowedTarget

    host, port = _host_and_port(listen)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    connection = connect(kubeconfig, context)
    options = ControllerOptions(
        namespace=namespace,
        allowed_targets=tuple(AllowedTarget.parse(each) for each in allow_targets),
    )
    controller = Controller(connection, options, version=version("gesscale"))
    try:
        probes = serve_probes(controller.health, controller.metrics.page, steady_now_s, host=host, port=port)
    except (OSError, OverflowError) as error:
        message = f"--listen: expected a free address, got {host}:{port}: {error}"
        raise InputError(message) from error
    on_stop_signals(controller.stop)
    scope = f"namespace {namespace}" if namespace else "all namespaces"
    stderr_console.print(
        f"controller {controller.identity} at {connection.url}, {scope}; probes and metrics at {probes.url}"
    )
    try:
        controller.run()
    finally:
        probes.close()
        connection.close()
    stderr_console.print("stopped; the lease is given back")


def _host_and_port(listen: str) -> tuple[str, int]:
    try:
        return split_place(listen, default_port=PROBES_PORT)
    except LatencyMapError as error:
        message = f"--listen: {error}"
        raise InputError(message) from error
