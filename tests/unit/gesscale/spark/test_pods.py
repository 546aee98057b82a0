import pytest
from kubernetes.client import Configuration

from gesscale.kubernetes.api.connection import Connection
from gesscale.kubernetes.api.faults import ApiError
from gesscale.spark.pods import AppPods
from gesscale.spark.reconcile import ExecutorPod

PATH = "/api/v1/namespaces/streams/pods"


@pytest.fixture
def pods(httpserver):
    configuration = Configuration()
    configuration.host = httpserver.url_for("").rstrip("/")
    connection = Connection(configuration, namespace="streams", user_agent="test", timeout_s=2.0)
    yield AppPods(connection, namespace="streams", application="spark-1")
    connection.close()


def test_the_executors_of_one_application_are_told_without_those_on_their_way_out(httpserver, pods):
    running = {
        "metadata": {
            "name": "p1",
            "labels": {"spark-exec-id": "1"},
            "annotations": {"gesscale.dev/order": "7-3"},
        },
        "spec": {"nodeName": "a"},
        "status": {"phase": "Running"},
    }
    waiting = {"metadata": {"name": "p2"}, "spec": {}, "status": {"phase": "Pending"}}
    leaving = {**running, "metadata": {"name": "p3", "deletionTimestamp": "2026-11-21T20:58:08Z"}}
    asked = {"labelSelector": "spark-app-selector=spark-1,spark-role=executor", "limit": "250"}
    httpserver.expect_oneshot_request(PATH, query_string=asked).respond_with_json(
        {"metadata": {}, "items": [running, waiting, leaving]}
    )
    assert pods.list() == [
        ExecutorPod(name="p1", executor="1", node="a", order="7-3", waits=False),
        ExecutorPod(name="p2", executor="", node=None, order="", waits=True),
    ]


def test_a_pod_that_is_gone_already_is_as_good_as_deleted(httpserver, pods):
    httpserver.expect_oneshot_request(f"{PATH}/p1", method="DELETE").respond_with_json({}, status=404)
    pods.delete("p1")
    httpserver.expect_oneshot_request(f"{PATH}/p1", method="DELETE").respond_with_json({}, status=403)
    with pytest.raises(ApiError):
        pods.delete("p1")
