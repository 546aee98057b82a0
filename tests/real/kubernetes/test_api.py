"""The API shell against a real API server: caches, leadership, events, rights, and how room is counted."""

import contextlib
import json
import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from accounts import Right, controller_rights, controller_roles, missing_rights
from kubernetes.client import Configuration
from stopped_api import stopped_api_server
from waiting import until

from gesscale.kubernetes.api.connection import Connection
from gesscale.kubernetes.api.errors import ApiError
from gesscale.kubernetes.api.events import EventDraft, Events, EventType, Incident
from gesscale.kubernetes.api.lease import ElectionTimes, Elector, LeaseLock, new_identity
from gesscale.kubernetes.api.resources import CONFIG_MAPS, EVENTS, LEASES, NODES, PODS, STREAM_AUTOSCALERS, Resource
from gesscale.kubernetes.api.watch_cache import Cache, Timing
from gesscale.kubernetes.placement.applications import ClusterIndex
from gesscale.kubernetes.placement.nodes import read_node
from gesscale.kubernetes.placement.pods import read_pod
from gesscale.kubernetes.placement.room import ExecutorNeeds

pytestmark = pytest.mark.real

QUICK = ElectionTimes(duration_s=9.0, renew_deadline_s=6.0, renew_every_s=0.5, retry_s=0.25)
"""Long enough that a busy machine does not end a leadership."""


def config_map(name: str, value: str) -> dict:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"v": value}}


def value_of(item) -> str | None:
    return item["data"]["v"] if item["metadata"]["name"].startswith("map-") else None


@pytest.fixture
def watched(admin, namespace) -> Iterator[Cache[str]]:
    cache = Cache(admin, CONFIG_MAPS, value_of, namespace=namespace, timing=Timing(max_wait_s=2.0))
    cache.start()
    until(lambda: cache.snapshot().listed, "ConfigMaps are listed")
    yield cache
    cache.stop(timeout_s=60)
    assert not any(each.name == "watch-configmaps" for each in threading.enumerate())


def test_a_cache_follows_creations_changes_and_deletions(admin, namespace, watched):
    admin.create(CONFIG_MAPS, config_map("map-a", "1"), namespace=namespace)
    admin.create(CONFIG_MAPS, config_map("map-b", "1"), namespace=namespace)
    admin.create(CONFIG_MAPS, config_map("other", "1"), namespace=namespace)
    admin.patch(CONFIG_MAPS, "map-a", {"data": {"v": "2"}}, namespace=namespace)
    admin.delete(CONFIG_MAPS, "map-b", namespace=namespace)
    until(lambda: watched.snapshot().objects == {f"{namespace}/map-a": "2"}, "the view has map-a only")
    assert watched.snapshot().fresh


class FromTheBeginning:
    """Asks its first watch from the first version there ever was."""

    def __init__(self, connection: Connection) -> None:
        self.connection, self.asked = connection, 0

    def pages(self, resource: Resource, **where):
        return self.connection.pages(resource, **where)

    def watch(self, resource: Resource, *, resource_version: str, **where):
        self.asked += 1
        version = "1" if self.asked == 1 else resource_version
        return self.connection.watch(resource, resource_version=version, **where)


def test_a_cache_survives_a_restart_of_the_api_server(cluster, admin, namespace, watched):
    admin.create(CONFIG_MAPS, config_map("map-a", "1"), namespace=namespace)
    until(lambda: watched.snapshot().objects, "map-a is seen")
    with stopped_api_server(cluster):
        until(lambda: not watched.snapshot().fresh, "the view is stale")
        view = watched.snapshot()
        assert view.objects == {f"{namespace}/map-a": "1"}
        assert view.stale_since_s is not None
        assert "configmaps" in str(view.problem)
        with pytest.raises(ApiError) as caught:
            admin.get(CONFIG_MAPS, "map-a", namespace=namespace)
        assert caught.value.transient
    until(lambda: watched.snapshot().fresh, "the view is fresh again")
    admin.create(CONFIG_MAPS, config_map("map-b", "1"), namespace=namespace)
    until(lambda: f"{namespace}/map-b" in watched.snapshot().objects, "map-b is seen")
    # a new API server knows no changes from before its start: a watch from there is answered by 410
    source = FromTheBeginning(admin)
    cache = Cache(source, CONFIG_MAPS, value_of, namespace=namespace)
    cache.start()
    until(lambda: source.asked > 1 and cache.snapshot().fresh, "the list after a version that is too old")
    cache.stop(timeout_s=60)
    assert cache.snapshot().objects == {f"{namespace}/map-a": "1", f"{namespace}/map-b": "1"}


def elector(admin, namespace, on_change=lambda: None) -> Elector:
    lock = LeaseLock(admin, namespace, timeout_s=3.0)
    return Elector(lock, new_identity(), times=QUICK, on_change=on_change)


def test_a_second_elector_leads_when_the_first_stops(admin, namespace):
    first, second = elector(admin, namespace), elector(admin, namespace)
    both_led = threading.Event()

    def look() -> None:
        if first.is_leader() and second.is_leader():
            both_led.set()

    first.start()
    until(first.is_leader, "the first leads")
    second.start()
    until(lambda: (look(), second._holder == first.identity)[1], "the second has seen who leads")
    assert not second.is_leader()
    first.stop()  # gives back what others would else wait for
    lease = admin.get(LEASES, "gesscale-controller", namespace=namespace)["spec"]
    assert lease.get("holderIdentity") in (None, "", second.identity)
    until(lambda: (look(), second.is_leader())[1], "the second leads")
    assert second.term == first.term + 1
    lease = admin.get(LEASES, "gesscale-controller", namespace=namespace)["spec"]
    assert lease["holderIdentity"] == second.identity
    assert lease["leaseTransitions"] == second.term
    second.stop()
    assert not both_led.is_set()


@pytest.mark.usefixtures("defined")
def test_events_are_seen_by_kubectl_describe(cluster, admin, namespace):
    body = {
        "apiVersion": STREAM_AUTOSCALERS.api_version,
        "kind": "StreamAutoscaler",
        "metadata": {"name": "taxi"},
        "spec": {},
    }
    made = admin.create(STREAM_AUTOSCALERS, body, namespace=namespace)
    now_s = [time.time()]
    events = Events(admin, "gesscale-controller-0", now_s=lambda: now_s[0])

    def publish(incident, message, kind=EventType.NORMAL):
        events.publish(made, EventDraft(kind, incident, message))

    publish(Incident.SUCCESSFUL_RESCALE, "replicas 1 -> 2 (Overloaded, +edge-b)")
    for _ in range(3):
        publish("LatencyMapStale", "the map is stale", EventType.WARNING)
        now_s[0] += 301
    publish("PausedByUser", "x" * 5000)
    now_s[0] += 1
    publish(Incident.SUCCESSFUL_RESCALE, "replicas 2 -> 1 (Underused, -edge-b)")
    assert events._last_failure == ""
    described = cluster.run_kubectl("describe", "streamautoscaler", "taxi", "-n", namespace)
    assert re.search(r"Normal +SuccessfulRescale .* replicas 1 -> 2 \(Overloaded, \+edge-b\)", described)
    assert re.search(r"Warning +LatencyMapStale +.*\(x3 over .*\) .* the map is stale", described)
    # describe sorts by the time of the last repetition, as does --sort-by=.lastTimestamp
    expected = ["SuccessfulRescale", "LatencyMapStale", "PausedByUser", "SuccessfulRescale"]
    assert re.findall("|".join(set(expected)), described.split("Events:")[1]) == expected
    last = "{range .items[*]}{.reason} {end}"
    listed = cluster.run_kubectl("get", "events", "-n", namespace, "--sort-by=.lastTimestamp", "-o", f"jsonpath={last}")
    assert listed.split() == expected


def test_a_revoked_verb_is_reported(granted):
    connection, remove = granted
    (right,) = (each for each in controller_rights() if each.target == "nodes")
    with remove(right, "list"):
        until(lambda: missing_rights(connection, [right]), "list nodes is missed")
        (lacking,) = missing_rights(connection, controller_rights())
        assert (lacking.target, lacking.verbs) == ("nodes", ("list",))
        with pytest.raises(ApiError) as caught:
            list(connection.pages(NODES))
        assert (caught.value.status, connection.missing_rights) == (403, (caught.value.problem,))
    until(lambda: not missing_rights(connection, [right]), "list nodes is back")
    assert list(connection.pages(NODES))
    assert connection.missing_rights == ()


@pytest.fixture
def granted(cluster, admin, namespace, tmp_path):
    """A connection as the controller's ServiceAccount with the roles of deploy/k3s, and a way to remove one verb."""
    account = f"controller-{namespace}"
    manifest = tmp_path / "rbac.yaml"
    manifest.write_text(controller_roles(namespace, account))
    cluster.run_kubectl("apply", "-f", str(manifest))
    token = cluster.run_kubectl("create", "token", account, "-n", namespace).strip()
    configuration = Configuration(host=admin.url, ssl_ca_cert=str(authority(cluster, tmp_path)))
    configuration.api_key["BearerToken"] = f"Bearer {token}"
    connection = Connection(configuration, namespace=namespace, user_agent="gesscale/test")
    documents = list(yaml.safe_load_all(manifest.read_text()))

    @contextlib.contextmanager
    def remove(right: Right, verb: str) -> Iterator[None]:
        kind = "Role" if right.own else "ClusterRole"
        role = Resource(
            group="rbac.authorization.k8s.io", plural=f"{kind.lower()}s", kind=kind, namespaced=kind == "Role"
        )
        (rules,) = [each["rules"] for each in documents if each["kind"] == kind]
        fewer = [
            {**rule, "verbs": [each for each in rule["verbs"] if each != verb]}
            if (rule["resources"], rule.get("resourceNames", [])) == ([right.target], list(right.names))
            else rule
            for rule in rules
        ]
        kept = [rule for rule in fewer if rule["verbs"]]
        place = namespace if kind == "Role" else None
        admin.patch(role, account, {"rules": kept}, namespace=place)
        yield
        admin.patch(role, account, {"rules": rules}, namespace=place)

    until(lambda: not missing_rights(connection, controller_rights()), "the roles are in force")
    yield connection, remove
    connection.close()
    cluster.run_kubectl("delete", "clusterrole,clusterrolebinding", account, "--wait=false")


def authority(cluster, folder: Path) -> Path:
    text = cluster.run_kubectl("get", "configmap", "kube-root-ca.crt", "-n", "default", "-o", "json")
    path = folder / "ca.crt"
    path.write_text(json.loads(text)["data"]["ca.crt"])
    return path


def test_the_roles_grant_only_the_listed_verbs(granted):
    connection, _ = granted
    for resource, verb in ((NODES, "patch"), (STREAM_AUTOSCALERS, "patch"), (CONFIG_MAPS, "list"), (PODS, "create")):
        asked = Right(group=resource.group, target=resource.plural, verbs=(verb,), own=False)
        assert missing_rights(connection, [asked]) == [asked]
    for resource, verb, names in (
        (LEASES, "get", ("other",)),
        (LEASES, "update", ("other",)),
        (EVENTS, "delete", ()),
        (EVENTS, "list", ()),
    ):
        own = resource is LEASES
        asked = Right(group=resource.group, target=resource.plural, verbs=(verb,), names=names, own=own)
        assert missing_rights(connection, [asked]) == [asked]


def test_room_equals_that_of_kubectl_describe(cluster, admin, namespace):
    node = cluster.node_names[0]
    always = {"restartPolicy": "Always"}
    part = lambda name, cpu, memory, **more: {  # noqa: E731  # three words are enough for a table of containers
        "name": name,
        "image": "localhost/none:1",
        "imagePullPolicy": "Never",
        "resources": {"requests": {"cpu": cpu, "memory": memory}},
        **more,
    }
    bodies = {
        "plain": {"containers": [part("a", "101m", "16Mi"), part("b", "50m", "8Mi")]},
        "inits": {"containers": [part("a", "10m", "1Mi")], "initContainers": [part("i", "203m", "32Mi")]},
        "sidecar": {
            "containers": [part("a", "11m", "5Mi")],
            "initContainers": [part("s", "20m", "4Mi", **always), part("i", "30m", "4Mi")],
        },
        "whole": {"containers": [part("a", "10m", "1Mi")], "resources": {"requests": {"cpu": "77m"}}},
    }
    for name, spec in bodies.items():
        body = {"metadata": {"name": name}, "spec": {"nodeName": node, "terminationGracePeriodSeconds": 0, **spec}}
        admin.create(PODS, {"apiVersion": "v1", "kind": "Pod", **body}, namespace=namespace)
    pods = [read_pod(item) for page in admin.pages(PODS) for item in page["items"]]
    nodes = [read_node(item) for page in admin.pages(NODES) for item in page["items"]]
    assert {each.name for each in nodes} >= set(cluster.node_names)
    takes = {each.name: each.requests for each in pods if each.namespace == namespace}
    assert {name: each.cpu_m for name, each in takes.items()} == {
        "plain": 151,
        "inits": 203,
        "sidecar": 50,  # the sidecar's 20 and the init container's 30 in addition; with the container it is 31
        "whole": 77,
    }
    described = cluster.run_kubectl("describe", "node", node)
    cpu, memory = re.search(r"  cpu +(\S+) .*\n  memory +(\S+) ", described.split("Allocated resources:")[1]).groups()
    taken = [each.requests for each in pods if each.node == node and not each.ended]
    index = ClusterIndex({each.name: each for each in nodes}, {f"{each.namespace}/{each.name}": each for each in pods})
    assert index.evaluate_node(node, ExecutorNeeds(), (), {}).problem == ""
    assert f"{sum(each.cpu_m for each in taken)}m" == cpu
    assert in_bytes(memory) == sum(each.memory_bytes for each in taken)


def in_bytes(quantity: str) -> int:
    number, unit = re.fullmatch(r"(\d+)([KM]i)?", quantity).groups()
    return int(number) * {None: 1, "Ki": 1 << 10, "Mi": 1 << 20}[unit]
