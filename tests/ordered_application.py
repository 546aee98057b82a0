"""A real Spark application on Kubernetes that follows orders: its driver and its StreamAutoscaler."""

import contextlib
import json
import os
import subprocess
import sys
import uuid
from importlib.util import find_spec
from pathlib import Path
from urllib.request import urlopen

import waiting
import yaml

from gesscale.spark.pod_template import AUTOSCALER_LABEL
from testbed.cluster.spark_command import SMALL_JVM
from testbed.kubernetes.images import HOST, host_programs
from testbed.kubernetes.kubectl import FEW_RIGHTS_SETTINGS, create_namespace, define_autoscalers, driver_account
from testbed.pipeline.sink import committed_files

PROGRAM = """
import signal, sys, threading
from pathlib import Path
from pyspark.sql import SparkSession
import gesscale.spark

folder = Path(sys.argv[1])
stopping = threading.Event()
signal.signal(signal.SIGTERM, lambda *_: stopping.set())
spark = gesscale.spark.place(SparkSession.builder.appName("trial"), autoscaler="taxi").getOrCreate()

def start_query(spark, replicas):
    source = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 24)
    rows = source.option("numPartitions", 2 * replicas).load()
    served = rows.selectExpr("value", "java_method('java.lang.Thread', 'sleep', 20L) AS slept")
    sink = served.writeStream.format("json").option("path", str(folder / "out")).queryName("trial")
    query = sink.option("checkpointLocation", str(folder / "checkpoint")).trigger(processingTime="1 second").start()
    with (folder / "runs").open("a") as runs:
        print(query.runId, replicas, file=runs)
    return query

try:
    gesscale.spark.attach(
        spark, operator="trial", port=9108, trigger_s=1.0, restart=start_query
    ).run(stopping)
finally:
    spark.stop()
"""


def on_kubernetes(settings):
    """Return Spark settings with the prefix of those for Kubernetes."""
    return {f"spark.kubernetes.{name}": value for name, value in settings.items()}


class Application:
    """A driver, its StreamAutoscaler, and observations of both."""

    def __init__(self, cluster, folder):
        self.cluster, self.folder, self.namespace = cluster, folder, f"executors-{uuid.uuid4().hex[:8]}"
        self.counter = 0
        self.address = None
        (folder / "program.py").write_text(PROGRAM)
        program = host_programs()
        container = {
            "name": "spark",
            "env": list(program.environment),
            "volumeMounts": [*program.mounts, {"name": "work", "mountPath": str(folder)}],
        }
        volumes = [*program.volumes, {"name": "work", "hostPath": {"path": str(folder)}}]
        self.pod = {"spec": {"volumes": volumes, "containers": [container]}}
        (folder / "pod.yaml").write_text(yaml.safe_dump(self.pod))
        define_autoscalers(cluster.run_kubectl)
        create_namespace(cluster.run_kubectl, self.namespace)
        self.create(
            "StreamAutoscaler", "taxi", spec={"workflow": "rides", "minReplicas": 1}, group="gesscale.dev/v1alpha1"
        )

    def kubectl(self, *arguments, stdin=None, timeout_s=60):
        return self.cluster.run_kubectl("-n", self.namespace, *arguments, stdin=stdin, timeout_s=timeout_s)

    def create(self, kind, name, *, group="v1", **fields):
        body = {"apiVersion": group, "kind": kind, "metadata": {"name": name}, **fields}
        self.kubectl("create", "-f", "-", stdin=json.dumps(body))

    def settings(self):
        small = " ".join(SMALL_JVM)
        return (
            FEW_RIGHTS_SETTINGS
            | on_kubernetes(
                {
                    "namespace": self.namespace,
                    "container.image": HOST,
                    "executor.podTemplateFile": str(self.folder / "pod.yaml"),
                    "executor.request.cores": "0.1",
                }
            )
            | {
                "spark.executor.memory": "512m",
                "spark.executor.memoryOverhead": "256m",
                "spark.executor.extraJavaOptions": small,
                "spark.driver.memory": "512m",
                "spark.driver.extraJavaOptions": small,
                "spark.ui.enabled": "false",
                "spark.log.level": "WARN",
            }
        )

    def start_in_client_mode(self):
        self.address = self.cluster.address(self.cluster.topology.driver_node)
        settings = self.settings() | {
            "spark.kubernetes.authenticate.caCertFile": str(self.cluster.api.authority),
            "spark.kubernetes.authenticate.oauthToken": self.cluster.api.token,
            "spark.driver.host": self.address,
            "spark.driver.bindAddress": self.address,
        }
        arguments = [f"--conf '{name}={value}'" for name, value in settings.items()]
        environment = {
            **os.environ,
            "KUBECONFIG": str(self.cluster.kubeconfig),
            "PYSPARK_SUBMIT_ARGS": " ".join(["--master", f"k8s://{self.cluster.api.url}", *arguments, "pyspark-shell"]),
            "PYTHONPATH": str(Path(__file__).parents[3]),
            "SPARK_LOCAL_IP": self.address,
        }
        with (self.folder / "driver.log").open("w") as log:
            command = (sys.executable, str(self.folder / "program.py"), str(self.folder))
            return subprocess.Popen(
                self.cluster.in_control_plane(command),
                env=environment, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip

    def grant(self):
        """Create the driver's account with the rights of the account in deploy/k3s/example."""
        self.kubectl("create", "-f", "-", stdin=driver_account("taxi", "driver"))

    def submit(self, node):
        """Start the driver as a pod on a node."""
        self.grant()
        pod = {
            "metadata": {"name": "driver"},
            "spec": {**self.pod["spec"], "nodeSelector": {"kubernetes.io/hostname": node}},
        }
        (self.folder / "driver.yaml").write_text(yaml.safe_dump(pod))
        settings = self.settings() | on_kubernetes(
            {
                "authenticate.submission.caCertFile": str(self.cluster.api.authority),
                "authenticate.submission.oauthToken": self.cluster.api.token,
                "authenticate.driver.serviceAccountName": "driver",
                "driver.podTemplateFile": str(self.folder / "driver.yaml"),
                "driver.pod.name": "driver",
                f"driver.label.{AUTOSCALER_LABEL}": "taxi",
                "driver.request.cores": "0.1",
                "executor.useDriverPodIP": "true",  # the cluster has no DNS
                "submission.waitAppCompletion": "false",
            }
        )
        home = str(Path(find_spec("pyspark").origin).parent)
        options = [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
        command = [f"{home}/bin/spark-submit", "--master", f"k8s://{self.cluster.api.url}", "--deploy-mode", "cluster"]
        command += [*options, f"local://{self.folder}/program.py", str(self.folder)]
        environment = {**os.environ, "SPARK_HOME": home, "KUBECONFIG": str(self.cluster.kubeconfig)}
        done = subprocess.run(
            self.cluster.in_control_plane(command),
            env=environment,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-3000:]
        until("the driver pod has an address", lambda: self._driver_address() is not None, self)

    def _driver_address(self):
        self.address = json.loads(self.kubectl("get", "pod", "driver", "-o", "json"))["status"].get("podIP")
        return self.address

    def order(self, *nodes, strategy="Live", term=1):
        self.counter += 1
        order = {
            "id": f"{term}-{self.counter}", "term": term, "placement": sorted(nodes),
            "at": "2027-03-04T05:06:07Z", "strategy": strategy,
        }  # fmt: skip
        patch = json.dumps({"status": {"order": order}})
        self.kubectl("patch", "streamautoscaler", "taxi", "--subresource=status", "--type=merge", "-p", patch)
        return order["id"]

    def ask(self, page):
        with urlopen(f"http://{self.address}:9108/{page}", timeout=10) as response:
            return json.load(response)

    def has_applied(self, order, *nodes):
        """Return whether exactly these nodes have an executor that has worked, and none is starting."""
        replicas = self.ask("replicas")
        reconciler = replicas["reconciler"]
        return (
            (reconciler["order"], reconciler["settled"], replicas["hosts"]) == (order, True, sorted(nodes))
            and all(each["first_task_at_s"] for each in replicas["executors"])
            and sorted(each["node"] for each in replicas["executors"]) == sorted(nodes)
        )

    def apply(self, *nodes, **order):
        """Write an order and wait until it is applied."""
        identity = self.order(*nodes, **order)
        until(f"order {identity} is applied: {nodes}", lambda: self.has_applied(identity, *nodes), self)
        return identity

    def executor_on(self, node):
        return next(each["id"] for each in self.ask("replicas")["executors"] if each["node"] == node)

    def pods(self):
        """Node and phase by id of the executor."""
        listed = self.kubectl("get", "pods", "-l", "spark-role=executor", "-o", "json")
        return {
            pod["metadata"]["labels"]["spark-exec-id"]: (pod["spec"].get("nodeName"), pod["status"]["phase"])
            for pod in json.loads(listed)["items"]
            if "deletionTimestamp" not in pod["metadata"]
        }

    def runs(self):
        """Run id and replicas of every start of the query."""
        return [tuple(line.split()) for line in (self.folder / "runs").read_text().splitlines()]

    def is_exactly_once(self):
        """True if the sink contains every number from 0 once."""
        files = committed_files(self.folder / "out")
        values = sorted(json.loads(line)["value"] for file in files for line in file.read_text().splitlines())
        return bool(values) and values == list(range(len(values)))

    def log(self):
        file = self.folder / "driver.log"
        with contextlib.suppress(Exception):
            return file.read_text() if file.exists() else self.kubectl("logs", "driver", "--tail=60")
        return ""

    @contextlib.contextmanager
    def log_followed(self):
        """Yield the file with the log of a driver pod, which may be deleted during the test."""
        file = self.folder / "followed.log"
        command = (self.cluster.kubectl, "--kubeconfig", self.cluster.kubeconfig, "-n", self.namespace)
        with (
            file.open("w") as log,
            subprocess.Popen((*map(str, command), "logs", "--follow", "driver"), stdout=log, stderr=log) as following,
        ):
            try:
                yield file
            finally:
                following.terminate()


def until(what, holds, application, timeout_s=240.0):
    """Wait like `waiting.until`; on timeout, report the driver's log."""

    def state():
        with contextlib.suppress(OSError):
            return f"{json.dumps(application.ask('replicas'))}\n{application.log()[-3000:]}"
        return application.log()[-3000:]

    waiting.until(holds, what, timeout_s, state)


def until_pods(application, wanted):
    """Wait until the running pods are these; a kubelet reports a pod as running only after its executor has worked."""
    until(f"the pods are {wanted}", lambda: application.pods() == wanted, application)
