"""A driver that Kubeflow's Spark operator starts applies orders, and the operator does not interfere.

Opt-in: GESSCALE_TEST_SPARK_OPERATOR names the operator's binary, built in its unpacked module, whose definitions are
applied, too. Go fetches and builds it; some minutes on two cores:

    module=github.com/kubeflow/spark-operator/v2@v2.3.0
    cp -r "$(go mod download -json $module | python3 -c 'import json, sys; print(json.load(sys.stdin)["Dir"])')" /tmp/spark-operator
    chmod -R u+w /tmp/spark-operator && cd /tmp/spark-operator
    CGO_ENABLED=0 GOFLAGS=-mod=mod go build -o spark-operator ./cmd/operator
    export GESSCALE_TEST_SPARK_OPERATOR=/tmp/spark-operator/spark-operator
"""  # noqa: E501  a command line is not broken

import contextlib
import json
import os
import signal
import subprocess
import time
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from real.kubernetes.test_executors import Application, until

from testbed.cluster.spark_command import SMALL_JVM
from testbed.kubernetes.images import HOST
from testbed.kubernetes.kubectl import FEW_RIGHTS_SETTINGS

BINARY = "GESSCALE_TEST_SPARK_OPERATOR"
CONTAINERS = {"driver": "spark-kubernetes-driver", "executor": "spark-kubernetes-executor"}

pytestmark = [
    pytest.mark.real,
    pytest.mark.long,
    pytest.mark.skipif(
        BINARY not in os.environ,
        reason=f"Kubeflow's Spark operator is not here: {BINARY} names its binary; this file describes how to build it",
    ),
]


class OperatedApplication(Application):
    """An application that the operator submits, as its users write it."""

    def start_operator(self):
        binary = Path(os.environ[BINARY])
        for file in sorted(binary.parent.glob("config/crd/bases/*.yaml")):
            self.cluster.run_kubectl("apply", "--server-side", "-f", str(file))
        until("its definitions are established", self._is_defined, self)
        api = urlsplit(self.cluster.api.url)
        environment = {
            **os.environ,
            "KUBECONFIG": str(self.cluster.kubeconfig),
            "KUBERNETES_SERVICE_HOST": api.hostname,
            "KUBERNETES_SERVICE_PORT": str(api.port or 443),
            "SPARK_HOME": str(Path(find_spec("pyspark").origin).parent),
        }
        command = [str(binary), "controller", "start", "--namespaces", self.namespace]
        command += ["--health-probe-bind-address", "0", "--controller-threads", "2"]
        with (self.folder / "operator.log").open("w") as log:
            return subprocess.Popen(
                self.cluster.in_control_plane(command),
                env=environment, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip

    def _is_defined(self):
        """Whether SparkApplications are known; `kubectl wait` fails on a definition that has no conditions yet."""
        name = "crd/sparkapplications.sparkoperator.k8s.io"
        status = json.loads(self.cluster.run_kubectl("get", name, "-o", "json")).get("status", {})
        conditions = {each["type"]: each["status"] for each in status.get("conditions") or ()}
        return conditions.get("Established") == "True"

    def submit(self, node):
        """Create the account and the SparkApplication; the operator does the rest."""
        self.grant()
        small = {"cores": 1, "coreRequest": "100m", "memory": "512m", "javaOptions": " ".join(SMALL_JVM)}
        spec = {
            "type": "Python",
            "mode": "cluster",
            "sparkVersion": "4.3.0",
            "image": HOST,
            "mainApplicationFile": f"local://{self.folder}/program.py",
            "arguments": [str(self.folder)],
            "restartPolicy": {"type": "Always", "onFailureRetryInterval": 1},
            "sparkConf": {
                **FEW_RIGHTS_SETTINGS,
                "spark.kubernetes.executor.useDriverPodIP": "true",  # no names are needed
                "spark.kubernetes.authenticate.submission.caCertFile": str(self.cluster.api.authority),
                "spark.kubernetes.authenticate.submission.oauthToken": self.cluster.api.token,
                "spark.ui.enabled": "false",
                "spark.log.level": "WARN",
            },
            "driver": {
                **small,
                "podName": "driver",
                "serviceAccount": "driver",
                "labels": {"gesscale.dev/autoscaler": "taxi"},
                "template": self._template("driver", nodeSelector={"kubernetes.io/hostname": node}),
            },
            "executor": {**small, "instances": 1, "memoryOverhead": "256m", "template": self._template("executor")},
        }
        self.create("SparkApplication", "rides", group="sparkoperator.k8s.io/v1beta2", spec=spec)
        until("the driver pod has an address", lambda: self.driver() and self.address, self)

    def _template(self, role, **fields):
        spec = self.pod["spec"]
        return {"spec": {**spec, "containers": [{**spec["containers"][0], "name": CONTAINERS[role]}], **fields}}

    def driver(self):
        """The driver pod's identity; it is the one to ask from now on."""
        listed = self.kubectl("get", "pods", "-l", "spark-role=driver", "-o", "json")
        pod = json.loads(listed)["items"][0]
        self.address = pod["status"].get("podIP")
        return pod["metadata"]["uid"]

    def operated(self):
        """Return the application's state according to the operator, and that of its executors by pod."""
        listed = json.loads(self.kubectl("get", "sparkapplication", "rides", "-o", "json"))["status"]
        return listed["applicationState"]["state"], listed.get("executorState", {})

    def log(self):
        return (self.folder / "operator.log").read_text()[-3000:] + super().log()


@pytest.fixture(scope="module")
def nodes(cluster):
    return cluster.node_names


@pytest.fixture(scope="module")
def application(cluster, nodes, tmp_path_factory):
    """A query whose driver the operator started on the last node; its first placement is the first node."""
    cluster.in_control_plane(("true",))  # a foreign cluster: skip before anything is made
    application = OperatedApplication(cluster, tmp_path_factory.mktemp("operated"))
    operator = application.start_operator()
    try:
        order = application.order(nodes[0])
        application.submit(nodes[2])
        until("the first executor has worked", lambda: application.has_applied(order, nodes[0]), application)
        yield application
    finally:
        with contextlib.suppress(OSError, RuntimeError):
            application.kubectl("delete", "sparkapplication", "rides")
        with contextlib.suppress(ProcessLookupError):
            os.killpg(operator.pid, signal.SIGKILL)  # its spark-submit, too
        operator.wait(timeout=30)
        cluster.run_kubectl("delete", "namespace", application.namespace, "--wait=false")


def test_executors_are_on_the_ordered_nodes_only(application, nodes):
    first, second, third = nodes
    driver, runs = application.driver(), application.runs()
    application.apply(first, second, third)  # spec.executor.instances is 1
    application.apply(second, third)
    application.apply(third)
    until("the others' pods are gone", lambda: len(application.pods()) == 1, application)
    assert application.driver() == driver
    assert application.runs() == runs  # neither the driver nor the query was restarted
    assert application.is_exactly_once()


def test_the_operator_observes_executors_without_interference(application, nodes):
    application.apply(*nodes[:2])
    until("the leaving pods are gone", lambda: len(application.pods()) == 2, application)
    placed = set(application.pods().values())

    def seen():
        state, executors = application.operated()
        return (state, list(executors.values()).count("RUNNING")) == ("RUNNING", 2)

    until("it counts two", seen, application)
    time.sleep(20)  # several of its reconciliations
    assert set(application.pods().values()) == placed == {(nodes[0], "Running"), (nodes[1], "Running")}
    assert seen()


def test_a_restarted_driver_returns_to_its_placement(application, nodes):
    application.apply(nodes[0], nodes[1])
    identity, before = application.ask("replicas")["reconciler"]["order"], application.driver()
    application.kubectl("delete", "pod", "driver", "--wait=false", "--now")
    until("another driver is there", lambda: application.driver() != before, application)
    until(
        "its executors are where they were",
        lambda: application.driver() and application.has_applied(identity, nodes[0], nodes[1]),
        application,
    )
    assert application.is_exactly_once()
