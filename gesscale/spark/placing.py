"""Before the session exists: its settings, the first executors' template, and what lets their nodes be chosen later."""

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
from gesscale.spark.kubernetes_api import ApiRequestError, ApiServer, connect
from gesscale.spark.pod_template import PodPlacement, executor_template
from gesscale.spark.scheduler import TEMPLATE_SETTING, write_template
from gesscale.wire import MAX_REPLICAS, group_of, read_order

_LOG = logging.getLogger("gesscale.spark")

AUTOSCALER = "spark.gesscale.autoscaler"
NAMESPACE = "spark.gesscale.namespace"
FOLDER = "spark.gesscale.templates"
ORDER = "spark.gesscale.order"
CONTAINER_SETTING = "spark.kubernetes.executor.podTemplateContainerName"
BASE_FILE, TEMPLATE_FILE = "base.json", "executor.json"

#: Without it no executor can leave gracefully.
DECOMMISSION = {"spark.decommission.enabled": "true"}
#: Where the user says nothing; reasons: docs/howto/spark_on_kubernetes.md.
DEFAULTS = {
    "spark.storage.decommission.enabled": "false",
    "spark.executor.decommission.forceKillTimeout": "300s",
    "spark.executor.maxNumFailures": "1000000",
    "spark.executor.failuresValidityInterval": "1h",
    "spark.kubernetes.executor.apiPollingInterval": "10s",
}
#: A controller that lives needs a second or two; without one the job still starts.
FIRST_ORDER_WITHIN_S = 20.0
_TRIES = 3
_ASK_AGAIN_S = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstPlacement:
    """What the first executors follow."""

    #: Where they may be.
    placement: PodPlacement = field(default_factory=PodPlacement)
    #: How many; None where this is not set.
    executors: int | None = None


class SessionSettings:
    """What the session will be made with, without starting its JVM: that would settle its memory and jars.

    Attributes
    ----------
    jvm
        Spark's, where it runs already; else None.
    """

    def __init__(self, builder: Any) -> None:
        from pyspark import SparkConf, SparkContext

        self._options: Mapping[str, Any] = builder._options
        if SparkContext._jvm is None and "PYSPARK_GATEWAY_PORT" in os.environ:
            SparkContext._ensure_initialized()  # spark-submit's JVM: it runs already
        self.jvm = SparkContext._jvm
        self._outside: Mapping[str, str] = (
            submit_settings(os.environ.get("PYSPARK_SUBMIT_ARGS", ""))
            if SparkContext._jvm is None
            else dict(SparkConf().getAll())
        )

    def get(self, name: str) -> str:
        """Return a setting; empty where it is not set."""
        return str(self._options.get(name) or self._outside.get(name) or "")


def place(
    builder: Any,
    autoscaler: str,
    namespace: str | None = None,
    *,
    first_order_within_s: float = FIRST_ORDER_WITHIN_S,
    server: ApiServer | None = None,
) -> Any:
    """Prepare a session whose executors' nodes a StreamAutoscaler chooses; call it before the session exists.

    Reads the present order, so that a driver that was restarted comes back where it was. Where there is none yet
    and the mode is Act, the controller is given a moment to choose the first nodes; without an order the first
    ``spec.minReplicas`` executors come into ``spec.nodePool``, wherever the scheduler puts them. Where the object
    cannot be read, the user's own number of executors starts anywhere, one per node, and is moved by the first
    order. Outside Kubernetes nothing is changed, which is said: the same program runs in local mode.

    Parameters
    ----------
    builder
        ``SparkSession.builder`` with the job's settings; a running session cannot be prepared any more.
    autoscaler
        Name of the StreamAutoscaler.
    namespace
        Its namespace; by default ``spark.kubernetes.namespace``, else the credentials' own.
    first_order_within_s
        How long to wait for the controller to choose the first nodes; 0 for not at all.
    server
        The API server; by default the pod's own credentials, else the kubeconfig's.

    Returns
    -------
    SparkSession.Builder
        The same one.

    Raises
    ------
    InputError
        Where the name, the user's pod template or a setting cannot work with it.
    """
    settings = SessionSettings(builder)
    master = settings.get("spark.master")
    if not master.startswith("k8s://"):
        _LOG.warning(
            "gesscale.spark.place: the master is %s, not Kubernetes: there are no nodes to choose; nothing was changed",
            master or "unknown",
        )
        return builder
    _check(settings)
    base = read_base_template(settings.get(TEMPLATE_SETTING))
    space = namespace or settings.get("spark.kubernetes.namespace")
    first, space = _first_placement(server, autoscaler, space, first_order_within_s)
    folder = Path(tempfile.mkdtemp(prefix="gesscale-"))
    container = settings.get(CONTAINER_SETTING) or None
    template = executor_template(base, first.placement, autoscaler=autoscaler, container=container)
    write_template(folder / BASE_FILE, base)
    write_template(folder / TEMPLATE_FILE, template)
    ours = {
        TEMPLATE_SETTING: str(folder / TEMPLATE_FILE),
        FOLDER: str(folder),
        AUTOSCALER: autoscaler,
        NAMESPACE: space,
        ORDER: first.placement.order,
        **DECOMMISSION,
        **{name: value for name, value in DEFAULTS.items() if not settings.get(name)},
    }
    if first.executors is not None:
        ours["spark.executor.instances"] = str(first.executors)
    for name, value in ours.items():
        if value:
            builder = builder.config(name, value)
    return builder


def first_placement(resource: Mapping[str, Any]) -> FirstPlacement:
    """Return where a StreamAutoscaler wants the first executors: by its order, else by its pool."""
    if (value := group_of(resource, "status").get("order")) is not None:
        try:
            order = read_order(value)
            placement = PodPlacement(order=order.id, nodes=order.placement)
            return FirstPlacement(placement=placement, executors=len(order.placement))
        except InputError as error:
            _LOG.warning("%s; it is ignored", error)
    spec = group_of(resource, "spec")
    least = spec.get("minReplicas")
    return FirstPlacement(
        placement=PodPlacement(pool=group_of(spec, "nodePool")),
        executors=least if isinstance(least, int) and 1 <= least <= MAX_REPLICAS else 1,
    )


def read_base_template(where: str) -> dict[str, Any]:
    """Read the user's own pod template; empty where there is none.

    Raises
    ------
    InputError
        Where it cannot be read here, or is no mapping.
    """
    if not where:
        return {}
    parts = urlsplit(where)
    if parts.scheme not in ("", "file", "local"):
        raise InputError(f"{TEMPLATE_SETTING}: expected a file of this machine or pod, got {where}; give a local copy")
    try:
        from gesscale.common.yaml_text import read_yaml

        found = read_yaml(Path(parts.path))
    except (OSError, InputError, ModuleNotFoundError) as error:
        raise InputError(f"{TEMPLATE_SETTING}: expected a pod template in {where}, but: {error}") from None
    if not isinstance(found, dict):
        raise InputError(f"{TEMPLATE_SETTING}: expected a pod in {where}, got {type(found).__name__}")
    return found


def _check(settings: SessionSettings) -> None:
    if settings.get("spark.dynamicAllocation.enabled").lower() == "true":
        raise InputError(
            "gesscale.spark.place: spark.dynamicAllocation.enabled is true, and two would choose the executors; "
            "set it to false"
        )
    allocator = settings.get("spark.kubernetes.allocation.pods.allocator") or "direct"
    if allocator != "direct":
        raise InputError(
            f"gesscale.spark.place: expected spark.kubernetes.allocation.pods.allocator=direct, got {allocator}: "
            "only then is each executor built from the present template"
        )


def _awaits_order(resource: Mapping[str, Any]) -> bool:
    """Say whether a controller is about to choose the first nodes: it may act, and has ordered nothing yet."""
    spec, status = group_of(resource, "spec"), group_of(resource, "status")
    return spec.get("mode") == "Act" and not spec.get("pause") and not status.get("order")


def _first_placement(
    server: ApiServer | None, autoscaler: str, namespace: str, first_order_within_s: float
) -> tuple[FirstPlacement, str]:
    problem: GesscaleError | None = None
    found: Mapping[str, Any] | None = None
    try:
        server = server or connect(timeout_s=5.0)
        namespace = namespace or server.namespace
        patient_until_s, tries = time.monotonic() + first_order_within_s, _TRIES
        while tries and (found is None or (_awaits_order(found) and time.monotonic() < patient_until_s)):
            if found is not None:
                time.sleep(_ASK_AGAIN_S)
            try:
                found = server.autoscaler(namespace, autoscaler)
            except ApiRequestError as error:
                problem = error
                tries -= 1 if error.transient else tries
        if found is not None:
            return first_placement(found), namespace
    except GesscaleError as error:
        problem = error
    _LOG.warning(
        "gesscale.spark.place: StreamAutoscaler %s: %s; the first executors start on any node, one on each",
        autoscaler, problem,
    )  # fmt: skip
    return FirstPlacement(), namespace


def submit_settings(arguments: str) -> dict[str, str]:
    """Return the settings among the arguments of spark-submit; the properties file that they name is read too.

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
    except ArgumentError:  # spark-submit refuses it in its own words
        return {}
    found = _properties(given.properties_file) if given.properties_file else {}
    found |= dict(pair.split("=", 1) for pair in given.conf if "=" in pair)
    return found | ({"spark.master": given.master} if given.master else {})


def _properties(path: Path) -> dict[str, str]:
    """Read a properties file as Spark writes them; one that cannot be read is spark-submit's to complain about."""
    try:
        lines = [line.strip() for line in path.read_text("utf-8").splitlines()]
    except (OSError, UnicodeDecodeError):
        return {}
    pairs = [re.split(r"\s*[=:]\s*|\s+", line, maxsplit=1) for line in lines if line and line[0] not in "#!"]
    return {pair[0]: pair[1].strip() for pair in pairs if len(pair) == 2}
