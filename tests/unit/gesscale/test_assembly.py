"""Building a loop from settings: adapters, their figures, and rejected settings."""

import pytest
from edge import FakeCluster, delays
from refusals import refused

from gesscale.assembly import build_loop, check_environment, host_names, open_cluster, open_latencies, open_metrics
from gesscale.errors import SettingsError
from gesscale.monitor import DriverMetrics
from gesscale.monitor.kafka import KafkaInput, KafkaOffsets
from gesscale.monitor.latencies import AgentLatencies
from gesscale.ports import Node
from gesscale.settings import Settings
from latency_map import Asymmetry, write_csv

OPERATOR = {"driver_node": "hub", "metrics_url": "http://127.0.0.1:9108"}


@pytest.fixture
def settings(tmp_path):
    """Return settings that name a map of the five nodes, with some groups added or replaced."""
    file = tmp_path / "map.csv"
    write_csv(delays(), file)

    def of(operator=None, **groups):
        return Settings.model_validate(
            {
                "workflow": {"operators": {"op": {**OPERATOR, **(operator or {})}}},
                "latency_map": {"file": file, "unit": "ms", "kind": "rtt"},
                "knowledge": {"file": tmp_path / "knowledge.sqlite"},
                **groups,
            }
        )

    return of


@pytest.mark.parametrize(
    ("changed", "setting", "node"),
    [
        ({"operator": {"driver_node": "hubb"}}, "workflow.operators.op.driver_node", "hubb"),
        ({"plan": {"exclude_nodes": ["near", "farr"]}}, "plan.exclude_nodes", "farr"),
        ({"plan": {"node_prices": {"farr": 2}}}, "plan.node_prices", "farr"),
        ({"monitor": {"hosts": {"10.0.0.1": "hub", "10.0.0.2": "neer"}}}, "monitor.hosts.10.0.0.2", "neer"),
    ],
)
def test_a_node_that_the_map_lacks_is_refused_by_name(settings, changed, setting, node):
    known = ("hub", "near", "mid", "far", "edge")
    with refused("node-not-in-latency-map", SettingsError, place=setting, got=node, known=known):
        open_latencies(settings(**changed))


AGED = {"max_age": "2h", "refresh": "1m", "asymmetry": "mean"}


def test_the_map_is_read_from_agents_if_configured(settings):
    given = {"source": "agents", "agents": ["http://hub:9109", "http://near:9109"], **AGED}
    source = open_latencies(settings(latency_map=given, monitor={"timeout": "3s"}))
    assert isinstance(source, AgentLatencies)
    assert (source.urls, source.service) == (("http://hub:9109", "http://near:9109"), "")
    assert (source.timeout_s, source.max_age_s, source.refresh_s) == (3, 7200, 60)
    assert source.asymmetry is Asymmetry.MEAN
    named = open_latencies(settings(latency_map={"source": "agents", "agents_dns": "agents:9109"}))
    assert (named.urls, named.service) == ((), "agents:9109")


def test_a_map_file_without_a_named_node_is_not_loaded(settings):
    given = settings()
    source = open_latencies(given)
    text = given.latency_map.file.read_text("utf-8")
    given.latency_map.file.write_text(text.replace("hub", "hubb"), "utf-8")
    taken = source.current(0.0)
    assert "hub" in taken.map
    assert "workflow.operators.op.driver_node" in taken.map_status.problem


def test_an_unknown_cluster_is_refused_with_those_there_are(settings):
    unknown = settings(execute={"cluster": "kluster"})
    for attempt in (lambda: open_cluster(unknown, open_latencies(unknown)), lambda: check_environment(unknown)):
        with refused("cluster-unknown", SettingsError, place="execute.cluster", got="kluster"):
            attempt()


@pytest.mark.parametrize(
    ("file", "code"), [(".", "knowledge-file-is-directory"), ("no/k.sqlite", "knowledge-directory-missing")]
)
def test_a_knowledge_file_that_cannot_be_made_is_refused(settings, tmp_path, file, code):
    with refused(code, SettingsError, place="knowledge.file"):
        check_environment(settings(knowledge={"file": tmp_path / file}))


def test_hosts_are_named_by_the_settings_else_by_the_cluster(settings):
    nodes = {"hub": Node(name="hub", address="10.0.0.1"), "near": Node(name="near")}
    cluster = FakeCluster({}, nodes=nodes)
    assert host_names(settings(), cluster) == {"10.0.0.1": "hub"}
    assert host_names(settings(monitor={"hosts": {"10.0.0.9": "far"}}), cluster) == {"10.0.0.9": "far"}


def test_metrics_come_from_the_drivers_over_the_periods_of_the_settings(settings):
    monitor = {"window": "20s", "history": "2m", "stale_after": "90s", "timeout": "1s"}
    source = open_metrics(settings(monitor=monitor), {"10.0.0.1": "hub"})
    assert isinstance(source, DriverMetrics)
    assert source.urls == {"op": "http://127.0.0.1:9108"}
    assert source.hosts == {"10.0.0.1": "hub"}
    assert (source.window_s, source.history_s, source.stale_after_s, source.timeout_s) == (20, 120, 90, 1)


def test_an_operator_with_a_topic_is_asked_of_the_broker_too(settings):
    topic = {"kafka": {"bootstrap": "127.0.0.1:9092", "topic": "rides"}}
    source = open_metrics(settings(operator=topic), {})
    assert isinstance(source, KafkaInput)
    assert source.topics == {"op": KafkaOffsets("127.0.0.1:9092", "rides")}


@pytest.mark.parametrize(
    ("mode", "advise_only", "acts"), [("act", False, True), ("act", True, False), ("recommend", False, False)]
)
def test_the_loop_acts_only_where_it_is_asked_to_and_not_held_back(settings, mode, advise_only, acts):
    asked = settings(
        execute={"mode": mode, "cluster": "given"},
        analyze={"policy": "thr-nlaware"},
        plan={"rescale_timeout": "7s", "exclude_nodes": ["far"]},
    )
    cluster = FakeCluster({})
    loop = build_loop(asked, 0.0, advise_only=advise_only, cluster=cluster)
    loop.knowledge.close()
    assert loop.acts is acts
    assert loop.cluster is cluster
    assert (loop.policy.name, loop.rescale_timeout_s) == ("thr-nlaware", 7.0)
    assert loop.excluded_nodes == {"far"}
