"""Reading a resource: what is taken, and that each fault is named by its path."""

import pytest

from gesscale.errors import InputError
from gesscale.kubernetes.resource.autoscaler import read_autoscaler
from gesscale.kubernetes.resource.parts import format_span, parse_instant_s, parse_span_s

NOON = "2026-11-21T12:00:00Z"
PROMETHEUS = "http://p:9090"


def resource(spec=None, *, name="near", **more):
    return {"metadata": {"name": name, "namespace": "taxi", "generation": 3}, "spec": spec or {}, **more}


def test_a_resource_needs_nothing_but_a_name():
    found = read_autoscaler(resource())
    assert (found.name, found.namespace, found.metadata.generation) == ("near", "taxi", 3)
    assert found.spec.mode == "Recommend"


def test_its_groups_become_settings():
    monitor = {"period": "30s", "window": "90s", "source": "Prometheus", "prometheusUrl": PROMETHEUS}
    policy = {"name": "thr-nlaware", "stabilizationWindow": "1h30m", "readingMaxAge": "Never", "cpuLowPct": 20}
    spec = read_autoscaler(resource({"monitor": monitor, "policy": policy})).spec
    monitor, analyze = spec.monitor.settings(), spec.policy.settings()
    assert (monitor.period_s, monitor.window_s, monitor.source) == (30.0, 90.0, "prometheus")
    assert (analyze.policy, analyze.stabilization_window_s) == ("thr-nlaware", 5400.0)
    assert (analyze.reading_max_age_s, analyze.reading_half_life_s, analyze.cpu_low_pct) == (None, 86400.0, 20.0)


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ({"minReplica": 2}, "spec.minReplica: .*minReplicas"),
        ({"minReplicas": 3, "maxReplicas": 2}, "spec: .*minReplicas <= maxReplicas"),
        ({"minReplicas": 0}, "spec.minReplicas: "),
        ({"policy": {"cpuLowPct": 90}}, "spec.policy: .*cpuLowPct < cpuHighPct"),
        ({"policy": {"name": "gescale"}}, "spec.policy.name: "),
        ({"policy": {"name": "/tmp/mine.py:POLICY"}}, "spec.policy.name: "),  # the controller runs nobody's file
        ({"policy": {"gesscale2": {"slow": "1m"}}}, "spec.policy.gesscale2.slow: .* slo"),
        ({"upstream": ["near"]}, "upstream"),
        ({"upstream": ["a", "a"]}, "spec.upstream: "),
        ({"driver": {"node": "edge1"}}, "spec.driver: .*node and metricsUrl"),
        ({"batchCap": {}}, "spec.batchCap: "),
        ({"batchCap": {"rows": 1, "rowsPerReplica": 1}}, "spec.batchCap: "),
        ({"override": {"until": NOON}}, "spec.override: "),
        ({"override": {"replicas": 2}}, "spec.override.until: .*required"),
        ({"override": {"replicas": 9, "until": NOON}}, "spec: .*override.replicas"),  # maxReplicas is 8
        ({"minReplicas": 2, "override": {"nodes": ["a"], "until": NOON}}, "spec: .*override.nodes"),
        ({"latencyMap": {"source": "ConfigMap"}}, "spec.latencyMap: .*configMap"),
        ({"latencyMap": {"source": "Prometheus"}}, "spec: .*prometheusUrl"),
        ({"latencyMap": {"refresh": "24h"}}, "spec.latencyMap: .*refresh < maxAge"),
        ({"nodePool": {"matchExpressions": [{"key": "p", "operator": "In"}]}}, "matchExpressions.0: .*values"),
        ({"mode": "act"}, "spec.mode: "),
        ({"pause": {"until": "tomorrow"}}, "spec.pause.until: "),
        ({"monitor": {"period": "0.999s"}}, "spec.monitor.period: .*1s"),
        ({"mode": "act", "monitor": {"period": "5x"}}, "spec.monitor.period: .*; spec.mode: "),
    ],
)
def test_each_fault_is_in_one_line_with_its_path(spec, path):
    with pytest.raises(InputError, match=rf"^streamautoscaler taxi/near: .*{path}"):
        read_autoscaler(resource(spec))


@pytest.mark.parametrize(
    "spec",
    [
        {"latencyMap": {"source": "Prometheus"}, "monitor": {"prometheusUrl": PROMETHEUS}},
        # a ConfigMap is looked at in every step, so no age is too small for it
        {"latencyMap": {"source": "ConfigMap", "configMap": {"name": "m"}, "maxAge": "1m"}},
        {"monitor": {"period": "1000ms"}},
    ],
)
def test_what_fits_together_is_taken(spec):
    read_autoscaler(resource(spec))


def test_a_status_of_nonsense_does_not_keep_the_spec_from_being_obeyed():
    status = {"memory": {"readings": [{"replicas": 0}]}, "order": {"id": "1-1"}}
    assert read_autoscaler(resource(status=status)) == read_autoscaler(resource())


@pytest.mark.parametrize("document", [{}, {"metadata": None}, {"metadata": []}, None, 5, []])
def test_what_has_no_name_is_refused_in_one_line(document):
    with pytest.raises(InputError, match=r"^streamautoscaler default/\?: "):
        read_autoscaler(document)


@pytest.mark.parametrize(
    ("written", "seconds"), [("250ms", 0.25), ("30s", 30), ("1h30m", 5400), ("168h", 604_800), ("1.5h", 5400)]
)
def test_a_duration_is_read_as_go_reads_it(written, seconds):
    assert parse_span_s(written) == seconds
    assert parse_span_s(format_span(parse_span_s(written))) == seconds


@pytest.mark.parametrize("written", ["", "5", 5, "5x", "-5s", "0s", "7d", "5 s", "1e3s", "99999h", None, True])
def test_anything_else_is_no_duration(written):
    with pytest.raises(ValueError, match="duration"):
        parse_span_s(written)


@pytest.mark.parametrize("written", ["2026-02-30T00:00:00Z", "2026-11-21", "2026-11-21T21:00:00", "", 5, None])
def test_an_instant_has_a_date_that_exists_and_a_zone(written):
    with pytest.raises(ValueError, match="instant"):
        parse_instant_s(written)
