"""The StreamAutoscaler on a real API server: refusals, defaults, kubectl."""

import json
from dataclasses import dataclass

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from model_summaries import both_laws
from thoroughness import examples

from gesscale.common.errors import Problem
from gesscale.errors import InputError
from gesscale.kubernetes.resource.autoscaler import GROUP, PLURAL, VERSION, read_autoscaler
from gesscale.kubernetes.resource.conditions import conditions_of, findings_of_fault
from gesscale.kubernetes.resource.crd import definition
from gesscale.kubernetes.resource.memory import MemoryStatus, knowledge_of
from gesscale.kubernetes.resource.status import EstimateStatus, LoadStatus, ModelStatus, StreamAutoscalerStatus
from gesscale.kubernetes.resource.translate import FaultReason, ResourceFault
from gesscale.ports import Knowledge
from perfmodel import Reading

kubernetes = pytest.importorskip("kubernetes", reason="needs the extra gesscale[controller]")
pytestmark = pytest.mark.real

UNTIL = "2030-01-01T00:00:00Z"
ORDER = {
    "id": "3-1",
    "term": 3,
    "placement": ["edge1", "edge2"],
    "at": "2026-11-21T21:00:00Z",
    "strategy": "Live",
    "givenUp": False,
}


class Resources:
    """StreamAutoscalers of one namespace."""

    def __init__(self, client, namespace):
        self.objects = kubernetes.client.CustomObjectsApi(client)
        self.namespace = namespace
        self.place = {"group": GROUP, "version": VERSION, "namespace": namespace, "plural": PLURAL}

    def create(self, spec, name="near", **more):
        metadata = {"name": name, "namespace": self.namespace}
        body = {"apiVersion": f"{GROUP}/{VERSION}", "kind": "StreamAutoscaler", "metadata": metadata, "spec": spec}
        return self.objects.create_namespaced_custom_object(**self.place, body=body, **more)

    def refusal(self, spec, name="near"):
        """Return the API server's refusal of a dry run; empty if it accepts the spec."""
        try:
            self.create(spec, name, dry_run="All")
        except kubernetes.client.ApiException as error:
            if error.status != 422:
                raise
            return json.loads(error.body)["message"]
        return ""

    def patch(self, body, name="near"):
        return self.objects.patch_namespaced_custom_object(**self.place, name=name, body=body)

    def patch_status(self, status, name="near"):
        return self.objects.patch_namespaced_custom_object_status(**self.place, name=name, body={"status": status})

    def scale(self, replicas, name="near"):
        """Set the number through the scale subresource, as kubectl, an HPA and KEDA do, and return what it then has."""
        place = {**self.place, "name": name}
        self.objects.patch_namespaced_custom_object_scale(**place, body={"spec": {"replicas": replicas}})
        return self.objects.get_namespaced_custom_object_scale(**place)

    def get(self, name="near"):
        return self.objects.get_namespaced_custom_object(**self.place, name=name)


@pytest.fixture(scope="module")
def client(defined):
    """A client of the cluster, with the definition in force."""
    active = kubernetes.config.new_client_from_config(str(defined.kubeconfig))
    yield active
    active.close()


@pytest.fixture
def rehearsed(client):
    """StreamAutoscalers that leave nothing behind."""
    return Resources(client, "default")


@pytest.fixture
def resources(client, namespace):
    """StreamAutoscalers of one fresh namespace."""
    return Resources(client, namespace)


def test_an_empty_spec_gets_the_defaults_of_the_models(resources):
    served = resources.create({})
    assert read_autoscaler(served).spec == read_autoscaler({"metadata": {"name": "near"}}).spec
    assert served["spec"]["latencyMap"]["maxAge"] == "24h"


def test_a_partial_group_keeps_the_other_defaults(resources):
    served = resources.create({"monitor": {"period": "30s"}, "latencyMap": {"maxAge": "Never"}})
    assert served["spec"]["monitor"]["window"] == "1m"
    assert read_autoscaler(served).spec.latency_map.max_age_s is None


def rules_of(path: str) -> list[str]:
    """Return the messages of the rules that the definition has for a part of the resource."""
    part = definition()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    for name in path.split(".") if path else ():
        part = part["properties"][name] if name != "0" else part["items"]
    return [rule["message"] for rule in part["x-kubernetes-validations"]]


@dataclass(frozen=True)
class BrokenRule:
    """One of the rules of a part is violated; in ``naming`` the fields that its message names."""

    path: str
    naming: tuple[str, ...] = ()

    def is_in(self, message: str) -> bool:
        return any(all(name in rule for name in self.naming) and rule in message for rule in rules_of(self.path))


REFUSED = [
    ({"minReplicas": 3, "maxReplicas": 2}, BrokenRule("spec", ("minReplicas", "maxReplicas"))),
    ({"minReplicas": 0}, "spec.minReplicas in body should be greater than or equal to 1"),
    ({"maxReplicas": 501}, "spec.maxReplicas in body should be less than or equal to 500"),
    ({"batchCap": {"rows": 5, "rowsPerReplica": 5}}, BrokenRule("spec.batchCap")),
    ({"batchCap": {}}, BrokenRule("spec.batchCap")),
    ({"driver": {"node": "edge1"}}, BrokenRule("spec.driver", ("node", "metricsUrl"))),
    ({"driver": {"metricsUrl": "http://e:1"}}, BrokenRule("spec.driver", ("node", "metricsUrl"))),
    (
        {"driver": {"node": "e", "metricsUrl": "http://e:1", "selector": {"matchLabels": {"a": "b"}}}},
        BrokenRule("spec.driver", ("selector",)),
    ),
    ({"driver": {"node": "e", "metricsUrl": "ftp://e"}}, "spec.driver.metricsUrl in body should match"),
    ({"override": {"replicas": 2}}, "spec.override.until: Required value"),
    ({"override": {"until": UNTIL}}, BrokenRule("spec.override")),
    ({"override": {"until": UNTIL, "nodes": []}}, BrokenRule("spec.override")),
    ({"override": {"until": UNTIL, "replicas": 2, "nodes": ["a"]}}, BrokenRule("spec.override")),
    ({"override": {"until": UNTIL, "nodes": ["a", "a"]}}, 'spec.override.nodes[1]: Duplicate value: "a"'),
    ({"override": {"until": "tomorrow", "replicas": 2}}, "spec.override.until in body must be of type date-time"),
    ({"upstream": ["near"]}, BrokenRule("", ("upstream",))),
    ({"upstream": ["a", "a"]}, 'spec.upstream[1]: Duplicate value: "a"'),
    ({"latencyMap": {"source": "ConfigMap"}}, BrokenRule("spec.latencyMap", ("configMap",))),
    ({"latencyMap": {"source": "Prometheus"}}, BrokenRule("spec", ("latencyMap.prometheusUrl",))),
    ({"latencyMap": {"refresh": "24h"}}, BrokenRule("spec.latencyMap", ("refresh", "maxAge"))),
    ({"monitor": {"source": "Prometheus"}}, BrokenRule("spec.monitor", ("prometheusUrl",))),
    ({"monitor": {"window": "6m"}}, BrokenRule("spec.monitor", ("window", "history"))),
    ({"monitor": {"period": "0s"}}, "spec.monitor.period: Invalid value"),
    ({"monitor": {"period": "7d"}}, BrokenRule("spec.monitor.period")),
    ({"monitor": {"period": "999ms"}}, BrokenRule("spec.monitor.period")),
    ({"monitor": {"period": "99999h"}}, BrokenRule("spec.monitor.period")),
    (
        {"nodePool": {"matchExpressions": [{"key": "pool", "operator": "In"}]}},
        BrokenRule("spec.nodePool.matchExpressions.0"),
    ),
    ({"executor": {"requests": {"cpu": "lots"}}}, "spec.executor.requests.cpu in body should match"),
    ({"mode": "act"}, 'spec.mode: Unsupported value: "act"'),
]


@pytest.mark.parametrize(("spec", "expected"), REFUSED)
def test_the_api_server_and_the_models_refuse_contradictions(rehearsed, spec, expected):
    refusal = rehearsed.refusal(spec)
    assert expected.is_in(refusal) if isinstance(expected, BrokenRule) else expected in refusal
    with pytest.raises(InputError):
        read_autoscaler({"metadata": {"name": "near"}, "spec": spec})


ACCEPTED = [
    {"workflow": "rides", "upstream": ["clean"], "mode": "Act", "minReplicas": 2, "maxReplicas": 3},
    {"driver": {"node": "edge1", "metricsUrl": "http://10.0.0.1:9108/"}},
    {"driver": {"selector": {"matchLabels": {"app": "taxi"}}, "port": 9200}},
    {"nodePool": {"matchLabels": {"pool": "edge"}, "matchExpressions": [{"key": "gpu", "operator": "DoesNotExist"}]}},
    {"executor": {"requests": {"cpu": 1, "memory": "900Mi"}, "architectures": ["arm64"], "excludeNodes": ["a"]}},
    {"latencyMap": {"source": "ConfigMap", "configMap": {"name": "m", "unit": "ms", "kind": "rtt"}, "maxAge": "Never"}},
    {"latencyMap": {"source": "Prometheus"}, "monitor": {"prometheusUrl": "http://prometheus.monitoring:9090"}},
    {"pause": {}},
    {"pause": {"until": UNTIL, "reason": "the disk is full"}},
    {"override": {"replicas": 9, "until": UNTIL}},  # the controller reports it: an expired one is no obstacle
    {"override": {"nodes": ["edge1", "edge2"], "until": "2030-01-01T02:00:00+02:00"}},
    {"policy": {"settings": {"stabilization_window": "90m", "change_price": 3}}, "slo": "2m"},
    {"policy": {"name": "rules", "settings": {"rules": [{"operator": "*", "anything": {"deep": [1, "x"]}}]}}},
]


@pytest.mark.parametrize("spec", ACCEPTED)
def test_api_server_and_models_accept_the_same_valid_specs(rehearsed, spec):
    served = rehearsed.create(spec, dry_run="All")
    assert read_autoscaler(served).spec == read_autoscaler({"metadata": {"name": "near"}, "spec": spec}).spec


def test_the_workflow_cannot_be_changed(resources):
    resources.create({})
    resources.patch({"spec": {"workflow": "near"}})  # the default, stated explicitly
    with pytest.raises(kubernetes.client.ApiException) as caught:
        resources.patch({"spec": {"workflow": "other"}})
    assert BrokenRule("", ("workflow",)).is_in(json.loads(caught.value.body)["message"])


@pytest.mark.parametrize("override", [{"replicas": 3}, {"nodes": ["a", "b", "c"]}])
def test_a_changed_override_is_held_to_the_limits_and_an_old_one_is_not(resources, override):
    (count,) = override
    resources.create({"maxReplicas": 3, "override": {**override, "until": "2020-01-01T00:00:00Z"}})
    resources.patch({"spec": {"maxReplicas": 1}})
    with pytest.raises(kubernetes.client.ApiException) as caught:
        resources.patch({"spec": {"override": {"until": UNTIL}}})
    assert BrokenRule("spec", (f"override.{count}",)).is_in(json.loads(caught.value.body)["message"])


def test_null_is_dropped_and_unknown_members_are_pruned(rehearsed):
    served = rehearsed.create({"pause": None, "monitor": {"period": None}, "minReplica": 3}, dry_run="All")
    assert "pause" not in served["spec"]
    assert served["spec"]["monitor"]["period"] == "1m"
    assert "minReplica" not in served["spec"]


def test_spec_and_status_are_written_separately(resources):
    resources.create({})
    resources.patch({"status": {"replicas": 5}})
    assert "status" not in resources.get()
    resources.patch_status({"replicas": 2, "order": ORDER})
    resources.objects.patch_namespaced_custom_object_status(
        **resources.place, name="near", body={"spec": {"mode": "Act"}}
    )
    found = resources.get()
    assert (found["spec"]["mode"], found["status"]["replicas"], found["metadata"]["generation"]) == ("Recommend", 2, 1)
    resources.patch({"spec": {"mode": "Act"}})
    found = resources.get()
    assert (found["metadata"]["generation"], found["status"]["order"]) == (2, ORDER)


def test_an_invalid_order_is_refused(resources):
    resources.create({})
    for wrong in ({**ORDER, "placement": []}, {**ORDER, "term": -1}, {"id": "1-1"}, {**ORDER, "strategy": "live"}):
        with pytest.raises(kubernetes.client.ApiException) as refused:
            resources.patch_status({"order": wrong})
        assert refused.value.status == 422


def test_memory_is_stored_exactly(resources):
    resources.create({})
    readings = tuple(
        Reading(
            replicas=1 + index,
            nd_max_ms=100 / (3 + index),
            rows_per_s=1e4 / 7 * (1 + index),
            batch_rows=None if index % 2 else 3000.0,
            at_s=1_800_000_000.123456 - index / 3,
        )
        for index in range(20)
    )
    known = Knowledge(readings={"near": readings})
    resources.patch_status({"memory": MemoryStatus.of(known, "near").document()})
    served = MemoryStatus.model_validate(resources.get()["status"]["memory"])
    assert knowledge_of({"near": served}) == known


def test_kubectl_get_shows_the_columns(cluster, resources):
    resources.create({"workflow": "rides", "mode": "Act"})
    conditions = conditions_of(
        findings_of_fault(ResourceFault(reason=FaultReason.SETTINGS_DIFFER, problems=(Problem("they differ"),))),
        {},
        generation=1,
        now_s=1_800_000_000.0,
    )
    status = StreamAutoscalerStatus(
        replicas=2,
        desired_replicas=3,
        placement=("edge1", "edge2"),
        mst=EstimateStatus(low=600, mid=640.2, high=700),
        load=LoadStatus(input_rows_per_s=812.34),
        model=ModelStatus.model_validate(both_laws(), from_attributes=True),
        conditions=conditions,
    )
    resources.patch_status(status.document())
    head, row = cluster.run_kubectl("get", "sas", "-n", resources.namespace).splitlines()
    assert head.split() == [
        *("NAME", "MIN", "MAX", "REPLICAS", "DESIRED", "MST", "LOAD", "ROW-AGE", "MODE", "READY", "UPDATED", "AGE")
    ]
    assert row.split()[:8] == ["near", "1", "8", "2", "3", "640", "812", "Act"]  # no row age nor decision yet
    head, row = cluster.run_kubectl("get", "sas", "-o", "wide", "-n", resources.namespace).splitlines()
    assert head.split()[-8:-1] == ["REASON", "LAW", "FITTED", "ERROR%", "WORKFLOW", "PLACEMENT", "UPDATED"]
    assert row.split()[-7:-1] == ["SettingsDiffer", "batch-time", "true", "4", "rides", '["edge1","edge2"]']
    described = cluster.run_kubectl("describe", "sas", "near", "-n", resources.namespace)
    assert "they differ" in described


@pytest.mark.usefixtures("client")
def test_kubectl_explains_every_field(cluster):
    explained = " ".join(cluster.run_kubectl("explain", "sas.spec.policy.name").split())
    policy = definition()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"][
        "policy"
    ]
    assert policy["properties"]["name"]["description"] in explained
    assert "Written by" not in cluster.run_kubectl("explain", "sas.status.order", "--recursive")


SPANS = st.sampled_from(("1s", "60s", "5m", "1h30m", "168h", "0s", "Never", "1m1m1m1m", "250ms", "1.5h"))
DOCUMENTS = st.fixed_dictionaries(
    {},
    optional={
        "minReplicas": st.integers(0, 10),
        "maxReplicas": st.integers(0, 10),
        "monitor": st.fixed_dictionaries({}, optional={"window": SPANS, "history": SPANS, "period": SPANS}),
        "latencyMap": st.fixed_dictionaries(
            {}, optional={"refresh": SPANS, "maxAge": SPANS, "source": st.sampled_from(("Agents", "ConfigMap"))}
        ),
        "override": st.fixed_dictionaries(
            {"until": st.just(UNTIL)},
            optional={
                "replicas": st.integers(0, 10),
                "nodes": st.lists(st.sampled_from(("edge1", "edge2", "Edge")), max_size=3),
            },
        ),
        "executor": st.fixed_dictionaries(
            {},
            optional={"requests": st.fixed_dictionaries({"cpu": st.sampled_from((1, -1, "500m", "1e3", "x", ".5"))})},
        ),
    },
)


@settings(max_examples=examples(400), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(spec=DOCUMENTS)
def test_models_and_api_server_accept_the_same_documents(rehearsed, spec):
    by_server, by_models = rehearsed.refusal(spec), ""
    try:
        read_autoscaler({"metadata": {"name": "near"}, "spec": spec})
    except InputError as error:
        by_models = str(error)
    assert bool(by_server) == bool(by_models), f"the API server: {by_server!r}; the models: {by_models!r}"


def test_the_scale_subresource_has_the_number_the_running_replicas_and_a_selector(resources):
    resources.create({}, name="scaled")
    untouched = resources.objects.get_namespaced_custom_object_scale(**resources.place, name="scaled")
    assert untouched["spec"].get("replicas", 0) == 0  # the policy decides
    status = StreamAutoscalerStatus(replicas=2, selector=f"{GROUP}/autoscaler=scaled,spark-role=executor")
    resources.patch_status(status.document(), name="scaled")
    scaled = resources.scale(3, name="scaled")
    assert (scaled["spec"]["replicas"], scaled["status"]["replicas"]) == (3, 2)
    assert scaled["status"]["selector"] == status.selector
    assert read_autoscaler(resources.get("scaled")).spec.replicas == 3
    assert resources.scale(10**6, name="scaled")["spec"]["replicas"] == 10**6  # maxReplicas limits it
    with pytest.raises(kubernetes.client.ApiException) as refused:
        resources.scale(-1, name="scaled")
    assert refused.value.status == 422


@pytest.mark.parametrize(
    "schedule",
    [
        {"cron": "0 6 * * *", "duration": "1h"},
        {"cron": "0 6 * * *", "duration": "1h", "freeze": True, "minReplicas": 2},
        {"cron": "0 6 * * *", "duration": "1h", "minReplicas": 3, "maxReplicas": 2},
        {"cron": "0 6 * * *", "duration": "200h", "freeze": True},
    ],
)
def test_a_schedule_without_one_effect_is_refused_by_the_api_server(resources, schedule):
    assert "schedules[0]" in resources.refusal({"schedules": [schedule]})
    assert resources.refusal({"schedules": [{"cron": "0 6 * * mon-fri", "duration": "1h", "freeze": True}]}) == ""
