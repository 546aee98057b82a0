"""A query on Kubernetes, the controller, and the proxy between it and the API server."""

import json
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from gesscale.errors import ClusterError, GesscaleError, MetricsUnavailableError
from gesscale.monitor.fetch import fetch
from latency_map.formats.yaml_text import read_yaml
from testbed.chaos.changing import Tallies, wait_s
from testbed.chaos.exactness import newest_commit
from testbed.chaos.kubernetes.proxy import FaultyApi, Trouble
from testbed.chaos.plan import Fault, PlannedChange
from testbed.chaos.sources import Driver
from testbed.chaos.stream import FETCH_FAILURE, LOST_TASK
from testbed.cluster import processes
from testbed.cluster.processes import Mark, Process, Role
from testbed.cluster.state import state_directory
from testbed.demo.kubernetes.stage import SPACE, KubernetesStage
from testbed.pipeline.sink import SinkCount

_TIMEOUT_S, _MOST_BYTES = 3.0, 1 << 20
_ENDED_S, _DRIVER_S, _POLL_S = 45.0, 240.0, 0.5
_TROUBLES = {
    Fault.API_CONFLICT: Trouble.CONFLICT,
    Fault.API_GONE: Trouble.GONE,
    Fault.API_TOO_MANY: Trouble.TOO_MANY,
    Fault.API_ERROR: Trouble.ERROR,
}


@dataclass(slots=True, kw_only=True)
class KubernetesStream:
    """One run of the query; see `testbed.chaos.changing.Played`.

    Attributes
    ----------
    stage
        What is on the cluster.
    proxy
        By which the controller asks the API server.
    driver
        Its driver program.
    failed_batches, controller_ended
        How often the driver, and the controller, ended without having been killed.
    """

    stage: KubernetesStage
    proxy: FaultyApi
    driver: Driver
    failed_batches: int = 0
    controller_ended: int = 0
    _earlier_logs: str = field(default="", init=False)

    def start(self) -> None:
        """Start controller and driver."""
        self.start_controller()
        self.stage.submit(self.driver.program)

    def start_controller(self) -> None:
        """Start the controller as its users do, with a kubeconfig that leads to the proxy."""
        folder, log = self.stage.folder, self.stage.folder / "controller.log"
        with (folder / "controllers.log").open("ab") as kept:
            kept.write(log.read_bytes() if log.exists() else b"")
        processes.start(
            (
                *(str(Path(sys.executable).with_name("gesscale")), "run", "--kubernetes"),
                *("--kubeconfig", str(self._kubeconfig()), "--namespace", SPACE, "--listen", "127.0.0.1:0"),
            ),
            Mark(cluster=self._directory, role=Role.CONTROLLER),
            environment=processes.base_environment(),
            log=log,
        )

    def kill_driver(self) -> None:
        """Kill the driver's container, JVM and Python, and submit the driver again, as an operator for Spark would.

        Raises
        ------
        ClusterError
            Where no driver answers after that.
        """
        (container,) = self._driver_pod()["status"]["containerStatuses"]
        self.stage.cluster.kill_container(container["containerID"])
        ended = "--for=jsonpath={.status.phase}=Failed"
        self.stage.kubectl("wait", ended, f"pod/{self._pod}", f"--timeout={_ENDED_S:g}s")
        self._submit_again()
        self._await_driver()

    def nodes(self) -> tuple[str, ...]:
        """Return the nodes on which an executor's pod runs, sorted."""
        return tuple(sorted(each["spec"]["nodeName"] for each in self._executors()))

    def order(self, placement: tuple[str, ...]) -> None:
        """Order a placement by hand, in the resource, for longer than this lasts."""
        self.stage.override(placement)

    def strike(self, change: PlannedChange, before: tuple[str, ...]) -> str:
        """Carry a fault out and take it back."""
        struck = ""
        match change.fault:
            case Fault.DRIVER_KILLED:
                self.kill_driver()
                struck = "driver"
            case Fault.CONTROLLER_KILLED:
                processes.kill(self._controllers())
                self.start_controller()
                struck = "controller"
            case Fault.API_RESTARTED:
                self._restart_api_server(change.lasts_s)
                struck = "API server"
            case Fault.KUBELET_KILLED:
                struck = self._restart_kubelet(change, before)
            case Fault.POD_DELETED:
                struck = self._delete_pod(change)
            case fault if fault in _TROUBLES:
                with self.proxy.in_trouble(_TROUBLES[fault]):
                    wait_s(change.lasts_s)
                struck = "controller"
        return struck

    def keep_running(self) -> None:
        """Start again what has ended by itself, and count it."""
        if not self._controllers():
            self.controller_ended += 1
            self.start_controller()
        try:
            phase = self._driver_pod()["status"]["phase"]
        except (ClusterError, LookupError):
            return
        if phase in {"Failed", "Succeeded"}:
            self.failed_batches += 1
            self._submit_again()

    def is_on(self, placement: Sequence[str]) -> bool:
        """Whether executors' pods run on exactly these nodes, and driver and controller know all of them."""
        wanted = sorted(placement)
        try:
            found = sorted(each["spec"]["nodeName"] for each in self._executors())
            return found == wanted == sorted(self._hosts()) == sorted(self._seen_by_controller())
        except (ClusterError, MetricsUnavailableError):
            return False

    def committed(self) -> int:
        """Return the newest committed batch."""
        return newest_commit(self.driver.checkpoint)

    def count(self) -> SinkCount:
        """Count the rows of all committed batches in the sink."""
        return self.driver.rows.count()

    def tallies(self) -> Tallies:
        """Return what has been counted so far, by the log of the driver."""
        log = self._earlier_logs + self._driver_log()
        return Tallies(
            failed_batches=self.failed_batches,
            lost_tasks=log.count(LOST_TASK),
            fetch_failures=log.count(FETCH_FAILURE),
            controller_ended=self.controller_ended,
        )

    def stop(self) -> tuple[str, ...]:
        """End controller and query in order; return what of them is still on the cluster then."""
        processes.stop(self._controllers(), grace_s=20.0)
        (self.stage.folder / "driver.log").write_text(self._earlier_logs + self._driver_log())
        self._keep_what_is_said()
        kubectl = self.stage.cluster.run_kubectl
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

    def _keep_what_is_said(self) -> None:
        """Keep what API server and driver say now: after a change that did not converge, why."""
        said: dict[str, Callable[[], object]] = {
            "pods": lambda: self.stage.document("pods"),
            "autoscaler": lambda: self.stage.document("streamautoscaler", self.stage.operator.name),
            "replicas": self._replicas,
        }
        for name, ask in said.items():
            with suppress(GesscaleError):
                (self.stage.folder / f"{name}.json").write_text(json.dumps(ask(), indent=1))

    def _submit_again(self) -> None:
        """Replace the pod of a driver that has ended; its executors go with it."""
        self._earlier_logs += self._driver_log()
        self.stage.kubectl("delete", "pod", self._pod, "--wait=true")
        self.stage.submit(self.driver.program)

    def _await_driver(self) -> None:
        deadline_s = time.monotonic() + _DRIVER_S
        while True:
            try:
                self._hosts()
            except (ClusterError, MetricsUnavailableError) as error:
                if time.monotonic() > deadline_s:
                    message = f"the new driver does not answer within {_DRIVER_S:g} s: {error}"
                    raise ClusterError(message) from error
                time.sleep(_POLL_S)
            else:
                return

    def _restart_api_server(self, lasts_s: float) -> None:
        cluster = self.stage.cluster
        cluster.kill_api_server()
        try:
            wait_s(lasts_s)
        finally:
            cluster.start_api_server()

    def _restart_kubelet(self, change: PlannedChange, before: tuple[str, ...]) -> str:
        cluster = self.stage.cluster
        node = change.victim(sorted({*before, *change.placement})) or cluster.node_names[0]
        cluster.kill_kubelet(node)
        try:
            wait_s(change.lasts_s)
        finally:
            cluster.start_kubelet(node)
        return node

    def _delete_pod(self, change: PlannedChange) -> str:
        pods = {each["metadata"]["name"]: each["spec"]["nodeName"] for each in self._executors()}
        victim = change.victim(sorted(pods))
        if victim is None:
            return ""
        self.stage.kubectl("delete", "pod", victim, "--wait=false")
        return str(pods[victim])

    def _executors(self) -> list[dict[str, Any]]:
        """Return the pods of executors that run and are not to go."""
        pods = self.stage.document("pods", "-l", "spark-role=executor")["items"]
        return [
            each
            for each in pods
            if each["status"].get("phase") == "Running" and "deletionTimestamp" not in each["metadata"]
        ]

    def _hosts(self) -> list[str]:
        return list(self._replicas()["hosts"] or ())

    def _replicas(self) -> dict[str, Any]:
        address = self._driver_pod()["status"].get("podIP", "")
        url = f"http://{address}:{self.stage.operator.metrics_port}/replicas"
        document: dict[str, Any] = json.loads(fetch(url, timeout_s=_TIMEOUT_S, max_bytes=_MOST_BYTES))
        return document

    def _seen_by_controller(self) -> list[str]:
        found = self.stage.document("streamautoscaler", self.stage.operator.name)
        return list(found.get("status", {}).get("placement", ()))

    def _driver_pod(self) -> dict[str, Any]:
        return self.stage.document("pod", self._pod)

    def _driver_log(self) -> str:
        try:
            return self.stage.kubectl("logs", self._pod, "--tail=-1")
        except GesscaleError:
            return ""

    def _kubeconfig(self) -> Path:
        document = read_yaml(self.stage.cluster.kubeconfig)
        document["clusters"][0]["cluster"] = {"server": self.proxy.url}
        file = self.stage.folder / "proxy.kubeconfig"
        file.touch(mode=0o600)
        file.write_text(yaml.safe_dump(document))
        return file

    @property
    def _pod(self) -> str:
        return f"{self.stage.operator.name}-driver"

    @property
    def _directory(self) -> str:
        return str(state_directory(self.stage.cluster.topology.name))

    def _controllers(self) -> list[Process]:
        return [each for each in processes.find(self._directory) if each.mark.role is Role.CONTROLLER]
