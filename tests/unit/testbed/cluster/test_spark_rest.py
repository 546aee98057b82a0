import pytest
from pytest_httpserver import HTTPServer
from refusals import refused

from gesscale.errors import ClusterError
from testbed.cluster.spark import application_id, executors

EXECUTORS = "/api/v1/applications/app-1/allexecutors"


def executor(number: str, **changes: object) -> dict[str, object]:
    return {"id": number, "isActive": True, "completedTasks": 3, "hostPort": "10.77.9.1:40000", **changes}


def test_executors_are_read_without_the_driver(httpserver: HTTPServer) -> None:
    httpserver.expect_request("/api/v1/applications").respond_with_json([{"id": "app-1", "name": "x"}])
    listed = [executor("driver"), executor("1"), executor("12", isActive=False), executor("3", isActive="yes")]
    httpserver.expect_request(EXECUTORS).respond_with_json([*listed, "x", {}, None])
    assert application_id(httpserver.url_for("")) == "app-1"
    assert executors(httpserver.url_for(""), "app-1") == {1: True, 12: False}


@pytest.mark.parametrize(
    ("body", "status"),
    [("Spark is starting up. Please wait", 200), ("[]", 200), ('[{"id": 5}]', 200), ("{}", 200), ("no", 500)],
)
def test_a_driver_that_is_not_ready_or_fails_is_an_error(httpserver: HTTPServer, body: str, status: int) -> None:
    httpserver.expect_request("/api/v1/applications").respond_with_data(body, status=status)
    with pytest.raises(ClusterError) as caught:
        application_id(httpserver.url_for(""))
    assert caught.value.code in {"spark-api-unavailable", "spark-application-missing"}
    assert caught.value.fields["source"] == httpserver.url_for("")
    with refused("spark-api-unavailable"):
        application_id("http://127.0.0.1:9")
