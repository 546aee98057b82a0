"""Where a workflow's latency map comes from."""

import pytest
from scripted_api import as_json, connection_to, refusal, scripted_api

from gesscale.kubernetes.latencies import ConfigMapLatencies, open_latency_map
from gesscale.kubernetes.resource.spec_groups import LatencyMapSpec
from gesscale.monitor.latencies import AgentLatencies, PrometheusLatencies
from latency_map.measure.fetch import ANYWHERE

NEAR = "node,a,b\na,0,5\nb,5,0\n"
FAR = "node,a,b\na,0,50\nb,50,0\n"
SPEC = {"source": "ConfigMap", "configMap": {"name": "map", "unit": "ms", "kind": "rtt"}, "refresh": "60s"}


@pytest.fixture
def api():
    with scripted_api() as script:
        yield script


def opened(api, tmp_path, **spec):
    return open_latency_map(
        LatencyMapSpec.model_validate(spec or SPEC),
        namespace="streams",
        connection=connection_to(api.url),
        timeout_s=1.0,
        client=ANYWHERE,
        nodes=lambda: ("a", "b"),
        scratch=tmp_path / "scratch",
    )


def config_map(text, key="latency.csv"):
    return as_json({"data": {key: text}})


def test_a_config_map_is_read_when_that_is_due_and_the_last_good_map_stays(api, tmp_path):
    api.says(config_map(NEAR), config_map(FAR), refusal(403, "Forbidden", "no"))
    source = opened(api, tmp_path)
    assert isinstance(source, ConfigMapLatencies)
    assert source.current(1000.0).map.nd_max_ms(["a", "b"]) == 5.0
    assert source.current(1059.0).map.nd_max_ms(["a", "b"]) == 5.0
    assert len(api.asked) == 1
    assert api.asked[0].path == "/api/v1/namespaces/streams/configmaps/map"
    assert source.current(1061.0).map.nd_max_ms(["a", "b"]) == 50.0
    kept = source.current(1122.0)
    assert kept.map.nd_max_ms(["a", "b"]) == 50.0
    assert "may not read ConfigMap streams/map" in kept.standing.problem


@pytest.mark.parametrize(
    ("user", "subject"),
    [
        ("system:serviceaccount:edge:scaler", "--serviceaccount=edge:scaler"),
        ("anne", "--user=anne"),
        (
            None,
            "--serviceaccount=gesscale:gesscale-controller",
        ),  # the API server says nothing: deploy/k3s' own
    ],
)
def test_who_owns_a_map_that_the_controller_may_not_read_is_told_the_commands_that_let_it(
    api, tmp_path, user, subject
):
    said = f'configmaps "map" is forbidden: User "{user}" cannot get resource "configmaps"' if user else "no"
    api.says(refusal(403, "Forbidden", said))
    problem = opened(api, tmp_path).current(1000.0).standing.problem
    assert problem == (
        "the controller may not read ConfigMap streams/map; who owns the namespace grants it: "
        "kubectl -n streams create role read-map --verb=get --resource=configmaps --resource-name=map && "
        f"kubectl -n streams create rolebinding read-map --role=read-map {subject}"
    )


def test_another_refusal_is_no_missing_right(api, tmp_path):
    api.says(refusal(404, "NotFound", "no such map"))
    assert "it does not exist (404)" in opened(api, tmp_path).current(1000.0).standing.problem


def test_a_key_that_is_not_there_is_named_with_those_that_are(api, tmp_path):
    api.says(config_map(NEAR, key="other.csv"))
    found = opened(api, tmp_path).current(1000.0)
    assert found.map is None
    assert "expected a key 'latency.csv', it has other.csv" in found.standing.problem


def test_agents_and_prometheus_are_other_sources(api, tmp_path):
    agents = opened(api, tmp_path, source="Agents", agentsDns="agents.here:9109", maxAge="2h")
    assert isinstance(agents, AgentLatencies)
    assert (agents.service, agents.max_age_s) == ("agents.here:9109", 7200.0)
    prometheus = opened(api, tmp_path, source="Prometheus", prometheusUrl="http://p:9090")
    assert isinstance(prometheus, PrometheusLatencies)
    assert api.asked == []
