"""A query and its controller on Kubernetes: definition, latency map, StreamAutoscaler, controller and driver."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import MappingProxyType
from typing import Any

import yaml

from gesscale.common.errors import Problem
from gesscale.common.yaml_text import read_yaml
from gesscale.errors import ClusterError
from gesscale.monitor.fetch import fetch
from latency_map import write_csv
from testbed.cluster.commands import run
from testbed.cluster.spark_command import SMALL_JVM, spark_home
from testbed.kubernetes.cluster import KubernetesTestBed
from testbed.kubernetes.images import HOST, host_programs
from testbed.kubernetes.kubectl import FEW_RIGHTS_SETTINGS, create_namespace, define_autoscalers, driver_account
from testbed.live.scenario import LiveOperator, Scenario

SPACE = "streams"
SUBMIT_S = 180
_TIMEOUT_S, _MAX_BYTES = 5.0, 16 << 20
_OVERRIDE = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class KubernetesApplication:
    """One operator on Kubernetes."""

    #: A running cluster.
    cluster: KubernetesTestBed
    scenario: Scenario
    #: Folder for sink, checkpoint and logs; pods mount it under the same path.
    folder: Path

    @property
    def operator(self) -> LiveOperator:
        """The only operator of the scenario."""
        (operator,) = self.scenario.operators
        return operator

    @property
    def driver_node(self) -> str:
        """The node of the driver's pod: the first that holds pods."""
        return self.cluster.node_names[0]

    @property
    def driver_pod(self) -> str:
        """The name of the driver's pod."""
        return f"{self.operator.name}-driver"

    def kubectl(self, *arguments: str, stdin: str | None = None) -> str:
        """Run kubectl in the demo's namespace."""
        return self.cluster.run_kubectl("-n", SPACE, *arguments, stdin=stdin)

    def driver_log(self) -> str:
        """Return the last lines of the driver."""
        return self.kubectl("logs", self.driver_pod, "--tail=20")

    def document(self, *what: str) -> dict[str, Any]:
        """Return an object or a list as JSON."""
        document: dict[str, Any] = json.loads(self.kubectl("get", *what, "-o", "json"))
        return document

    def driver(self) -> dict[str, Any]:
        """Return the driver's pod."""
        return self.document("pod", self.driver_pod)

    def ask_driver(self, path: str, address: str | None = None) -> bytes:
        """Read a page of the driver, such as its batches or replicas, from the address of its pod.

        Raises
        ------
        MetricsUnavailableError
            If it does not respond.
        """
        host = self.driver()["status"].get("podIP", "") if address is None else address
        return fetch(f"http://{host}:{self.operator.metrics_port}/{path}", timeout_s=_TIMEOUT_S, max_bytes=_MAX_BYTES)

    def save_state(self) -> None:
        """Save the log of the driver and the state of the API server, to diagnose a run."""
        for kind in ("pods", "events", "streamautoscalers"):
            with suppress(ClusterError):
                (self.folder / f"{kind}.json").write_text(json.dumps(self.document(kind), indent=1))
        with suppress(ClusterError):
            (self.folder / "driver.log").write_text(self.kubectl("logs", self.driver_pod, "--tail=-1"))

    def create_resources(self) -> None:
        """Create everything but controller and driver."""
        define_autoscalers(self.cluster.run_kubectl)
        self.cluster.run_kubectl("delete", "namespace", SPACE, "--ignore-not-found", "--wait=true")
        create_namespace(self.cluster.run_kubectl, SPACE)
        table = self.folder / "latency.csv"
        write_csv(self.cluster.topology.map, table)
        self.kubectl("create", "configmap", "latency-map", f"--from-file=latency.csv={table}")
        name = self.operator.name
        self.kubectl("create", "-f", "-", stdin=driver_account(name, self.driver_pod))
        self.kubectl("create", "-f", "-", stdin=self.autoscaler())

    def autoscaler(self) -> str:
        """Return the StreamAutoscaler as a user would write it (YAML)."""
        scenario = self.scenario
        template = Path(__file__).with_name("autoscaler.yaml").read_text()
        return template.format(name=self.operator.name, scenario=scenario, rescale_s=9 * scenario.period_s)

    def override(self, placement: Sequence[str]) -> None:
        """Override the nodes of the executors in the resource, for longer than a run lasts."""
        until = (datetime.now(UTC) + _OVERRIDE).isoformat(timespec="seconds")
        self.patch({"override": {"nodes": list(placement), "until": until}})

    def patch(self, spec: Mapping[str, object]) -> None:
        """Merge members into the spec of the StreamAutoscaler."""
        document = json.dumps({"spec": spec})
        self.kubectl("patch", "streamautoscaler", self.operator.name, "--type=merge", "-p", document)

    @contextmanager
    def controller(self) -> Iterator[None]:
        """Run the controller within the context, by the command of its users."""
        with (self.folder / "controller.log").open("w") as log:
            process = subprocess.Popen(controller_command(self.cluster.kubeconfig), stdout=log, stderr=log)
        try:
            yield
        finally:
            process.terminate()
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(10)

    @property
    def page_url(self) -> str:
        """URL of the controller's page, from its log; empty until it is logged."""
        match = re.search(r"http://127\.0\.0\.1:\d+", (self.folder / "controller.log").read_text("utf-8"))
        return match[0] if match else ""

    def submit(self, program: Sequence[str], settings: Mapping[str, str] = MappingProxyType({})) -> None:
        """Submit a driver in cluster mode.

        Raises
        ------
        ClusterError
            If spark-submit fails.
        """
        _, module, *words = program
        file = self.folder / "driver.py"
        # like `python -m MODULE`, as spark-submit only accepts files
        file.write_text(f'import runpy\n\nrunpy.run_module({module!r}, run_name="__main__", alter_sys=True)\n')
        home = str(spark_home())
        options = [word for pair in {**self._settings(), **settings}.items() for word in ("--conf", "=".join(pair))]
        where = ("--master", f"k8s://{self.cluster.api.url}", "--deploy-mode", "cluster")
        command = (f"{home}/bin/spark-submit", *where, *options, f"local://{file}", *words)
        environment = {**os.environ, "SPARK_HOME": home, "KUBECONFIG": str(self.cluster.kubeconfig)}
        run(
            self.cluster.in_control_plane(command),
            failure=Problem("spark-submit-failed"),
            environment=environment,
            timeout_s=SUBMIT_S,
        )

    def _settings(self) -> Mapping[str, str]:
        small = " ".join(SMALL_JVM)
        name = self.operator.name
        pod = self._pod_template()
        driver = {
            "metadata": {"name": name},
            "spec": {**pod["spec"], "nodeSelector": {"kubernetes.io/hostname": self.driver_node}},
        }
        files = {"executor": self.folder / "executor.yaml", "driver": self.folder / "driver.yaml"}
        files["executor"].write_text(yaml.safe_dump(pod))
        files["driver"].write_text(yaml.safe_dump(driver))
        return {
            **FEW_RIGHTS_SETTINGS,
            **read_yaml(Path(__file__).with_name("kubernetes_settings.yaml")),
            "spark.kubernetes.namespace": SPACE,
            "spark.kubernetes.container.image": HOST,
            "spark.kubernetes.executor.podTemplateFile": str(files["executor"]),
            "spark.kubernetes.driver.podTemplateFile": str(files["driver"]),
            "spark.kubernetes.driver.pod.name": self.driver_pod,
            "spark.kubernetes.driver.label.gesscale.dev/autoscaler": name,
            "spark.kubernetes.authenticate.driver.serviceAccountName": self.driver_pod,
            "spark.kubernetes.authenticate.submission.caCertFile": str(self.cluster.api.authority),
            "spark.kubernetes.authenticate.submission.oauthToken": self.cluster.api.token,
            "spark.driver.extraJavaOptions": small,
            "spark.executor.extraJavaOptions": small,
        }

    def _pod_template(self) -> dict[str, Any]:
        program = host_programs()
        work = {"name": "work", "mountPath": str(self.folder)}
        container = {"name": "spark", "env": list(program.environment), "volumeMounts": [*program.mounts, work]}
        volumes = [*program.volumes, {"name": "work", "hostPath": {"path": str(self.folder)}}]
        return {"spec": {"volumes": volumes, "containers": [container]}}


def controller_command(kubeconfig: Path) -> tuple[str, ...]:
    """Return the command by which users run the controller."""
    return (
        *(str(Path(sys.executable).with_name("gesscale")), "run", "--kubernetes"),
        *("--kubeconfig", str(kubeconfig), "--namespace", SPACE, "--lease-namespace", SPACE, "--listen", "127.0.0.1:0"),
    )
