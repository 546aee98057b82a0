"""From resources to workflows: membership, shared settings, and that an invalid workflow stops no other."""

import pytest

from gesscale.kubernetes.resource.autoscaler import read_autoscaler
from gesscale.kubernetes.resource.translate import (
    DriverEndpoint,
    FaultReason,
    driver_selector,
    external_driver,
    group_into_workflows,
)
from gesscale.model.schedule import ScalingSchedule
from gesscale.model.workflow import BatchCap
from gesscale.plan.directives import Override, Pause

RULE = {"operator": "*", "action": "scale-out", "by": {"percent": 50}}


def resource(name, namespace="taxi", **spec):
    return {"metadata": {"name": name, "namespace": namespace}, "spec": spec}


def the_fault(faults, name):
    return faults["taxi", name]


def test_resources_of_one_namespace_and_name_form_a_workflow():
    found = group_into_workflows(
        [
            resource("clean", workflow="rides", slo="20s"),
            resource("near", workflow="rides", slo="20s", upstream=["clean"], batchCap={"rows": 500}, minReplicas=2),
            resource("clean", namespace="other", workflow="rides"),
            resource("alone"),
        ]
    )
    assert found.faults == {}
    assert list(found.workflows) == [("other", "rides"), ("taxi", "alone"), ("taxi", "rides")]
    rides = found.workflows["taxi", "rides"]
    workflow = rides.build({"near": DriverEndpoint(node="edge1", metrics_url="http://10.0.0.1:9108")})
    assert workflow.upstream("near") == ("clean",)
    assert workflow.objective_s("near") == 10.0  # two operators in sequence
    near = workflow.operators["near"]
    assert (near.driver_node, near.min_replicas, near.cap) == ("edge1", 2, BatchCap(rows=500))
    assert workflow.operators["clean"].driver_node == ""  # its driver is unknown


def test_modes_pauses_and_overrides_become_directives():
    found = group_into_workflows(
        [
            resource("a", workflow="w", mode="Act", pause={"until": "1970-01-01T00:01:00Z", "reason": "backup"}),
            resource(
                "b", workflow="w", mode="DryRun", override={"nodes": ["n2", "n1"], "until": "1970-01-01T01:00:00Z"}
            ),
            resource("c", workflow="w", pause={}),
        ]
    ).workflows["taxi", "w"]
    directives = found.directives(found.build({}))
    assert [directives[name].acts for name in "abc"] == [True, True, False]
    assert directives["a"].pause == Pause(until_s=60.0, why="backup")
    assert directives["c"].pause == Pause()
    assert directives["b"].override == Override(until_s=3600.0, nodes=("n2", "n1"))
    assert directives["b"].operator.name == "b"


def test_operators_of_a_workflow_must_have_equal_settings():
    found = group_into_workflows(
        [
            resource("clean", workflow="rides", policy={"settings": {"law": "eq1"}}),
            resource("near", workflow="rides", slo="30s", monitor={"period": "30s"}),
            resource("alone"),
        ]
    )
    assert list(found.workflows) == [("taxi", "alone")]
    assert the_fault(found.faults, "clean") == the_fault(found.faults, "near")
    fault = the_fault(found.faults, "near")
    assert fault.reason is FaultReason.SETTINGS_DIFFER
    (problem,) = fault.problems
    assert [each.partition(" ")[0] for each in problem.fields["settings"]] == [
        "policy.settings",
        "monitor.period",
        "slo",
    ]


def test_an_unknown_upstream_stops_its_workflow():
    found = group_into_workflows([resource("near", workflow="w", upstream=["far"]), resource("clean", workflow="w")])
    assert found.workflows == {}
    assert the_fault(found.faults, "near").reason is FaultReason.UPSTREAM_UNKNOWN
    (problem,) = the_fault(found.faults, "near").problems
    assert (problem.code, problem.fields["upstream"]) == ("resource-upstream-unknown", "far")
    assert the_fault(found.faults, "clean").reason is FaultReason.WORKFLOW_BROKEN


def test_a_cycle_is_reported():
    found = group_into_workflows(
        [resource("a", workflow="w", upstream=["b"]), resource("b", workflow="w", upstream=["a"])]
    )
    fault = the_fault(found.faults, "a")
    assert fault.reason is FaultReason.WORKFLOW_CYCLIC
    assert "a -> b -> a" in fault.message


@pytest.mark.parametrize(
    "nonsense",
    [
        {"metadata": {"name": "bad", "namespace": "taxi"}, "spec": {"workflow": "w", "mode": "act"}},
        {"metadata": {"name": "bad", "namespace": "taxi"}, "spec": {"workflow": "w", "override": {"replicas": 3}}},
    ],
)
def test_an_invalid_resource_stops_its_own_workflow_only(nonsense):
    found = group_into_workflows([nonsense, resource("fine", workflow="w"), resource("other")])
    assert list(found.workflows) == [("taxi", "other")]
    assert the_fault(found.faults, "bad").reason is FaultReason.SPEC_INVALID
    assert the_fault(found.faults, "bad").problems[0].fields["source"] == "streamautoscaler taxi/bad"
    assert the_fault(found.faults, "fine").reason is FaultReason.WORKFLOW_BROKEN


@pytest.mark.parametrize("nonsense", [{}, {"metadata": 3, "spec": []}, {"spec": {"workflow": {}}}, {"metadata": {}}])
def test_an_object_without_a_name_stops_no_other(nonsense):
    found = group_into_workflows([nonsense, resource("other")])
    assert list(found.workflows) == [("taxi", "other")]
    assert [fault.reason for fault in found.faults.values()] == [FaultReason.SPEC_INVALID]


@pytest.mark.parametrize(
    ("policy", "code", "place"),
    [
        ({"name": "daedalus", "settings": {"cooldwn": "3m"}}, "setting-unknown", "spec.policy.settings, cooldwn"),
        ({"name": "daedalus", "settings": {"cooldown": "soon"}}, "duration-invalid", "spec.policy.settings, cooldown"),
        ({"name": "hpa-cpu", "settings": {"change_price": 3}}, "setting-unknown", "spec.policy.settings, change_price"),
        ({"settings": {"cpu_high_pct": 80}}, "setting-unknown", "spec.policy.settings, cpu_high_pct"),
        ({"name": "thr-nlaware", "settings": {"cpu_low_pct": 95}}, "settings-out-of-order", "spec.policy.settings"),
        ({"name": "static", "settings": {"cooldown": "3m"}}, "policy-without-settings", "spec.policy.settings"),
        # A list that has no valid item is not called too short as well.
        (
            {"name": "rules", "settings": {"rules": [{**RULE, "when": [{"metric": "lag", "above": 5}]}]}},
            "setting-required",
            "spec.policy.settings, rules.0.when.0.for",
        ),
        ({"name": "rules", "settings": {"file": "/etc/passwd"}}, "policy-settings-file", "spec.policy.settings.file"),
        ({"name": "rules", "settings": {"rules": ["x" * 70_000]}}, "policy-settings-oversized", "spec.policy.settings"),
    ],
)
def test_invalid_policy_settings_have_their_own_fault(policy, code, place):
    found = group_into_workflows([resource("near", workflow="w", policy=policy), resource("far", workflow="w")])
    assert found.workflows == {}
    fault = the_fault(found.faults, "near")
    assert fault.reason is FaultReason.SETTINGS_INVALID
    (problem,) = fault.problems
    assert (problem.code, problem.fields["place"]) == (code, place)
    assert problem.fields["source"] == "streamautoscaler taxi/near"
    assert len(fault.message) < 1000
    assert the_fault(found.faults, "far").reason is FaultReason.WORKFLOW_BROKEN


def test_the_settings_of_a_policy_are_those_of_a_settings_file():
    policy = {"name": "daedalus", "settings": {"seed": 7, "cooldown": "3m", "max_step_up": 2}}
    found = group_into_workflows([resource("near", policy=policy)]).workflows["taxi", "near"].policy_settings
    assert (found.policy, found.seed) == ("daedalus", 7)
    assert (found.daedalus.cooldown_s, found.daedalus.max_step_up) == (180.0, 2)


def test_a_driver_pod_is_found_by_the_name_of_its_resource():
    assert driver_selector(read_autoscaler(resource("near"))).match_labels == {
        "gesscale.dev/autoscaler": "near",
        "spark-role": "driver",
    }
    own = resource("near", driver={"selector": {"matchLabels": {"app": "taxi"}}})
    assert driver_selector(read_autoscaler(own)).match_labels == {"app": "taxi"}


def test_the_place_of_a_driver_outside_the_cluster():
    place = DriverEndpoint(node="edge1", metrics_url="http://10.0.0.1:9108")
    outside = resource("near", driver={"node": "edge1", "metricsUrl": "http://10.0.0.1:9108"})
    assert external_driver(read_autoscaler(outside)) == place
    assert external_driver(read_autoscaler(resource("near"))) is None
    workflow = group_into_workflows([outside]).workflows["taxi", "near"].build({})
    assert workflow.operators["near"].driver_node == "edge1"


def test_the_prometheus_of_the_map_is_by_default_the_monitors():
    spec = {"latencyMap": {"source": "Prometheus"}, "monitor": {"prometheusUrl": "http://p:9090"}}
    found = group_into_workflows([resource("near", **spec)]).workflows["taxi", "near"]
    assert found.latency_map.prometheus_url == "http://p:9090"
    assert (found.rescale_timeout_s, found.policy_settings.policy, found.monitor.period_s) == (300.0, "gesscale", 60.0)


@pytest.mark.parametrize(
    ("annotations", "pause"),
    [
        ({}, None),
        ({"gesscale.dev/paused": "false"}, None),
        ({"gesscale.dev/paused": "true"}, Pause(why="annotation gesscale.dev/paused")),
        ({"gesscale.dev/paused": "new antenna"}, Pause(why="annotation gesscale.dev/paused: new antenna")),
    ],
)
def test_an_annotation_pauses(annotations, pause):
    paused = resource("a", mode="Act")
    paused["metadata"]["annotations"] = annotations
    found = group_into_workflows([paused]).workflows["taxi", "a"]
    assert found.directives(found.build({}))["a"].pause == pause


def test_the_scale_subresource_sets_the_number_and_0_lets_the_policy_decide():
    for given, number in ((0, None), (3, 3)):
        found = group_into_workflows([resource("a", replicas=given)]).workflows["taxi", "a"]
        assert found.directives(found.build({}))["a"].replicas == number


def test_schedules_belong_to_the_operator_and_to_the_settings_of_a_loop_outside_kubernetes():
    schedule = {"cron": "0 6 * * mon-fri", "timeZone": "Europe/Berlin", "duration": "2h", "minReplicas": 2}
    found = group_into_workflows([resource("a", schedules=[schedule])]).workflows["taxi", "a"]
    built = found.build({"a": DriverEndpoint(node="edge1", metrics_url="http://10.0.0.1:9108")})
    made = ScalingSchedule(cron="0 6 * * mon-fri", time_zone="Europe/Berlin", duration_s=7200.0, min_replicas=2)
    assert built.operators["a"].schedules == (made,)
    settings = found.settings(built, {"a": "http://10.0.0.1:9108"})
    assert settings.workflow.build().operators["a"].schedules == (made,)


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"cron": "0 0 30 2 *"}, "schedule-cron-invalid"),
        ({"timeZone": "Mars/Olympus"}, "schedule-zone-unknown"),
        ({"freeze": False}, None),
        ({"minReplicas": 3, "maxReplicas": 2, "freeze": False}, None),
    ],
)
def test_a_schedule_that_cannot_be_is_a_fault_of_its_resource(changed, code):
    schedule = {"cron": "0 6 * * *", "duration": "1h", "freeze": True} | changed
    fault = the_fault(group_into_workflows([resource("a", schedules=[schedule])]).faults, "a")
    assert fault.reason is FaultReason.SPEC_INVALID
    assert code is None or {problem.code for problem in fault.problems} == {code}
