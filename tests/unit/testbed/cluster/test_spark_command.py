from pathlib import Path

import pytest
from refusals import refused

from testbed.cluster import spark_command


def test_driver_settings_for_external_executors() -> None:
    settings = spark_command.driver_settings("10.77.9.1", driver_port=7078, ui_port=4040)
    assert settings["spark.master"] == "local-cluster[0,1,512]"
    assert settings["spark.executor.memory"] == "512m"  # local-cluster refuses executors that are larger
    assert settings["spark.driver.host"] == settings["spark.driver.bindAddress"] == "10.77.9.1"
    assert settings["spark.decommission.enabled"] == "true"
    assert settings["spark.storage.decommission.enabled"] == "false"


def test_a_missing_java_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with refused("java-missing", searched="PATH"):
        spark_command.java_program()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with refused("java-missing", searched=f"JAVA_HOME={tmp_path}"):
        spark_command.java_program()
