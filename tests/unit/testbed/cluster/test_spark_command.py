from testbed.cluster import spark_command


def test_driver_settings_for_external_executors() -> None:
    settings = spark_command.driver_settings("10.77.9.1", driver_port=7078, ui_port=4040)
    assert settings["spark.master"] == "local-cluster[0,1,512]"
    assert settings["spark.executor.memory"] == "512m"  # local-cluster refuses executors that are larger
    assert settings["spark.driver.host"] == settings["spark.driver.bindAddress"] == "10.77.9.1"
    assert settings["spark.decommission.enabled"] == "true"
    assert settings["spark.storage.decommission.enabled"] == "false"
