"""Real Spark drivers apply orders: a running query in client mode, and a driver pod by spark-submit."""

import contextlib
import json
import os
import signal

import pytest
from ordered_application import Application, until, until_pods

from testbed.kubernetes.images import BUSYBOX

pytestmark = pytest.mark.real


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
        until("the first executor has worked", lambda: application.has_applied(order, nodes[0]), application)
        yield application
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(driver.pid, signal.SIGKILL)
        driver.wait(timeout=120)
        cluster.run_kubectl("delete", "namespace", application.namespace, "--wait=false")


def test_the_first_executors_start_on_the_nodes_of_the_order(application, nodes):
    until_pods(application, {"1": (nodes[0], "Running")})
    assert application.runs()[0][1] == "1"


def test_a_node_more_adds_its_executor_and_a_node_fewer_removes_it(application, nodes):
    first, second, third = nodes
    application.apply(first)
    runs, kept = application.runs(), application.executor_on(first)
    application.apply(first, second)
    added = application.executor_on(second)
    until_pods(application, {kept: (first, "Running"), added: (second, "Running")})
    application.apply(second, third)
    assert application.executor_on(second) == added
    assert kept not in {each["id"] for each in application.ask("replicas")["executors"]}
    until("its pod is gone", lambda: kept not in application.pods(), application)
    assert application.runs() == runs  # the query was not restarted
    assert application.is_exactly_once()


def test_a_lost_executor_is_replaced_within_the_placement(application, nodes):
    application.apply(*nodes[:2])
    lost = application.executor_on(nodes[1])
    name = application.kubectl("get", "pods", "-l", f"spark-exec-id={lost}", "-o", "name").strip()
    application.kubectl("delete", name, "--wait=false", "--now")
    until("it is missed", lambda: lost not in {e["id"] for e in application.ask("replicas")["executors"]}, application)
    identity = application.ask("replicas")["reconciler"]["order"]
    until("another one works there", lambda: application.has_applied(identity, *nodes[:2]), application)
    assert application.is_exactly_once()


def test_the_next_order_deletes_a_pod_that_waits_for_a_full_node(application, nodes, cluster):
    application.apply(nodes[0])
    until("no other executor is there", lambda: len(application.pods()) == 1, application)
    fill(application, cluster, nodes[2])
    try:
        application.order(nodes[0], nodes[2])
        waiting = (None, "Pending")
        until("a pod waits", lambda: waiting in application.pods().values(), application)
        identity = application.order(nodes[0], nodes[1])
        placed = {(nodes[0], "Running"), (nodes[1], "Running")}
        until("only the new placement is left", lambda: set(application.pods().values()) == placed, application)
        # The next test must not meet an executor that registers late.
        until("both have worked", lambda: application.has_applied(identity, *nodes[:2]), application)
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


def test_an_order_of_an_older_term_and_an_invalid_one_change_nothing(application, nodes):
    application.apply(nodes[0])
    ignored = application.ask("replicas")["reconciler"]["ignored_orders"]
    application.order(nodes[1], term=0)
    until(
        "it is ignored", lambda: application.ask("replicas")["reconciler"]["ignored_orders"] == ignored + 1, application
    )
    assert application.ask("replicas")["hosts"] == [nodes[0]]


def test_a_restart_applies_the_new_number_and_reports_its_downtime(application, nodes):
    application.apply(nodes[0])
    runs, known = application.runs(), len(application.ask("replicas")["restarts"])
    identity = application.apply(*nodes[1:], strategy="Restart")
    until("the downtime is known", lambda: application.ask("replicas")["restarts"][known]["downtime_s"], application)
    restart = application.ask("replicas")["restarts"][known]
    assert (restart["order"], restart["replicas"]) == (identity, 2)
    assert restart["downtime_s"] == restart["first_batch_ended_at_s"] - restart["last_batch_ended_at_s"] > 0
    assert application.runs() == [*runs, (restart["started_run"], "2")]
    assert application.is_exactly_once()


@pytest.mark.long
def test_a_driver_pod_with_minimal_rights_applies_orders(cluster, nodes, tmp_path):
    cluster.in_control_plane(("true",))
    application = Application(cluster, tmp_path)
    try:
        application.order(nodes[0])
        application.submit(nodes[2])
        until("the first executor has worked", lambda: application.has_applied("1-1", nodes[0]), application)
        application.apply(nodes[0], nodes[1])
        application.apply(nodes[1])
        assert len(application.runs()) == 1
        assert application.is_exactly_once()
    finally:
        cluster.run_kubectl("delete", "namespace", application.namespace, "--wait=false")
