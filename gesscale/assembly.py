"""Puts a loop together from settings: the one place that knows which adapters there are."""

from collections.abc import Callable, Mapping
from importlib.metadata import entry_points

from gesscale.errors import ClusterError, InputError, SettingsError
from gesscale.execute.recommend import AdvisedCluster
from gesscale.knowledge.sqlite import SqliteKnowledge
from gesscale.loop import ControlLoop
from gesscale.monitor.driver import DriverMetrics
from gesscale.monitor.kafka import KafkaInput, KafkaOffsets
from gesscale.monitor.prometheus import PrometheusMetrics
from gesscale.policies import policy_named
from gesscale.ports import Cluster, MetricSource
from gesscale.settings import Settings
from latency_map import LatencyMap, LatencyMapError, read_map

OpenCluster = Callable[[Mapping[str, str]], Cluster]
"""What an entry point of group ``gesscale.clusters`` provides: it takes ``execute.options``."""


def build_loop(
    settings: Settings, now_s: float, *, advise_only: bool = False, cluster: Cluster | None = None
) -> ControlLoop:
    """Build the loop that the settings describe.

    Parameters
    ----------
    settings
        Validated settings.
    now_s
        Seconds since the epoch; names a corrupt knowledge file that is set aside.
    advise_only
        Never act, whatever ``execute.mode`` says.
    cluster
        An open cluster to use instead of the one that ``execute.cluster`` names.

    Returns
    -------
    ControlLoop
        Ready to step.

    Raises
    ------
    InputError
        When a named policy, cluster or file does not exist, or the latency map cannot be read.
    KnowledgeError
        When the knowledge file cannot be used.
    """
    workflow = settings.workflow.build()
    delays = load_latency_map(settings)
    opened = cluster or open_cluster(settings, delays)
    return ControlLoop(
        metrics=open_metrics(settings, host_names(settings, opened)),
        policy=policy_named(settings.analyze.policy, workflow, delays, settings.analyze.rules()),
        cluster=opened,
        knowledge=SqliteKnowledge(settings.knowledge.file, now_s=now_s, limits=settings.knowledge.limits()),
        acts=settings.execute.mode == "act" and not advise_only,
        settle_timeout_s=settings.plan.settle_timeout_s,
    )


def load_latency_map(settings: Settings) -> LatencyMap:
    """Read the latency map that the settings name; InputError where it cannot be."""
    group = settings.latency_map
    try:
        return read_map(group.file, group.unit, group.kind, group.asymmetry).latencies
    except (LatencyMapError, OSError) as error:
        message = f"latency_map.file: {error}"
        raise InputError(message) from error


def open_cluster(settings: Settings, delays: LatencyMap) -> Cluster:
    """Open the cluster that the settings name; without one, the nodes of the latency map are advised on."""
    name = settings.execute.cluster
    if name == "none":
        return AdvisedCluster(delays.names)
    known = {entry.name: entry for entry in entry_points(group="gesscale.clusters")}
    if name not in known:
        message = f"execute.cluster: expected none or one of {', '.join(sorted(known))}, got {name!r}"
        raise SettingsError(message)
    opening: OpenCluster = known[name].load()
    return opening(settings.execute.options)


def host_names(settings: Settings, cluster: Cluster) -> Mapping[str, str]:
    """Return the node name of each host address: the settings' word, else the cluster's."""
    if settings.monitor.hosts:
        return settings.monitor.hosts
    try:
        nodes = cluster.state().nodes
    except ClusterError:
        return {}
    return {node.address: name for name, node in nodes.items() if node.address}


def open_metrics(settings: Settings, hosts: Mapping[str, str]) -> MetricSource:
    """Open the metric source that the settings name; operators with a topic get their input rate from the broker."""
    group = settings.monitor
    source = _open_batches(settings, hosts)
    topics = {
        name: KafkaOffsets(operator.kafka.bootstrap, operator.kafka.topic)
        for name, operator in settings.workflow.operators.items()
        if operator.kafka is not None
    }
    return KafkaInput(source, topics, group.timeout_s) if topics else source


def _open_batches(settings: Settings, hosts: Mapping[str, str]) -> MetricSource:
    group = settings.monitor
    if group.source == "prometheus":
        return PrometheusMetrics(
            group.prometheus_url or "",
            tuple(settings.workflow.operators),
            hosts=hosts,
            window_s=group.window_s,
            stale_after_s=group.stale_after_s,
            history_s=group.history_s,
            timeout_s=group.timeout_s,
        )
    return DriverMetrics(
        {name: operator.metrics_url or "" for name, operator in settings.workflow.operators.items()},
        hosts=hosts,
        window_s=group.window_s,
        stale_after_s=group.stale_after_s,
        history_s=group.history_s,
        timeout_s=group.timeout_s,
    )
