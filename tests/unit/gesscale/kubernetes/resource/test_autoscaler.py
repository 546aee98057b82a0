"""Reading a resource: valid ones, and the code and path of each problem."""

import pytest
from refusals import refused

from gesscale.common.errors import InvalidValueError
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
    policy = {"name": "thr-nlaware", "settings": {"stabilization_window": "90m", "cpu_low_pct": 20}}
    spec = read_autoscaler(resource({"monitor": monitor, "policy": policy})).spec
    monitor, analyze = spec.monitor.settings(), spec.policy.settings()
    assert (monitor.period_s, monitor.window_s, monitor.source) == (30.0, 90.0, "prometheus")
    assert (analyze.policy, analyze.stabilization_window_s) == ("thr-nlaware", 5400.0)
    assert (analyze.cpu_low_pct, analyze.cpu_high_pct) == (20.0, 90.0)


RULE = "resource-rule-violated"


@pytest.mark.parametrize(
    ("spec", "place", "code"),
    [
        ({"minReplica": 2}, "spec.minReplica", "setting-unknown"),
        ({"minReplicas": 3, "maxReplicas": 2}, "spec", RULE),
        ({"minReplicas": 0}, "spec.minReplicas", "setting-invalid"),
        ({"policy": {"name": "gescale"}}, "spec.policy.name", "policy-not-available"),
        ({"policy": {"name": "/tmp/mine.py:CARD"}}, "spec.policy.name", "policy-not-available"),
        ({"policy": {"cpuLowPct": 90}}, "spec.policy.cpuLowPct", "setting-unknown"),
        ({"upstream": ["near"]}, "", RULE),
        ({"upstream": ["a", "a"]}, "spec.upstream", "names-repeated"),
        ({"driver": {"node": "edge1"}}, "spec.driver", RULE),
        ({"batchCap": {}}, "spec.batchCap", RULE),
        ({"batchCap": {"rows": 1, "rowsPerReplica": 1}}, "spec.batchCap", RULE),
        ({"override": {"until": NOON}}, "spec.override", RULE),
        ({"override": {"replicas": 2}}, "spec.override.until", "setting-required"),
        ({"latencyMap": {"source": "ConfigMap"}}, "spec.latencyMap", RULE),
        ({"latencyMap": {"source": "Prometheus"}}, "spec", RULE),
        ({"latencyMap": {"refresh": "24h"}}, "spec.latencyMap", RULE),
        (
            {"nodePool": {"matchExpressions": [{"key": "p", "operator": "In"}]}},
            "spec.nodePool.matchExpressions.0",
            RULE,
        ),
        ({"mode": "act"}, "spec.mode", "setting-invalid"),
        ({"pause": {"until": "tomorrow"}}, "spec.pause.until", "instant-invalid"),
        ({"monitor": {"period": "0.999s"}}, "spec.monitor.period", "resource-duration-invalid"),
    ],
)
def test_each_problem_has_its_code_and_path(spec, place, code):
    with refused(code, InputError, source="streamautoscaler taxi/near", place=place):
        read_autoscaler(resource(spec))


def test_every_problem_is_reported():
    with refused("resource-duration-invalid", InputError) as caught:
        read_autoscaler(resource({"mode": "act", "monitor": {"period": "5x"}}))
    assert [each.fields["place"] for each in caught.value.problems] == ["spec.monitor.period", "spec.mode"]


@pytest.mark.parametrize(
    "spec",
    [
        {"latencyMap": {"source": "Prometheus"}, "monitor": {"prometheusUrl": PROMETHEUS}},
        # a ConfigMap is read in every step, so any age is long enough
        {"latencyMap": {"source": "ConfigMap", "configMap": {"name": "m"}, "maxAge": "1m"}},
        {"monitor": {"period": "1000ms"}},
        # maxReplicas is 8; an override that has ended must not make its resource invalid
        {"override": {"replicas": 9, "until": NOON}},
    ],
)
def test_a_consistent_spec_is_accepted(spec):
    read_autoscaler(resource(spec))


def test_an_invalid_status_does_not_matter_for_the_spec():
    status = {"memory": {"readings": [{"replicas": 0}]}, "order": {"id": "1-1"}}
    assert read_autoscaler(resource(status=status)) == read_autoscaler(resource())


@pytest.mark.parametrize("document", [{}, {"metadata": None}, {"metadata": []}, None, 5, []])
def test_an_object_without_a_name_is_refused(document):
    with pytest.raises(InputError) as caught:
        read_autoscaler(document)
    assert {each.fields["source"] for each in caught.value.problems} == {"streamautoscaler default/?"}


@pytest.mark.parametrize(
    ("written", "seconds"), [("250ms", 0.25), ("30s", 30), ("1h30m", 5400), ("168h", 604_800), ("1.5h", 5400)]
)
def test_a_duration_is_read_as_go_reads_it(written, seconds):
    assert parse_span_s(written) == seconds
    assert parse_span_s(format_span(parse_span_s(written))) == seconds


@pytest.mark.parametrize("written", ["", "5", 5, "5x", "-5s", "0s", "7d", "5 s", "1e3s", "99999h", None, True])
def test_anything_else_is_no_duration(written):
    with refused("resource-duration-invalid", InvalidValueError, got=written):
        parse_span_s(written)


@pytest.mark.parametrize("written", ["2026-02-30T00:00:00Z", "2026-11-21", "2026-11-21T21:00:00", "", 5, None])
def test_an_instant_has_a_date_that_exists_and_a_zone(written):
    with refused("instant-invalid", InvalidValueError, got=written):
        parse_instant_s(written)
