"""A query on Kubernetes, its controller, and the faults that are injected into them and the API server."""

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from gesscale.common.yaml_text import read_yaml
from gesscale.errors import ClusterError, GesscaleError, MetricsUnavailableError
from testbed.chaos.plan import ChaosFault, PlannedChange
from testbed.chaos.proxies import FaultyProxy, ProxyFault, tls_to
from testbed.chaos.query import ChaosQuery
from testbed.chaos.rows import driver_of
from testbed.chaos.settings import ChaosSettings
from testbed.cluster import processes
from testbed.cluster.processes import Role
from testbed.kubernetes.cluster import KubernetesTestBed
from testbed.live.job_runner import await_metrics
from testbed.live.kubernetes import SPACE, KubernetesApplication, controller_command

_ENDED_S = 45.0
_PROXY_FAULTS = {
    ChaosFault.API_CONFLICT: ProxyFault.CONFLICT,
    ChaosFault.API_GONE: ProxyFault.GONE,
    ChaosFault.API_TOO_MANY: ProxyFault.TOO_MANY,
    ChaosFault.API_ERROR: ProxyFault.ERROR,
}


@dataclass(slots=True, kw_only=True)
class KubernetesQuery(ChaosQuery):
    """One run of the query on Kubernetes.

    Attributes
    ----------
    application: the query's resources on the cluster
    proxy: between the controller and the API server
    """

    application: KubernetesApplication
    proxy: FaultyProxy
    _earlier_logs: str = field(default="", init=False)

    @property
    def cluster_name(self) -> str:
        """The name of the topology."""
        return self.application.cluster.topology.name

    def start(self) -> None:
        """Create the query's resources, and start controller and driver."""
        self.application.create_resources()
        self.start_controller()
        self.application.submit(self.driver.program)

    def start_controller(self) -> None:
        """Start the controller by the command of its users, with a kubeconfig for the proxy."""
        document = read_yaml(self.application.cluster.kubeconfig)
        document["clusters"][0]["cluster"] = {"server": self.proxy.url}
        kubeconfig = self.folder / "proxy.kubeconfig"
        kubeconfig.touch(mode=0o600)
        kubeconfig.write_text(yaml.safe_dump(document))
        self.start_as_controller(controller_command(kubeconfig), {})

    def kill_driver(self) -> None:
        """Kill the driver's container, JVM and Python, and submit the driver again, as the Spark operator would.

        Raises
        ------
        ClusterError
            If the new driver does not respond in time.
        """
        (container,) = self.application.driver()["status"]["containerStatuses"]
        self.application.cluster.kill_container(container["containerID"])
        ended = "--for=jsonpath={.status.phase}=Failed"
        self.application.kubectl("wait", ended, f"pod/{self.application.driver_pod}", f"--timeout={_ENDED_S:g}s")
        self._submit_again()
        await_metrics(self._replicas)

    def nodes(self) -> tuple[str, ...]:
        """Return the nodes on which an executor's pod runs, sorted."""
        return tuple(sorted(each["spec"]["nodeName"] for each in self._executors()))

    def order(self, placement: tuple[str, ...]) -> None:
        """Order a placement by an override in the resource."""
        self.application.override(placement)

    def inject(self, change: PlannedChange, before: tuple[str, ...]) -> str:
        """Inject a fault and revert it; return its target."""
        cluster, target = self.application.cluster, ""
        match change.fault:
            case ChaosFault.DRIVER_KILLED:
                self.kill_driver()
                target = "driver"
            case ChaosFault.CONTROLLER_KILLED:
                self.kill_controller()
                target = "controller"
            case ChaosFault.API_RESTARTED:
                cluster.kill_api_server()
                try:
                    time.sleep(change.lasts_s)
                finally:
                    cluster.start_api_server()
                target = "API server"
            case ChaosFault.KUBELET_KILLED:
                target = change.victim(sorted({*before, *change.placement})) or cluster.node_names[0]
                cluster.kill_kubelet(target)
                try:
                    time.sleep(change.lasts_s)
                finally:
                    cluster.start_kubelet(target)
            case ChaosFault.POD_DELETED:
                pods = {each["metadata"]["name"]: each["spec"]["nodeName"] for each in self._executors()}
                if (victim := change.victim(sorted(pods))) is not None:
                    self.application.kubectl("delete", "pod", victim, "--wait=false")
                    target = str(pods[victim])
            case fault if fault in _PROXY_FAULTS:
                with self.proxy.injecting(_PROXY_FAULTS[fault]):
                    time.sleep(change.lasts_s)
                target = "controller"
        return target

    def keep_running(self) -> None:
        """Restart processes that exited without a fault, and count them."""
        self.keep_controller_running()
        try:
            phase = self.application.driver()["status"]["phase"]
        except (ClusterError, LookupError):
            return
        if phase in {"Failed", "Succeeded"}:
            self.failed_batches += 1
            self._submit_again()

    def is_on(self, placement: Sequence[str]) -> bool:
        """Return whether executors' pods run on exactly these nodes, and driver and controller report all of them."""
        try:
            known = self._replicas()["hosts"] or ()
            status = self.application.document("streamautoscaler", self.application.operator.name).get("status", {})
            nodes = self.nodes()
        except (ClusterError, MetricsUnavailableError):
            return False
        return sorted(nodes) == sorted(placement) == sorted(known) == sorted(status.get("placement", ()))

    def driver_logs(self) -> str:
        """Return the output of all drivers of this run."""
        try:
            return self._earlier_logs + self.application.kubectl("logs", self.application.driver_pod, "--tail=-1")
        except GesscaleError:
            return self._earlier_logs

    def stop(self) -> tuple[str, ...]:
        """End controller and query; return leftovers on the cluster."""
        processes.stop(self.running(Role.CONTROLLER), grace_s=20.0)
        self.application.save_state()
        (self.folder / "driver.log").write_text(self.driver_logs())
        kubectl = self.application.cluster.run_kubectl
        kubectl("delete", "namespace", SPACE, "--wait=true", "--timeout=150s", timeout_s=160)
        pods = json.loads(kubectl("get", "pods", "-A", "-o", "json"))["items"]
        leases = json.loads(kubectl("get", "leases", "-A", "-o", "json"))["items"]
        left = [f"pod {each['metadata']['name']}" for each in pods]
        left += [
            f"lease {each['metadata']['name']} held by {holder}"
            for each in leases
            if "gesscale" in each["metadata"]["name"] and (holder := each["spec"].get("holderIdentity"))
        ]
        return tuple(left)

    def _submit_again(self) -> None:
        """Replace the pod of a driver that has ended; its executors are deleted with it."""
        self._earlier_logs = self.driver_logs()
        self.application.kubectl("delete", "pod", self.application.driver_pod, "--wait=true")
        self.application.submit(self.driver.program)

    def _executors(self) -> list[dict[str, Any]]:
        """Return the running pods of executors that are not being deleted."""
        pods = self.application.document("pods", "-l", "spark-role=executor")["items"]
        return [
            each
            for each in pods
            if each["status"].get("phase") == "Running" and "deletionTimestamp" not in each["metadata"]
        ]

    def _replicas(self) -> dict[str, Any]:
        document: dict[str, Any] = json.loads(self.application.ask_driver("replicas"))
        return document


@contextmanager
def kubernetes_query(settings: ChaosSettings, cluster: KubernetesTestBed, folder: Path) -> Iterator[KubernetesQuery]:
    """Provide a run of the query with its proxy within the context; nothing runs yet."""
    scenario = replace(settings.scenario, max_replicas=len(cluster.node_names), period_s=5.0)
    with FaultyProxy(cluster.api.url, tls_to(cluster.api.authority)).serving() as proxy:
        yield KubernetesQuery(
            application=KubernetesApplication(cluster=cluster, scenario=scenario, folder=folder),
            proxy=proxy,
            driver=driver_of(settings, folder, topic=None),
            folder=folder,
        )
