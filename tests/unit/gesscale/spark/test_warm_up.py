"""The settings of the warm-up, and its daemon, which survives what it cannot import."""

import pytest

from gesscale.spark import warm_new_executors
from gesscale.spark.warm_up import DAEMON, DAEMON_SETTING, JAR, JARS_SETTING, PLUGIN, PLUGINS_SETTING
from gesscale.spark.warm_up.daemon import import_all


def test_a_module_that_cannot_be_imported_is_said_and_left_out(capfd: pytest.CaptureFixture[str]) -> None:
    import_all(["no_such_module", "json"])
    said = capfd.readouterr()
    assert said.out == ""  # the daemon's port goes there
    assert "no_such_module is not warm" in said.err
    assert "json" not in said.err


class Builder:
    """A builder of sessions: all that is used of it."""

    def __init__(self, **settings):
        self._options = {f"spark.{name.replace('_', '.')}": value for name, value in settings.items()}

    def config(self, name, value):
        self._options[name] = value
        return self


@pytest.fixture(autouse=True)
def _no_arguments(monkeypatch):
    monkeypatch.delenv("PYSPARK_SUBMIT_ARGS", raising=False)
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)


def test_plugins_and_jars_of_the_job_stay():
    warm = warm_new_executors(Builder(plugins="org.one", jars="/a.jar,/b.jar"), ["my_job", "my_other"])._options
    assert warm[PLUGINS_SETTING] == f"org.one,{PLUGIN}"
    assert warm[JARS_SETTING] == f"/a.jar,/b.jar,{JAR}"
    assert warm["spark.executorEnv.GESSCALE_WARM_UP_MODULES"] == "my_job,my_other"
    assert warm[DAEMON_SETTING] == DAEMON


def test_a_daemon_of_the_job_stays():
    assert DAEMON_SETTING not in warm_new_executors(Builder(python_daemon_module="mine"))._options


def test_a_setting_turns_it_off():
    assert warm_new_executors(Builder(gesscale_warmUp="false"))._options == {"spark.gesscale.warmUp": "false"}


def test_jars_that_would_hide_ours_are_said_and_nothing_is_changed(monkeypatch, caplog):
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "--jars /a.jar pyspark-shell")
    assert warm_new_executors(Builder())._options == {}
    assert "give the jars as spark.jars" in caplog.text
    assert "new executors stay cold" in caplog.text
