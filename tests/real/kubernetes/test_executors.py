"""Real Spark executors obey orders: a running query in client mode, and a driver pod by spark-submit."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import uuid
from importlib.util import find_spec
from pathlib import Path
from urllib.request import urlopen

import pytest
import yaml

from testbed.cluster.spark_command import SMALL_JVM
from testbed.kubernetes.driver_account import FEW_RIGHTS_SETTINGS, driver_account
from testbed.kubernetes.host_programs import host_programs
from testbed.kubernetes.images import BUSYBOX, HOST
from testbed.kubernetes.kubectl import create_namespace, define_autoscalers
from testbed.pipeline.sink import committed_files

pytestmark = pytest.mark.real

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


class Application:
    """A driver, its StreamAutoscaler, and what can be seen of both."""

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
            "StreamAutoscaler",
            "taxi",
            spec={"workflow": "rides", "minReplicas": 1},
            group="gesscale.dev/v1alpha1",
        )

    def kubectl(self, *arguments, given=None, timeout_s=60):
        return self.cluster.run_kubectl("-n", self.namespace, *arguments, given=given, timeout_s=timeout_s)

    def create(self, kind, name, *, group="v1", **fields):
        body = {"apiVersion": group, "kind": kind, "metadata": {"name": name}, **fields}
        self.kubectl("create", "-f", "-", given=json.dumps(body))

    def settings(self):
        small = " ".join(SMALL_JVM)
        return FEW_RIGHTS_SETTINGS | {
            "spark.kubernetes.namespace": self.namespace,
            "spark.kubernetes.container.image": HOST,
            "spark.kubernetes.executor.podTemplateFile": str(self.folder / "pod.yaml"),
            "spark.kubernetes.executor.request.cores": "0.1",
            "spark.executor.memory": "512m",
            "spark.executor.memoryOverhead": "256m",
            "spark.executor.extraJavaOptions": small,
            "spark.driver.memory": "512m",
            "spark.driver.extraJavaOptions": small,
            "spark.ui.enabled": "false",
            "spark.log.level": "WARN",
        }

    def start_in_client_mode(self):
        self.address = self.cluster.address(self.cluster.topology.driver_node)
        settings = self.settings() | {
            "spark.kubernetes.authenticate.caCertFile": str(self.cluster.authority),
            "spark.kubernetes.authenticate.oauthToken": self.cluster.token,
            "spark.driver.host": self.address,
            "spark.driver.bindAddress": self.address,
        }
        arguments = [f"--conf '{name}={value}'" for name, value in settings.items()]
        environment = {
            **os.environ,
            "KUBECONFIG": str(self.cluster.kubeconfig),
            "PYSPARK_SUBMIT_ARGS": " ".join(
                ["--master", f"k8s://{self.cluster.api_url}", *arguments, "pyspark-shell"]
            ),
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
        """Create the driver's account with the rights that deploy/k3s/example gives to its own."""
        self.kubectl("create", "-f", "-", given=driver_account("taxi", "driver"))

    def submit(self, node):
        """Start the driver as a pod on a node."""
        self.grant()
        pod = {
            "metadata": {"name": "driver"},
            "spec": {**self.pod["spec"], "nodeSelector": {"kubernetes.io/hostname": node}},
        }
        (self.folder / "driver.yaml").write_text(yaml.safe_dump(pod))
        settings = self.settings() | {
            "spark.kubernetes.authenticate.submission.caCertFile": str(self.cluster.authority),
            "spark.kubernetes.authenticate.submission.oauthToken": self.cluster.token,
            "spark.kubernetes.authenticate.driver.serviceAccountName": "driver",
            "spark.kubernetes.driver.podTemplateFile": str(self.folder / "driver.yaml"),
            "spark.kubernetes.driver.pod.name": "driver",
            "spark.kubernetes.driver.label.gesscale.dev/autoscaler": "taxi",
            "spark.kubernetes.driver.request.cores": "0.1",
            "spark.kubernetes.executor.useDriverPodIP": "true",  # no names are needed
            "spark.kubernetes.submission.waitAppCompletion": "false",
        }
        home = str(Path(find_spec("pyspark").origin).parent)
        options = [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
        command = [
            f"{home}/bin/spark-submit",
            "--master",
            f"k8s://{self.cluster.api_url}",
            "--deploy-mode",
            "cluster",
        ]
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
            "at": "2026-11-21T21:00:00Z", "strategy": strategy,
        }  # fmt: skip
        patch = json.dumps({"status": {"order": order}})
        self.kubectl("patch", "streamautoscaler", "taxi", "--subresource=status", "--type=merge", "-p", patch)
        return order["id"]

    def ask(self, page):
        with urlopen(f"http://{self.address}:9108/{page}", timeout=10) as answer:
            return json.load(answer)

    def obeys(self, order, *nodes):
        """Whether executors are on exactly these nodes, all have worked, and none is on the way."""
        replicas = self.ask("replicas")
        reconciler = replicas["reconciler"]
        return (
            (reconciler["order"], reconciler["settled"], replicas["hosts"]) == (order, True, sorted(nodes))
            and all(each["first_task_at_s"] for each in replicas["executors"])
            and sorted(each["node"] for each in replicas["executors"]) == sorted(nodes)
        )

    def obey(self, *nodes, **order):
        """Give an order and wait until it is so."""
        identity = self.order(*nodes, **order)
        until(f"order {identity} is obeyed: {nodes}", lambda: self.obeys(identity, *nodes), self)
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
        """Whether the sink holds every number from 0 on, each once."""
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
        """Yield the file that gets the log of a driver pod, also of one that is deleted meanwhile."""
        file = self.folder / "followed.log"
        command = (self.cluster.kubectl, "--kubeconfig", self.cluster.kubeconfig, "-n", self.namespace)
        with (
            file.open("w") as log,
            subprocess.Popen(
                (*map(str, command), "logs", "--follow", "driver"), stdout=log, stderr=log
            ) as following,
        ):
            try:
                yield file
            finally:
                following.terminate()


def until(what, holds, application, timeout_s=240.0):
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            if holds():
                return
            problem = ""
        except (OSError, LookupError, StopIteration) as error:
            problem = f" ({error})"
        if time.monotonic() > deadline:
            state = ""
            with contextlib.suppress(OSError):
                state = json.dumps(application.ask("replicas"))
            pytest.fail(f"{what}: not within {timeout_s} s{problem}; {state}\n{application.log()[-3000:]}")
        time.sleep(0.3)


def until_pods(application, wanted):
    """Wait until the pods are these: a kubelet says that one runs after its executor has worked."""
    until(f"the pods are {wanted}", lambda: application.pods() == wanted, application)


@pytest.fixture(scope="module")
def nodes(cluster):
    return cluster.node_names


@pytest.fixture(scope="module")
def application(cluster, nodes, tmp_path_factory):
    """A query in client mode, its driver next to the control plane; its first placement is the first node."""
    cluster.in_control_plane(("true",))  # a foreign cluster: skip before anything is made
    application = Application(cluster, tmp_path_factory.mktemp("client"))
    order = application.order(nodes[0])
    driver = application.start_in_client_mode()
    try:
        until("the first executor has worked", lambda: application.obeys(order, nodes[0]), application)
        yield application
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(driver.pid, signal.SIGKILL)
        driver.wait(timeout=120)
        cluster.run_kubectl("delete", "namespace", application.namespace, "--wait=false")


def test_the_first_executors_stand_where_the_order_of_before_the_start_says(application, nodes):
    until_pods(application, {"1": (nodes[0], "Running")})
    assert application.runs()[0][1] == "1"


def test_one_node_more_adds_an_executor_there_and_one_fewer_takes_that_very_one(application, nodes):
    first, second, third = nodes
    application.obey(first)
    runs, kept = application.runs(), application.executor_on(first)
    application.obey(first, second)
    added = application.executor_on(second)
    until_pods(application, {kept: (first, "Running"), added: (second, "Running")})
    application.obey(second, third)
    assert application.executor_on(second) == added
    assert kept not in {each["id"] for each in application.ask("replicas")["executors"]}
    until("its pod is gone", lambda: kept not in application.pods(), application)
    assert application.runs() == runs  # the query was not restarted
    assert application.is_exactly_once()


def test_a_lost_executor_comes_back_inside_the_placement(application, nodes):
    application.obey(*nodes[:2])
    lost = application.executor_on(nodes[1])
    name = application.kubectl("get", "pods", "-l", f"spark-exec-id={lost}", "-o", "name").strip()
    application.kubectl("delete", name, "--wait=false", "--now")
    until(
        "it is missed",
        lambda: lost not in {e["id"] for e in application.ask("replicas")["executors"]},
        application,
    )
    identity = application.ask("replicas")["reconciler"]["order"]
    until("another one works there", lambda: application.obeys(identity, *nodes[:2]), application)
    assert application.is_exactly_once()


def test_a_pod_that_waits_for_a_full_node_is_withdrawn_by_the_next_order(application, nodes, cluster):
    application.obey(nodes[0])
    until("no other executor is there", lambda: len(application.pods()) == 1, application)
    fill(application, cluster, nodes[2])
    try:
        application.order(nodes[0], nodes[2])
        waiting = (None, "Pending")
        until("a pod waits", lambda: waiting in application.pods().values(), application)
        application.order(nodes[0], nodes[1])
        placed = {(nodes[0], "Running"), (nodes[1], "Running")}
        until(
            "only the new placement is left", lambda: set(application.pods().values()) == placed, application
        )
    finally:
        application.kubectl("delete", "pod", "filler", "--now")


def fill(application, cluster, node):
    """Leave less than an executor's 0.1 CPU on a node."""
    cpu = json.loads(cluster.run_kubectl("get", "node", node, "-o", "json"))["status"]["allocatable"]["cpu"]
    milli = int(cpu.removesuffix("m")) if cpu.endswith("m") else 1000 * int(cpu)
    container = {
        "name": "filler",
        "image": BUSYBOX,
        "command": ["sleep", "3600"],
        "resources": {"requests": {"cpu": f"{milli - 50}m"}},
    }
    application.create("Pod", "filler", spec={"nodeName": node, "containers": [container]})
    application.kubectl("wait", "--for=condition=Ready", "pod/filler", "--timeout=180s", timeout_s=200)


def test_an_order_of_an_older_term_and_a_broken_one_change_nothing(application, nodes):
    application.obey(nodes[0])
    ignored = application.ask("replicas")["reconciler"]["ignored_orders"]
    application.order(nodes[1], term=0)
    until(
        "it is ignored",
        lambda: application.ask("replicas")["reconciler"]["ignored_orders"] == ignored + 1,
        application,
    )
    assert application.ask("replicas")["hosts"] == [nodes[0]]


def test_a_restart_starts_the_query_with_the_new_number_and_tells_its_downtime(application, nodes):
    application.obey(nodes[0])
    runs, known = application.runs(), len(application.ask("replicas")["restarts"])
    identity = application.obey(*nodes[1:], strategy="Restart")
    until(
        "the downtime is known",
        lambda: application.ask("replicas")["restarts"][known]["downtime_s"],
        application,
    )
    restart = application.ask("replicas")["restarts"][known]
    assert (restart["order"], restart["replicas"]) == (identity, 2)
    assert restart["downtime_s"] == restart["first_batch_ended_at_s"] - restart["last_batch_ended_at_s"] > 0
    assert application.runs() == [*runs, (restart["started_run"], "2")]
    assert application.is_exactly_once()


def test_a_driver_pod_with_the_least_rights_obeys_too(cluster, nodes, tmp_path):
    cluster.in_control_plane(("true",))
    application = Application(cluster, tmp_path)
    try:
        application.order(nodes[0])
        application.submit(nodes[2])
        until("the first executor has worked", lambda: application.obeys("1-1", nodes[0]), application)
        application.obey(nodes[0], nodes[1])
        application.obey(nodes[1])
        assert len(application.runs()) == 1
        assert application.is_exactly_once()
    finally:
        cluster.run_kubectl("delete", "namespace", application.namespace, "--wait=false")
