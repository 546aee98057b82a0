"""Sources of the latency maps of workflows, as their resources configure them."""

import http
import re
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from weakref import WeakValueDictionary

from gesscale.common.http_client import HttpClient
from gesscale.common.shell import command_line
from gesscale.errors import ClusterError
from gesscale.kubernetes.api.connection import Connection
from gesscale.kubernetes.api.errors import ApiError
from gesscale.kubernetes.api.resources import CONFIG_MAPS
from gesscale.kubernetes.resource.spec_groups import ConfigMapSpec, LatencyMapSpec
from gesscale.monitor.latencies import (
    AgentLatencies,
    CachedLatencies,
    MapBounds,
    PrometheusLatencies,
    Reader,
    TextLatencies,
)
from gesscale.ports import Latencies, LatencySource
from latency_map import LatencyMapError, MapLimits, parse_survey
from latency_map.names import MAX_NODES

#: User name of the controller if the API server's message has none; deploy/k3s/controller/rbac.yaml.
_CONTROLLER = "system:serviceaccount:gesscale:gesscale-controller"
_FEWEST_NODES = 16
_SETTING = f"twice the nodes of the cluster, at least {_FEWEST_NODES}"


@dataclass(slots=True, kw_only=True)
class ConfigMapLatencies(TextLatencies):
    """A latency map in a ConfigMap, read again once per refresh."""

    GROUP = "configMap"

    #: Returns the text; raises ClusterError or LatencyMapError without one.
    fetch: Callable[[], str]
    #: Name of the text, for messages.
    name: str
    _text: str = field(default="", init=False)

    def changed(self) -> Reader | None:
        """Return a reader of the text; None if the text has not changed."""
        text = self.fetch()
        if text == self._text:
            return None
        self._text = text
        return partial(parse_survey, text, source=self.name)


class SharedLatencies:
    """A latency source shared by all workflows that configure the same one; thread-safe.

    A map of a thousand nodes takes 8 MB and seconds to read, too much for each operator of a fleet. While one thread
    reads the source, the others use the last result.
    """

    def __init__(self, source: LatencySource) -> None:
        self._source = source
        self._lock = threading.Lock()
        self._last: Latencies | None = None

    def current(self, now_s: float) -> Latencies:
        """Return the newest map; see `gesscale.ports.LatencySource`."""
        last = self._last
        if not self._lock.acquire(blocking=last is None):
            assert last is not None  # noqa: S101 - acquire blocks without a last result
            return last
        try:
            found = self._last = self._source.current(now_s)
        finally:
            self._lock.release()
        return found


class LatencyMaps:
    """The latency sources in use, each once; thread-safe."""

    def __init__(
        self, connection: Connection, client: Callable[[str], HttpClient], nodes: Callable[[], Iterable[str]]
    ) -> None:
        self._connection, self._client, self._nodes = connection, client, nodes
        self._lock = threading.Lock()
        self._open: WeakValueDictionary[tuple[str, str, float], SharedLatencies] = WeakValueDictionary()

    def open(self, spec: LatencyMapSpec, namespace: str, timeout_s: float) -> SharedLatencies:
        """Return the source of a namespace's resources; one that is in use already is shared."""
        key = (namespace, spec.model_dump_json(), timeout_s)
        with self._lock:
            shared = self._open.get(key)
            if shared is None:
                source = self._source(spec, namespace, timeout_s)
                source.max_age_s, source.asymmetry = spec.max_age_s, spec.asymmetry
                source.refresh_s, source.bounds = spec.refresh_s, lambda: bounds_of(self._nodes())
                shared = self._open[key] = SharedLatencies(source)
            return shared

    def _source(self, spec: LatencyMapSpec, namespace: str, timeout_s: float) -> CachedLatencies:
        client, kept = self._client(namespace), spec.config_map
        if spec.source == "Prometheus":
            return PrometheusLatencies(url=spec.prometheus_url or "", timeout_s=timeout_s, client=client)
        if spec.source == "Agents" or kept is None:
            return AgentLatencies(service=spec.agents_dns, timeout_s=timeout_s, client=client)
        return ConfigMapLatencies(
            name=f"ConfigMap {namespace}/{kept.name}, {kept.key}",
            unit=kept.unit,
            kind=kept.kind,
            fetch=lambda: _text(self._connection, namespace, kept),
        )


def bounds_of(nodes: Iterable[str]) -> MapBounds:
    """Return the size limits of a map that the author of a StreamAutoscaler configures."""
    names = frozenset(nodes)
    limits = MapLimits(nodes=min(MAX_NODES, max(_FEWEST_NODES, 2 * len(names))), setting=_SETTING)
    return MapBounds(limits=limits, nodes=names)


def _text(connection: Connection, namespace: str, kept: ConfigMapSpec) -> str:
    try:
        found = connection.get(CONFIG_MAPS, kept.name, namespace=namespace)
    except ApiError as error:
        if error.status != http.HTTPStatus.FORBIDDEN:
            raise
        raise _forbidden(namespace, kept.name, str(error)) from error
    entries = found.get("data") or {}
    if kept.key not in entries:
        raise LatencyMapError(
            "configmap-key-missing", source=f"ConfigMap {namespace}/{kept.name}", key=kept.key, known=sorted(entries)
        )
    return str(entries[kept.key])


def _forbidden(namespace: str, name: str, message: str) -> ClusterError:
    """Return the error with the commands for the namespace's owner; the API server's message has the user name."""
    user = re.search(r'User "([^"]+)"', message)
    command = map_command(name, namespace, user[1] if user else _CONTROLLER)
    return ClusterError("configmap-forbidden", source=f"ConfigMap {namespace}/{name}", command=command)


def map_command(config_map: str, namespace: str, user: str) -> str:
    """Return the commands, on one line, that allow the controller to read one ConfigMap.

    Examples
    --------
    >>> print(map_command("map", "taxi", "anne"))  # doctest: +NORMALIZE_WHITESPACE
    kubectl -n taxi create role read-map --verb=get --resource=configmaps --resource-name=map &&
    kubectl -n taxi create rolebinding read-map --role=read-map --user=anne
    """
    name = f"read-{config_map}"
    account = user.removeprefix("system:serviceaccount:")
    subject = f"--user={user}" if account == user else f"--serviceaccount={account}"
    create = ("kubectl", "-n", namespace, "create")
    role = (*create, "role", name, "--verb=get", "--resource=configmaps", f"--resource-name={config_map}")
    binding = (*create, "rolebinding", name, f"--role={name}", subject)
    return f"{command_line(role)} && {command_line(binding)}"
