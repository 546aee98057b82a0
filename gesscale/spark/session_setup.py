"""Prepares a Spark session: its settings, and the pod template that selects the nodes of executors."""

import logging
import os
import re
import shlex
import tempfile
import time
from argparse import ArgumentError, ArgumentParser
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from gesscale.common.errors import GesscaleError, InputError
from gesscale.common.logs import log_problem
from gesscale.spark.kubernetes_api import ApiRequestError, ApiServer, connect
from gesscale.spark.pod_template import PodPlacement, executor_template
from gesscale.spark.scheduler import TEMPLATE_SETTING, write_template
from gesscale.spark.versions import acting_problem
from gesscale.wire import MAX_REPLICAS, group_of, read_order

_LOG = logging.getLogger("gesscale.spark")

PLACE = "gesscale.spark.place"
AUTOSCALER = "spark.gesscale.autoscaler"
NAMESPACE = "spark.gesscale.namespace"
FOLDER = "spark.gesscale.templates"
ORDER = "spark.gesscale.order"
#: The StreamAutoscaler whose orders the application follows.
FOLLOWED = "spark.gesscale.followed"
CONTAINER_SETTING = "spark.kubernetes.executor.podTemplateContainerName"
BASE_FILE, TEMPLATE_FILE = "base.json", "executor.json"

#: Required for graceful removal of executors.
DECOMMISSION = {"spark.decommission.enabled": "true"}
#: Defaults for settings that the user has not set; reasons: docs/howto/spark_on_kubernetes.md.
DEFAULTS = {
    "spark.storage.decommission.enabled": "false",
    "spark.executor.decommission.forceKillTimeout": "300s",
    "spark.executor.maxNumFailures": "1000000",
    "spark.executor.failuresValidityInterval": "1h",
    "spark.kubernetes.executor.apiPollingInterval": "10s",
}
#: A running controller needs a second or two; without one the job starts after this time.
FIRST_ORDER_TIMEOUT_S = 20.0
_TRIES = 3
_RETRY_S = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstPlacement:
    """Placement and number of the first executors."""

    #: The allowed nodes.
    placement: PodPlacement = field(default_factory=PodPlacement)
    #: Number of executors; None to keep the user's setting.
    executors: int | None = None


class SessionSettings:
    """Settings of the future session, read without starting its JVM, because that would fix its memory and jars.

    Attributes
    ----------
    jvm
        Spark's JVM if it already runs, otherwise None.
    version
        That of PySpark.
    """

    def __init__(self, builder: Any) -> None:
        from pyspark import SparkConf, SparkContext, __version__

        self.version: str = __version__
        self._options: Mapping[str, Any] = builder._options
        if SparkContext._jvm is None and "PYSPARK_GATEWAY_PORT" in os.environ:
            SparkContext._ensure_initialized()  # the JVM of spark-submit already runs
        self.jvm = SparkContext._jvm
        self._outside: Mapping[str, str] = (
            submit_settings(os.environ.get("PYSPARK_SUBMIT_ARGS", ""))
            if SparkContext._jvm is None
            else dict(SparkConf().getAll())
        )

    def get(self, name: str) -> str:
        """Return a setting; empty if it is not set."""
        return str(self._options.get(name) or self._outside.get(name) or "")


def place(
    builder: Any,
    autoscaler: str,
    namespace: str | None = None,
    *,
    first_order_timeout_s: float = FIRST_ORDER_TIMEOUT_S,
    server: ApiServer | None = None,
) -> Any:
    """Prepare a session whose executors run on the nodes that a StreamAutoscaler chooses.

    Call it before the session exists. It reads the current order, so a restarted driver returns to its previous nodes.
    If there is no order yet and the mode is Act, it waits a moment for the controller to choose the first nodes.
    Without an order, the first ``spec.minReplicas`` executors start in ``spec.nodePool``, placed by Kubernetes. If the
    object cannot be read, the user's number of executors starts on any nodes, one per node, until the first order.
    Outside Kubernetes, nothing is changed and a warning is logged, so the same program runs in local mode.

    Parameters
    ----------
    builder
        ``SparkSession.builder`` with the job's settings; a running session can no longer be prepared.
    autoscaler
        Name of the StreamAutoscaler.
    namespace
        Its namespace; by default ``spark.kubernetes.namespace``, else that of the credentials.
    first_order_timeout_s
        How long to wait for the controller to choose the first nodes; 0 to not wait.
    server
        The API server; by default that of the pod's credentials, else of the kubeconfig.

    Returns
    -------
    SparkSession.Builder
        The same builder.

    Raises
    ------
    InputError
        If the name, the user's pod template or a setting is incompatible.
    """
    settings = SessionSettings(builder)
    master = settings.get("spark.master")
    if not master.startswith("k8s://"):
        log_problem(_LOG, logging.WARNING, "driver-outside-kubernetes", source=PLACE, master=master or "unknown")
        return builder
    if problem := acting_problem(settings.version):
        log_problem(_LOG, logging.WARNING, problem.code, source=PLACE, **problem.fields)
        return builder
    _check(settings)
    base = read_base_template(settings.get(TEMPLATE_SETTING))
    space = namespace or settings.get("spark.kubernetes.namespace")
    first, space = _first_placement(server, autoscaler, space, first_order_timeout_s)
    folder = Path(tempfile.mkdtemp(prefix="gesscale-"))
    container = settings.get(CONTAINER_SETTING) or None
    template = executor_template(base, first.placement, autoscaler=autoscaler, container=container)
    write_template(folder / BASE_FILE, base)
    write_template(folder / TEMPLATE_FILE, template)
    added = {
        TEMPLATE_SETTING: str(folder / TEMPLATE_FILE),
        FOLDER: str(folder),
        AUTOSCALER: autoscaler,
        NAMESPACE: space,
        ORDER: first.placement.order,
        **DECOMMISSION,
        **{name: value for name, value in DEFAULTS.items() if not settings.get(name)},
    }
    if first.executors is not None:
        added["spark.executor.instances"] = str(first.executors)
    for name, value in added.items():
        if value:
            builder = builder.config(name, value)
    return builder


def first_placement(resource: Mapping[str, Any]) -> FirstPlacement:
    """Return the first placement of a StreamAutoscaler: its order, else its node pool."""
    if (value := group_of(resource, "status").get("order")) is not None:
        try:
            order = read_order(value)
            placement = PodPlacement(order=order.id, nodes=order.placement)
            return FirstPlacement(placement=placement, executors=len(order.placement))
        except InputError as error:
            log_problem(_LOG, logging.WARNING, "order-ignored", cause=str(error))
    spec = group_of(resource, "spec")
    min_replicas = spec.get("minReplicas")
    return FirstPlacement(
        placement=PodPlacement(pool=group_of(spec, "nodePool")),
        executors=min_replicas if isinstance(min_replicas, int) and 1 <= min_replicas <= MAX_REPLICAS else 1,
    )


def read_base_template(location: str) -> dict[str, Any]:
    """Read the user's pod template; empty if there is none.

    Raises
    ------
    InputError
        If it cannot be read here, or is not a mapping.
    """
    if not location:
        return {}
    parts = urlsplit(location)
    if parts.scheme not in ("", "file", "local"):
        raise InputError("pod-template-remote", source=TEMPLATE_SETTING, got=location)
    try:
        from gesscale.common.yaml_text import read_yaml

        found = read_yaml(Path(parts.path))
    except (OSError, InputError, ModuleNotFoundError) as error:
        raise InputError("pod-template-unreadable", source=TEMPLATE_SETTING, file=location, cause=str(error)) from None
    if not isinstance(found, dict):
        raise InputError(
            "pod-template-invalid", source=TEMPLATE_SETTING, place=location, expected="a pod", got=type(found).__name__
        )
    return found


def _check(settings: SessionSettings) -> None:
    if settings.get("spark.dynamicAllocation.enabled").lower() == "true":
        raise InputError("dynamic-allocation-enabled", source=PLACE)
    allocator = settings.get("spark.kubernetes.allocation.pods.allocator") or "direct"
    if allocator != "direct":
        raise InputError("pods-allocator-unsupported", source=PLACE, got=allocator)


def _awaits_order(resource: Mapping[str, Any]) -> bool:
    """Return whether a controller is about to choose the first nodes: it may act, and there is no order yet."""
    spec, status = group_of(resource, "spec"), group_of(resource, "status")
    return spec.get("mode") == "Act" and not spec.get("pause") and not status.get("order")


def _first_placement(
    server: ApiServer | None, autoscaler: str, namespace: str, first_order_timeout_s: float
) -> tuple[FirstPlacement, str]:
    problem: GesscaleError | None = None
    found: Mapping[str, Any] | None = None
    try:
        server = server or connect(timeout_s=5.0)
        namespace = namespace or server.namespace
        deadline_s, tries = time.monotonic() + first_order_timeout_s, _TRIES
        while tries and (found is None or (_awaits_order(found) and time.monotonic() < deadline_s)):
            if found is not None:
                time.sleep(_RETRY_S)
            try:
                found = server.autoscaler(namespace, autoscaler)
            except ApiRequestError as error:
                problem = error
                tries -= 1 if error.transient else tries
        if found is not None:
            return first_placement(found), namespace
    except GesscaleError as error:
        problem = error
    cause = str(problem)
    log_problem(_LOG, logging.WARNING, "first-placement-unknown", source=PLACE, autoscaler=autoscaler, cause=cause)
    return FirstPlacement(), namespace


def submit_settings(arguments: str) -> dict[str, str]:
    """Return the settings in the arguments of spark-submit, including those of its properties file.

    Examples
    --------
    >>> submit_settings("--master local[2] --conf spark.a=b=c --conf=spark.d=e pyspark-shell")
    {'spark.a': 'b=c', 'spark.d': 'e', 'spark.master': 'local[2]'}
    """
    parser = ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    parser.add_argument("--master")
    parser.add_argument("--properties-file", type=Path)
    parser.add_argument("--conf", "-c", action="append", default=[])
    try:
        given, _ = parser.parse_known_args(shlex.split(arguments))
    except ArgumentError:  # spark-submit itself reports the error
        return {}
    found = _properties(given.properties_file) if given.properties_file else {}
    found |= dict(pair.split("=", 1) for pair in given.conf if "=" in pair)
    return found | ({"spark.master": given.master} if given.master else {})


def _properties(path: Path) -> dict[str, str]:
    """Read a properties file in Spark's format; empty if it is unreadable, which spark-submit reports."""
    try:
        lines = [line.strip() for line in path.read_text("utf-8").splitlines()]
    except (OSError, UnicodeDecodeError):
        return {}
    pairs = [re.split(r"\s*[=:]\s*|\s+", line, maxsplit=1) for line in lines if line and line[0] not in "#!"]
    return {pair[0]: pair[1].strip() for pair in pairs if len(pair) == 2}
