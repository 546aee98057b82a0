"""Reading a resource: what is refused, and in which words."""

import pytest

from gesscale.errors import InputError
from gesscale.kubernetes.resource.autoscaler import read_autoscaler
from gesscale.kubernetes.resource.spans import format_span, parse_instant_s, parse_span_s
from gesscale.policies import policy_names

NOON = "2026-11-21T12:00:00Z"


def resource(spec=None, *, name="near", **more):
    return {"metadata": {"name": name, "namespace": "taxi", "generation": 3}, "spec": spec or {}, **more}


def fault(spec=None, **more):
    with pytest.raises(InputError) as raised:
        read_autoscaler(resource(spec, **more))
    (line,) = str(raised.value).splitlines()
    return line.removeprefix("streamautoscaler taxi/near: ")


def test_little_has_to_be_said():
    found = read_autoscaler(resource())
    assert (found.name, found.namespace, found.workflow, found.metadata.generation) == (
        "near",
        "taxi",
        "near",
        3,
    )
    assert found.spec.mode == "Recommend"
    assert found.status.conditions == ()


def test_what_it_says_becomes_settings():
    spec = read_autoscaler(
        resource(
            {
                "monitor": {
                    "period": "30s",
                    "window": "90s",
                    "source": "Prometheus",
                    "prometheusUrl": "http://p:9090",
                },
                "policy": {
                    "name": "thr-nlaware",
                    "stabilizationWindow": "1h30m",
                    "readingMaxAge": "Never",
                    "cpuLowPct": 20,
                },
            }
        )
    ).spec
    monitor, analyze = spec.monitor.settings(), spec.policy.settings()
    assert (monitor.period_s, monitor.window_s, monitor.source) == (30.0, 90.0, "prometheus")
    assert (analyze.policy, analyze.stabilization_window_s, analyze.reading_max_age_s) == (
        "thr-nlaware",
        5400.0,
        None,
    )
    assert (analyze.cpu_low_pct, analyze.reading_half_life_s) == (20.0, 86400.0)


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"minReplica": 2}, "spec.minReplica: there is no such setting; did you mean 'minReplicas'?"),
        ({"minReplicas": 3, "maxReplicas": 2}, "spec: expected minReplicas <= maxReplicas"),
        ({"minReplicas": 0}, "spec.minReplicas: expected greater than or equal to 1, got 0"),
        ({"policy": {"cpuLowPct": 90}}, "spec.policy: expected cpuLowPct < cpuHighPct"),
        (
            {"policy": {"name": "gescale"}},
            f"spec.policy.name: expected one of {', '.join(policy_names())}, got 'gescale'",
        ),
        (  # only who runs the controller may have it run a file
            {"policy": {"name": "/tmp/mine.py:CARD"}},
            f"spec.policy.name: expected one of {', '.join(policy_names())}, got '/tmp/mine.py:CARD'",
        ),
        ({"upstream": ["near"]}, "upstream names the resource itself"),
        ({"upstream": ["a", "a"]}, "spec.upstream: expected every name once, got ['a', 'a']"),
        (
            {"driver": {"node": "edge1"}},
            "spec.driver: a driver outside the cluster needs both node and metricsUrl; a driver pod neither",
        ),
        ({"batchCap": {}}, "spec.batchCap: expected either rows or rowsPerReplica"),
        (
            {"batchCap": {"rows": 1, "rowsPerReplica": 1}},
            "spec.batchCap: expected either rows or rowsPerReplica",
        ),
        ({"override": {"until": NOON}}, "spec.override: expected either replicas or nodes"),
        ({"override": {"replicas": 2}}, "spec.override.until: this setting is required"),
        (
            {"override": {"replicas": 9, "until": NOON}},  # maxReplicas is 8
            "spec: expected override.replicas between minReplicas and maxReplicas",
        ),
        (
            {"minReplicas": 2, "override": {"nodes": ["a"], "until": NOON}},
            "spec: expected between minReplicas and maxReplicas names in override.nodes",
        ),
        (
            {"latencyMap": {"source": "ConfigMap"}},
            "spec.latencyMap: source ConfigMap needs configMap, such as {name: latency-map}",
        ),
        (
            {"latencyMap": {"refresh": "24h"}},
            "spec.latencyMap: expected refresh < maxAge; else a map is stale before it is asked for again",
        ),
        (
            {"nodePool": {"matchExpressions": [{"key": "pool", "operator": "In"}]}},
            "spec.nodePool.matchExpressions.0: operator In or NotIn needs values, Exists or DoesNotExist takes none",
        ),
        (
            {"nodePool": {"matchExpressions": [{"key": "pool", "operator": "In", "value": ["x"]}]}},
            "spec.nodePool.matchExpressions.0.value: there is no such setting; did you mean 'values'?",
        ),
        ({"mode": "act"}, "spec.mode: expected 'Recommend', 'DryRun' or 'Act', got 'act'"),
        (
            {"pause": {"until": "tomorrow"}},
            "spec.pause.until: expected an instant such as 2026-11-21T21:00:00Z, got 'tomorrow'",
        ),
    ],
)
def test_each_fault_is_one_line_with_its_path(spec, said):
    assert fault(spec) == said


def test_all_faults_are_in_the_one_line():
    assert fault({"mode": "act", "monitor": {"period": "5x"}}) == (
        "spec.monitor.period: expected a positive duration such as 250ms, 30s, 5m, 1h30m or 168h, 1s to 87600h, "
        "got '5x'; spec.mode: expected 'Recommend', 'DryRun' or 'Act', got 'act'"
    )


def test_prometheus_of_the_monitor_serves_the_map_too():
    said = (
        "spec: latencyMap.source Prometheus needs latencyMap.prometheusUrl or monitor.prometheusUrl, such as "
    )
    assert fault({"latencyMap": {"source": "Prometheus"}}).startswith(said)
    read_autoscaler(
        resource({"latencyMap": {"source": "Prometheus"}, "monitor": {"prometheusUrl": "http://p:9090"}})
    )


def test_no_age_is_too_small_for_a_map_that_is_looked_at_in_every_step():
    read_autoscaler(
        resource({"latencyMap": {"source": "ConfigMap", "configMap": {"name": "m"}, "maxAge": "1m"}})
    )


def test_a_status_of_nonsense_does_not_keep_the_spec_from_being_obeyed():
    status = {"memory": {"readings": [{"replicas": 0}]}, "order": {"id": "1-1"}}
    assert read_autoscaler(resource(status=status)) == read_autoscaler(resource())


@pytest.mark.parametrize("document", [{}, {"metadata": None}, {"metadata": {"name": ""}}, {"metadata": []}])
def test_a_resource_without_a_name_is_refused_in_one_line(document):
    with pytest.raises(InputError, match=r"^streamautoscaler default/\S*: metadata"):
        read_autoscaler(document)


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        ("250ms", 0.25),
        ("30s", 30),
        ("5m", 300),
        ("1h30m", 5400),
        ("168h", 604_800),
        ("1.5h", 5400),
        ("1m30s", 90),
    ],
)
def test_a_duration_is_read_as_go_reads_it(written, seconds):
    assert parse_span_s(written) == seconds
    assert parse_span_s(format_span(parse_span_s(written))) == seconds


@pytest.mark.parametrize(
    "written", ["", "5", 5, "5x", "-5s", "0s", "0h0m", "7d", "5 s", "1e3s", "99999h", None, True]
)
def test_anything_else_is_no_duration(written):
    with pytest.raises(ValueError, match="expected a positive duration such as 250ms"):
        parse_span_s(written)


@pytest.mark.parametrize(
    "written", ["2026-02-30T00:00:00Z", "2026-11-21", "2026-11-21T21:00:00", "", 5, None]
)
def test_an_instant_has_a_date_that_exists_and_a_zone(written):
    with pytest.raises(ValueError, match="expected an instant such as"):
        parse_instant_s(written)
