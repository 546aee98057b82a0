"""A Kubernetes in memory for unit tests: resources with versions, a watch that lags, nodes and pods as records."""

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from gesscale.common.errors import Problem
from gesscale.common.http_client import HttpClient
from gesscale.kubernetes.api.errors import ApiError, Call, error_of_response
from gesscale.kubernetes.api.resources import STREAM_AUTOSCALERS
from gesscale.kubernetes.api.watch_cache import View
from gesscale.kubernetes.controller.latencies import LatencyMaps
from gesscale.kubernetes.controller.targets import Targets
from gesscale.kubernetes.controller.workflow_controller import ControllerContext
from gesscale.kubernetes.order_store import Documents, OrderWriter
from gesscale.kubernetes.placement.applications import APPLICATION_LABEL, ClusterIndex
from gesscale.kubernetes.placement.nodes import NodeRecord, Room
from gesscale.kubernetes.placement.pods import PodRecord
from gesscale.kubernetes.placement.reservations import Reservations
from gesscale.kubernetes.placement.watches import ClusterView
from gesscale.kubernetes.reporting.report import apply_merge_patch
from gesscale.kubernetes.resource.translate import ManagedWorkflow, group_into_workflows
from gesscale.service.journal import Journal

MIB = 1 << 20
SPACE = "streams"
EPOCH_S = 1_700_000_000.0


def refused(status: int, verb: str = "patch") -> ApiError:
    return error_of_response(
        Call(verb=verb, resource=STREAM_AUTOSCALERS, name="op"), status, "", f"refused with {status}"
    )


@dataclass
class FakeApi:
    """Stores StreamAutoscalers like the API server: a patch with an old version is a conflict."""

    served: dict[str, dict[str, Any]] = field(default_factory=dict)
    seen: dict[str, dict[str, Any]] = field(default_factory=dict)
    patches: list[dict[str, Any]] = field(default_factory=list)
    errors: list[Exception] = field(default_factory=list)
    meanwhile: Callable[[], None] | None = None
    version: int = 100

    def put(self, name: str = "op", *, status: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
        """Create a resource, or change its spec, like a user; the watch reports it."""
        self.version += 1
        before = self.served.get(f"{SPACE}/{name}")
        metadata = {
            "name": name,
            "namespace": SPACE,
            "uid": before["metadata"]["uid"] if before else f"uid-{self.version}",
            "generation": before["metadata"]["generation"] + 1 if before else 1,
            "resourceVersion": str(self.version),
        }
        kept = before.get("status", {}) if before else {}
        self.served[f"{SPACE}/{name}"] = {
            "metadata": metadata,
            "spec": {**(before["spec"] if before else {}), **spec},
            "status": kept if status is None else status,
        }
        self.catch_up()
        return self.served[f"{SPACE}/{name}"]

    def write_status(self, name: str, **status: Any) -> None:
        """Change a status like another controller; the watch does not report it yet."""
        self.version += 1
        document = deepcopy(self.served[f"{SPACE}/{name}"])
        document["metadata"]["resourceVersion"] = str(self.version)
        document["status"] = apply_merge_patch(document["status"], status)
        self.served[f"{SPACE}/{name}"] = document

    def delete(self, name: str) -> None:
        del self.served[f"{SPACE}/{name}"]

    def catch_up(self) -> None:
        self.seen = deepcopy(self.served)

    def watched(self) -> dict[str, dict[str, Any]]:
        return self.seen

    def status(self, name: str = "op") -> dict[str, Any]:
        return self.served[f"{SPACE}/{name}"]["status"]

    def patch(self, resource, name, body, *, namespace, subresource, dry_run):
        assert (resource, subresource) == (STREAM_AUTOSCALERS, "status")
        if self.errors:
            raise self.errors.pop(0)
        if self.meanwhile is not None:
            act, self.meanwhile = self.meanwhile, None
            act()
        document = self.served.get(f"{namespace}/{name}")
        if document is None:
            raise refused(404)
        if body["metadata"]["resourceVersion"] != document["metadata"]["resourceVersion"]:
            raise refused(409)
        if dry_run:
            return document
        self.patches.append(body)
        self.write_status(name, **body["status"])
        return deepcopy(self.served[f"{namespace}/{name}"])

    def pages(self, resource, *, namespace, field_selector) -> Iterator[dict[str, Any]]:
        assert resource is STREAM_AUTOSCALERS
        name = field_selector.removeprefix("metadata.name=")
        found = self.served.get(f"{namespace}/{name}")
        yield {"items": [deepcopy(found)] if found else []}

    def workflow(self) -> ManagedWorkflow:
        """Return the only workflow of the watched resources."""
        grouped = group_into_workflows(self.seen.values())
        assert not grouped.faults
        (only,) = grouped.workflows.values()
        return only


def order(number: int = 1, *placement: str, term: int = 1, at_s: float = EPOCH_S) -> dict[str, Any]:
    from datetime import UTC, datetime

    at = datetime.fromtimestamp(at_s, UTC).isoformat()
    return {"id": f"{term}-{number}", "term": term, "placement": sorted(placement), "at": at, "strategy": "Live"}


def node(name: str, **changes: Any) -> NodeRecord:
    room = changes.pop("room", Room(cpu_m=4000, memory_bytes=4096 * MIB, pods=110))
    return NodeRecord(name=name, architecture=changes.pop("architecture", "arm64"), room=room, **changes)


def pod(name: str, on: str = "", *, role: str = "executor", of: str = "op", **changes: Any) -> PodRecord:
    labels = {"spark-role": role, "gesscale.dev/autoscaler": of, APPLICATION_LABEL: f"app-{of}"}
    given = {
        "namespace": SPACE,
        "name": name,
        "node": on,
        "phase": "Running" if on else "Pending",
        "ready": bool(on),
        "labels": labels,
        "requests": Room(cpu_m=1000, memory_bytes=512 * MIB, pods=1),
        "ip": "10.244.0.9" if role == "driver" else "",
    }
    return PodRecord(**{**given, **changes})


def driver(on: str = "hub", of: str = "op", **changes: Any) -> PodRecord:
    return pod(f"{of}-driver", on, role="driver", of=of, **changes)


def index_of(*pods: PodRecord) -> ClusterIndex:
    nodes = {each.node: node(each.node) for each in pods if each.node}
    return ClusterIndex(nodes, {f"{each.namespace}/{each.name}": each for each in pods})


@dataclass
class FakeCluster:
    """Nodes and pods set by a test, in the form of the watches."""

    nodes: list[NodeRecord] = field(default_factory=lambda: [node(name) for name in ("a", "b", "c", "d")])
    pods: list[PodRecord] = field(default_factory=lambda: [driver("a")])
    at_s: float = 0.0
    stale_since_s: dict[str, float] = field(default_factory=dict)

    def snapshot(self) -> ClusterView:
        def view(kind: str, objects: dict) -> View:
            since_s = self.stale_since_s.get(kind)
            problem = None if since_s is None else Problem("watch-closed-early", {"request": "watch pods"})
            return View(objects=objects, listed=True, stale_since_s=since_s, problem=problem)

        nodes = view("nodes", {each.name: each for each in self.nodes})
        pods = view("pods", {f"{each.namespace}/{each.name}": each for each in self.pods})
        return ClusterView(
            at_s=self.at_s,
            nodes=nodes,
            pods=pods,
            resources=view("resources", {}),
            index=ClusterIndex(nodes.objects, pods.objects),
        )


def order_writer_of(api: FakeApi, term: Callable[[], int | None] = lambda: 1) -> OrderWriter:
    return OrderWriter(Documents(api, api.watched), term)


class _NoMap:
    """A connection that finds no ConfigMap."""

    def get(self, *_: object, **__: object) -> dict[str, Any]:
        raise refused(404, "get")


def no_maps() -> LatencyMaps:
    """Return a source without a latency map: nodes are then chosen by name, as by an override."""
    return LatencyMaps(_NoMap(), lambda _namespace: HttpClient(), tuple)


OUTSIDE = {"node": "a", "metricsUrl": "http://127.0.0.1:9"}
"""A driver that cannot be reached, so that only directives apply."""


def by_hand(*nodes: str, **spec: Any) -> dict[str, Any]:
    """Return a spec that places executors on exactly these nodes."""
    return {
        "mode": "Act",
        "maxReplicas": 3,
        "driver": OUTSIDE,
        "latencyMap": {"source": "ConfigMap", "configMap": {"name": "map"}},
        "override": {"nodes": list(nodes), "until": "2040-01-01T00:00:00Z"},
        **spec,
    }


class Silent:
    """Events that are discarded."""

    def publish(self, *_: object, **__: object) -> None:
        pass


def context_of(snapshot: Callable[[], ClusterView], order_writer: OrderWriter, **more: Any) -> ControllerContext:
    """Return the shared parts of a controller's workflows, without latency maps and connections."""
    given = {
        "journal": Journal(),
        "latency_maps": no_maps(),
        "reservations": Reservations(),
        "targets": Targets((), FakeCluster().snapshot),
        "measure_phase": lambda _: nullcontext(),
    }
    return ControllerContext(snapshot=snapshot, order_writer=order_writer, **{**given, **more})
