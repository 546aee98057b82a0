"""``gesscale run --kubernetes``: the loop as a controller, inside or outside of a cluster."""

import logging
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from gesscale.clock import on_stop_signals
from gesscale.common.errors import Problem
from gesscale.errors import InputError
from latency_map import LatencyMapError
from latency_map.measure.peers import split_host_port

#: Default port of probes, metrics and the page.
PROBES_PORT = 8080

_LOG = logging.getLogger("gesscale.controller")


def serve_controller(
    *,
    kubeconfig: Path | None,
    context: str | None,
    namespace: str | None,
    lease_namespace: str,
    lease_name: str,
    listen: str | None,
    allow_targets: Sequence[str],
    max_changing_operators: int | None,
    token: str,
) -> None:
    """Run the controller until SIGINT or SIGTERM.

    Parameters
    ----------
    namespace
        The namespace of the StreamAutoscalers; None for all.
    lease_namespace, lease_name
        The Lease of the leader election.
    listen
        ``HOST:PORT`` of probes, metrics and the page; None for all addresses and `PROBES_PORT`.
    max_changing_operators
        Maximum number of operators that change at the same time, in all workflows; None for no limit.

    Raises
    ------
    InputError
        If the kubeconfig is unusable or the port is taken.
    ModuleNotFoundError
        If the package kubernetes is not installed.
    ClusterError
        If the pod's credentials are unusable.
    """
    from gesscale.kubernetes.api.credentials import connect
    from gesscale.kubernetes.api.lease import steady_now_s
    from gesscale.kubernetes.controller.controller import Controller, ControllerOptions
    from gesscale.kubernetes.controller.probes import page_problems, probes
    from gesscale.kubernetes.controller.targets import AllowedTarget
    from gesscale.service.access import SCRAPED, Access
    from gesscale.service.api import serve

    host, port = host_and_port(listen or f"0.0.0.0:{PROBES_PORT}")
    connection = connect(kubeconfig, context)
    options = ControllerOptions(
        namespace=namespace,
        lease_namespace=lease_namespace,
        lease_name=lease_name,
        allowed_targets=tuple(AllowedTarget.parse(each) for each in allow_targets),
        max_changing_operators=max_changing_operators,
    )
    controller = Controller(connection, options, version=version("gesscale"))

    def problems() -> tuple[Problem, ...]:
        return (*page_problems(controller.health(), steady_now_s()), *controller.journal.missing_replicas())

    served = serve(
        host,
        port,
        {**probes(controller.health, steady_now_s), SCRAPED: controller.metrics.page},
        journal=controller.journal,
        problems=problems,
        guard=Access(token=token, loopback_only=True),
    )
    on_stop_signals(controller.stop)
    scope = f"namespace {namespace}" if namespace else "all namespaces"
    _LOG.info(
        "controller started identity=%s lease=%s/%s api=%s scope=%s url=%s",
        *(controller.identity, lease_namespace, lease_name, connection.url, scope, served.url),
    )
    try:
        controller.run()
    finally:
        served.close()
        connection.close()
    _LOG.info("stopped; the lease is released")


def host_and_port(listen: str) -> tuple[str, int]:
    """Parse ``HOST:PORT``, or a port of 127.0.0.1.

    Raises
    ------
    InputError
        If it is neither.
    """
    place = f"127.0.0.1:{listen}" if listen.isdecimal() else listen
    try:
        return split_host_port(place, default_port=PROBES_PORT)
    except LatencyMapError as error:
        raise InputError("listen-address-invalid", source="--listen", got=listen) from error
