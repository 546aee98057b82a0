"""Sources of a workflow's latency map."""

import re

import pytest
from scripted_api import SETTLE_S, as_json, connection_to, refusal, scripted_api

from gesscale.common.http_client import UNRESTRICTED_CLIENT
from gesscale.kubernetes.controller.latencies import LatencyMaps, bounds_of
from gesscale.kubernetes.resource.spec_groups import LatencyMapSpec
from gesscale.monitor.latencies import AgentLatencies

NEAR = "node,a,b\na,0,5\nb,5,0\n"
FAR = "node,a,b\na,0,50\nb,50,0\n"
NODES = ["a", "b"]
SPEC = {"source": "ConfigMap", "configMap": {"name": "map", "unit": "ms", "kind": "rtt"}, "refresh": "60s"}


@pytest.fixture
def api():
    with scripted_api() as script:
        yield script


def opened(api, **spec):
    maps = LatencyMaps(connection_to(api.url), lambda _namespace: UNRESTRICTED_CLIENT, lambda: NODES)
    return maps.open(LatencyMapSpec.model_validate(spec or SPEC), "streams", SETTLE_S)


def words(text):
    return set(re.findall(r"\w+", text))


def config_map(text, key="latency.csv"):
    return as_json({"data": {key: text}})


def test_a_config_map_is_read_at_intervals_and_the_last_good_map_stays(api):
    api.answers(config_map(NEAR), config_map(FAR), refusal(403, "Forbidden", "no"))
    source = opened(api)
    assert source.current(1000.0).map.nd_max_ms(["a", "b"]) == 5.0
    assert source.current(1059.0).map.nd_max_ms(["a", "b"]) == 5.0
    assert len(api.requests) == 1
    assert api.requests[0].path == "/api/v1/namespaces/streams/configmaps/map"
    assert source.current(1061.0).map.nd_max_ms(["a", "b"]) == 50.0
    kept = source.current(1122.0)
    assert kept.map.nd_max_ms(["a", "b"]) == 50.0
    assert "streams/map" in kept.map_status.problem


@pytest.mark.parametrize(
    ("user", "subject"),
    [
        ("system:serviceaccount:edge:scaler", "--serviceaccount=edge:scaler"),
        ("anne", "--user=anne"),
        (None, "--serviceaccount=gesscale:gesscale-controller"),  # no user in the message: that of deploy/k3s
    ],
)
def test_a_forbidden_map_has_the_commands_that_grant_it(api, user, subject):
    message = f'configmaps "map" is forbidden: User "{user}" cannot get resource "configmaps"' if user else "no"
    api.answers(refusal(403, "Forbidden", message))
    problem = opened(api).current(1000.0).map_status.problem
    role, binding = problem[problem.index("kubectl") :].split(" && ")
    create = "kubectl -n streams create"
    assert role == f"{create} role read-map --verb=get --resource=configmaps --resource-name=map"
    assert binding == f"{create} rolebinding read-map --role=read-map {subject}"


def map_of(count):
    names = [f"n{node}" for node in range(count)]
    return "rtt_ms," + ",".join(names) + "\n" + "".join(f"{name},{','.join('0' * count)}\n" for name in names)


def test_a_map_with_too_many_nodes_is_refused(api):
    api.answers(config_map(map_of(16)), config_map(map_of(17)))
    source = opened(api)
    assert len(source.current(1000.0).map) == 16
    kept = source.current(1061.0)
    assert len(kept.map) == 16
    assert {"16", "17"} <= words(kept.map_status.problem)
    assert "\n" not in kept.map_status.problem


def test_the_bounds_grow_with_the_cluster_up_to_the_maximum():
    for nodes, most in ((0, 16), (8, 16), (9, 18), (3000, 5000)):
        names = [f"n{node}" for node in range(nodes)]
        bounds = bounds_of(names)
        assert (bounds.limits.nodes, bounds.nodes) == (most, frozenset(names))


def page(source, *targets):
    return "".join(f'gesscale_latency_rtt_seconds{{source="{source}",target="{target}"}} 0.005\n' for target in targets)


def test_agents_give_nodes_of_the_cluster_only(api, httpserver):
    foreign = [f"x{number}" for number in range(40)]
    httpserver.expect_request("/metrics").respond_with_data(page("a", "b", *foreign) + page("x1", "a"))
    place = f"localhost:{httpserver.port}"
    given = opened(api, source="Agents", agentsDns=place, maxAge="2h").current(1000.0)
    assert given.map.names == ("a", "b")
    assert {"41", "x0"} <= words(given.map_status.problem)


def test_the_number_of_agents_is_limited(httpserver):
    httpserver.expect_request("/metrics").respond_with_data(page("a", "b"))
    urls = tuple(f"http://127.0.0.{host}:{httpserver.port}" for host in range(1, 18))
    source = AgentLatencies(urls=urls, timeout_s=1.0, bounds=lambda: bounds_of(NODES))
    assert {"16", "17"} <= words(source.current(1000.0).map_status.problem)
    assert httpserver.log == []


def test_prometheus_gives_nodes_of_the_cluster_only(api, httpserver):
    series = [
        {
            "metric": {"__name__": "gesscale_latency_rtt_seconds", "source": source, "target": "b"},
            "value": [1000.0, "0.005"],
        }
        for source in ("a", *(f"x{number}" for number in range(40)))
    ]
    answer = {"status": "success", "data": {"resultType": "vector", "result": series}}
    httpserver.expect_request("/api/v1/query").respond_with_json(answer)
    given = opened(api, source="Prometheus", prometheusUrl=httpserver.url_for("")).current(1000.0)
    assert given.map.names == ("a", "b")
    assert "40" in words(given.map_status.problem)
