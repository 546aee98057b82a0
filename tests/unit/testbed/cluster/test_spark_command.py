from pathlib import Path

import pytest

from gesscale.errors import ClusterError
from testbed.cluster import spark_command


def test_executors_come_from_outside_and_leave_at_once() -> None:
    settings = spark_command.driver_settings("10.77.9.1", driver_port=7078, ui_port=4040)
    assert settings["spark.master"] == "local-cluster[0,1,512]"
    assert settings["spark.driver.host"] == settings["spark.driver.bindAddress"] == "10.77.9.1"
    assert settings["spark.decommission.enabled"] == "true"
    assert settings["spark.storage.decommission.enabled"] == "false"


def test_the_master_may_give_as_much_memory_as_executors_ask() -> None:
    settings = spark_command.driver_settings("10.77.9.1", driver_port=1, ui_port=2)
    # local-cluster refuses executors larger than its workers would be
    assert settings["spark.executor.memory"] == f"{spark_command.EXECUTOR_MEMORY_MB}m"
    assert settings["spark.master"].endswith(f",{spark_command.EXECUTOR_MEMORY_MB}]")


def test_properties_are_a_line_each() -> None:
    assert spark_command.properties_text({"a.b": "1 2", "c": "d"}) == "a.b 1 2\nc d\n"


def test_an_executor_knows_its_driver_and_its_number() -> None:
    arguments = spark_command.executor_arguments(
        "10.77.9.3", driver_address="10.77.9.1", driver_port=7079, application="app-1", executor_id=12
    )
    pairs = dict(zip(arguments[::2], arguments[1::2], strict=True))
    assert pairs == {
        "--driver-url": "spark://CoarseGrainedScheduler@10.77.9.1:7079",
        "--executor-id": "12",
        "--cores": "1",
        "--app-id": "app-1",
        "--hostname": "10.77.9.3",
        "--bind-address": "10.77.9.3",
        "--resourceProfileId": "0",
    }


def test_a_process_is_tied_to_its_node() -> None:
    environment = spark_command.node_environment("10.77.9.3", Path("/scratch"), "/venv/python")
    assert environment["SPARK_LOCAL_IP"] == environment["SPARK_LOCAL_HOSTNAME"] == "10.77.9.3"
    assert environment["SPARK_LOCAL_DIRS"] == "/scratch"
    assert environment["PYSPARK_PYTHON"] == "/venv/python"


def test_a_missing_java_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(ClusterError, match="there is no java on the path; install"):
        spark_command.java_program()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(ClusterError, match=r"JAVA_HOME=.* has no bin/java"):
        spark_command.java_program()
