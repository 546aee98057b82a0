"""Builds a loop from settings; the only module that knows all adapters."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

from gesscale.advised_cluster import AdvisedCluster
from gesscale.common.http_client import UNRESTRICTED_CLIENT, HttpClient
from gesscale.errors import ClusterError, InputError, SettingsError
from gesscale.knowledge.memory import MemoryKnowledge
from gesscale.loop import ControlLoop
from gesscale.monitor.driver import DriverMetrics
from gesscale.monitor.kafka import KafkaInput, KafkaOffsets
from gesscale.monitor.latencies import AgentLatencies, CachedLatencies, FileLatencies, MapBounds, PrometheusLatencies
from gesscale.monitor.prometheus import PrometheusMetrics
from gesscale.monitor.row_age import RowAges
from gesscale.monitor.source import PERIODS
from gesscale.plan.change_budget import ChangeBudget
from gesscale.plan.directives import Directive
from gesscale.policies.guarded import GuardedPolicy
from gesscale.ports import Cluster, KnowledgeStore, MetricSource
from gesscale.settings import Settings
from gesscale.settings.groups import MonitorSettings
from gesscale.settings.operators import KafkaSettings
from gesscale.validation import located
from latency_map import LatencyMap, LatencyMapError

#: Type of an entry point of group ``gesscale.clusters``; it receives ``execute.options``.
OpenCluster = Callable[[Mapping[str, str]], Cluster]


def build_loop(
    settings: Settings, now_s: float, *, advise_only: bool = False, cluster: Cluster | None = None
) -> ControlLoop:
    """Build the loop that the settings describe.

    Raises
    ------
    InputError
        If a policy, cluster or file does not exist, the latency map cannot be read, or it lacks a node of the
        settings.
    KnowledgeError
        If the knowledge file is unusable.
    """
    workflow = settings.workflow.build()
    latencies = open_latencies(settings)
    opened = cluster or open_cluster(settings, latencies)
    return ControlLoop(
        metrics=open_metrics(settings, host_names(settings, opened)),
        latencies=latencies,
        policy=GuardedPolicy(settings.analyze.build(workflow)),
        cluster=opened,
        knowledge=open_knowledge(settings, now_s, advise_only=advise_only),
        acts=settings.execute.mode == "act" and not advise_only,
        rescale_timeout_s=settings.plan.rescale_timeout_s,
        budget=ChangeBudget(settings.plan.max_changing_operators),
        excluded_nodes=frozenset(settings.plan.exclude_nodes),
        node_prices=settings.plan.node_prices,
        directives={name: Directive(operator=each) for name, each in workflow.operators.items()},
        measure_rows=partial(RowAges().measure, workflow=workflow),
    )


def open_latencies(settings: Settings) -> CachedLatencies:
    """Open the source of the latency map; a file is read immediately, other sources in the first step.

    Raises
    ------
    InputError
        If the file cannot be read, or lacks a node of the settings: NDmax would stay unknown.
    """
    group = settings.latency_map
    source, bounds = _latency_source(settings), MapBounds(limits=group.limits())
    source.max_age_s, source.asymmetry, source.bounds = group.max_age_s, group.asymmetry, lambda: bounds
    if not isinstance(source, FileLatencies):
        source.refresh_s = group.refresh_s
        return source
    source.check = lambda delays: _check_named_nodes(settings, delays)
    try:
        source.load()
    except LatencyMapError as error:
        raise InputError(located(error.problems, "latency_map.file")) from error
    return source


def _latency_source(settings: Settings) -> CachedLatencies:
    group, timeout_s = settings.latency_map, settings.monitor.timeout_s
    if group.source == "agents":
        return AgentLatencies(urls=group.agents, service=group.agents_dns or "", timeout_s=timeout_s)
    if group.source == "prometheus":
        url = group.prometheus_url or settings.monitor.prometheus_url or ""
        return PrometheusLatencies(url=url, timeout_s=timeout_s)
    return FileLatencies(file=group.file or Path(), unit=group.unit, kind=group.kind)


def open_cluster(settings: Settings, latencies: CachedLatencies) -> Cluster:
    """Open the cluster of the settings; without one, return a cluster for advice on the nodes of the latency map."""
    entry = _cluster_entry(settings)
    if entry is None:
        return AdvisedCluster(lambda: latencies.names)
    opening: OpenCluster = entry.load()
    return opening(settings.execute.options)


def check_environment(settings: Settings) -> CachedLatencies:
    """Check the files, names and adapters of the settings, without changing anything.

    Raises
    ------
    InputError
        If the latency map cannot be read or lacks a node, the policy cannot be created, the cluster adapter is not
        installed, or the knowledge file cannot be created.
    """
    latencies = open_latencies(settings)
    _cluster_entry(settings)
    _check_knowledge_file(settings.knowledge.file)
    settings.analyze.build(settings.workflow.build())
    return latencies


def open_knowledge(settings: Settings, now_s: float, *, advise_only: bool) -> KnowledgeStore:
    """Open the knowledge file; advice only reads it, so that a running loop may have it open."""
    group = settings.knowledge
    if not advise_only:
        from gesscale.knowledge.sqlite import SqliteKnowledge  # a controller has no such file

        return SqliteKnowledge(group.file, now_s=now_s, limits=group.limits())
    return recall_knowledge(settings, now_s)


def recall_knowledge(settings: Settings, now_s: float) -> MemoryKnowledge:
    """Return the knowledge of the file up to an instant, without changing it; empty without a file."""
    group = settings.knowledge
    if not group.file.exists():
        return MemoryKnowledge(group.limits())
    from gesscale.knowledge.sqlite import SqliteHistory  # as above

    with SqliteHistory(group.file) as history:
        return MemoryKnowledge(group.limits(), known=history.recall(now_s))


def host_names(settings: Settings, cluster: Cluster) -> Mapping[str, str]:
    """Return the node name of each host address, from the settings or else from the cluster."""
    if settings.monitor.hosts:
        return settings.monitor.hosts
    try:
        nodes = cluster.state().nodes
    except ClusterError:
        return {}
    return {node.address: name for name, node in nodes.items() if node.address}


def open_metrics(settings: Settings, hosts: Mapping[str, str]) -> MetricSource:
    """Open the metric source of the settings."""
    operators = settings.workflow.operators
    return open_monitor(
        settings.monitor,
        {name: operator.metrics_url or "" for name, operator in operators.items()},
        hosts,
        {name: operator.kafka for name, operator in operators.items() if operator.kafka is not None},
    )


def open_monitor(
    group: MonitorSettings,
    urls: Mapping[str, str],
    hosts: Mapping[str, str],
    topics: Mapping[str, KafkaSettings],
    client: HttpClient = UNRESTRICTED_CLIENT,
) -> MetricSource:
    """Open the metric source of some operators."""
    source = _open_batches(group, urls, hosts, client)
    offsets = {name: KafkaOffsets(topic.bootstrap, topic.topic, client.resolve) for name, topic in topics.items()}
    return KafkaInput(source, offsets, group.timeout_s, group.window_s) if offsets else source


def _cluster_entry(settings: Settings) -> EntryPoint | None:
    name = settings.execute.cluster
    if name == "none":
        return None
    known = {entry.name: entry for entry in entry_points(group="gesscale.clusters")}
    if name not in known:
        raise SettingsError("cluster-unknown", place="execute.cluster", known=sorted(known), got=name)
    return known[name]


def _check_knowledge_file(file: Path) -> None:
    if file.is_dir():
        raise SettingsError("knowledge-file-is-directory", place="knowledge.file", file=file)
    if not file.parent.is_dir():
        raise SettingsError("knowledge-directory-missing", place="knowledge.file", directory=file.parent)


def _check_named_nodes(settings: Settings, delays: LatencyMap) -> None:
    for setting, node in _named_nodes(settings):
        if node not in delays:
            raise SettingsError(
                "node-not-in-latency-map", place=setting, map=settings.latency_map.file, known=delays.names, got=node
            )


def _named_nodes(settings: Settings) -> Iterator[tuple[str, str]]:
    for name, operator in settings.workflow.operators.items():
        yield f"workflow.operators.{name}.driver_node", operator.driver_node
    for address, node in settings.monitor.hosts.items():
        yield f"monitor.hosts.{address}", node
    for node in settings.plan.exclude_nodes:
        yield "plan.exclude_nodes", node
    for node in settings.plan.node_prices:
        yield "plan.node_prices", node


def _open_batches(
    group: MonitorSettings, urls: Mapping[str, str], hosts: Mapping[str, str], client: HttpClient
) -> MetricSource:
    periods: dict[str, Any] = {name: getattr(group, name) for name in PERIODS}
    if group.source == "prometheus":
        return PrometheusMetrics(group.prometheus_url or "", tuple(urls), hosts=hosts, client=client, **periods)
    return DriverMetrics(urls, hosts=hosts, client=client, **periods)
