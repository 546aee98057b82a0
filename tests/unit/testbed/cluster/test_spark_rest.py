import pytest
from pytest_httpserver import HTTPServer

from gesscale.errors import ClusterError
from testbed.cluster import spark_rest
from testbed.cluster.spark_rest import ExecutorState

EXECUTORS = "/api/v1/applications/app-1/allexecutors"


def executor(number: str, **changes: object) -> dict[str, object]:
    return {"id": number, "isActive": True, "completedTasks": 3, "hostPort": "10.77.9.1:40000", **changes}


def test_the_application_is_known_by_its_id(httpserver: HTTPServer) -> None:
    httpserver.expect_request("/api/v1/applications").respond_with_json([{"id": "app-1", "name": "x"}])
    assert spark_rest.application_id(httpserver.url_for("")) == "app-1"


def test_executors_are_told_and_the_driver_is_none(httpserver: HTTPServer) -> None:
    httpserver.expect_request(EXECUTORS).respond_with_json(
        [executor("driver"), executor("1"), executor("12", isActive=False)]
    )
    assert spark_rest.executors(httpserver.url_for(""), "app-1") == (
        ExecutorState(executor_id=1, active=True),
        ExecutorState(executor_id=12, active=False),
    )


def test_entries_of_another_shape_are_passed_over(httpserver: HTTPServer) -> None:
    httpserver.expect_request(EXECUTORS).respond_with_json([executor("1", isActive="yes"), "x", {}, None])
    assert spark_rest.executors(httpserver.url_for(""), "app-1") == ()


@pytest.mark.parametrize(
    "body", ["Spark is starting up. Please wait a while until it's ready.", "[]", '[{"id": 5}]', "{}"]
)
def test_a_driver_that_is_not_ready_is_an_error(httpserver: HTTPServer, body: str) -> None:
    httpserver.expect_request("/api/v1/applications").respond_with_data(body, content_type="text/html")
    with pytest.raises(ClusterError, match=r"127\.0\.0\.1|localhost"):
        spark_rest.application_id(httpserver.url_for(""))


def test_a_driver_that_fails_or_is_absent_is_an_error(httpserver: HTTPServer) -> None:
    httpserver.expect_request("/api/v1/applications").respond_with_data("broken", status=500)
    with pytest.raises(ClusterError, match="500"):
        spark_rest.application_id(httpserver.url_for(""))
    with pytest.raises(ClusterError, match="refused"):
        spark_rest.application_id("http://127.0.0.1:9")
