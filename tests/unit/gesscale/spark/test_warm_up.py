"""The settings of the warm-up, and its daemon, which survives failed imports."""

import pytest
from refusals import logged_codes

from gesscale.spark import warm_new_executors
from gesscale.spark.warm_up import DAEMON, DAEMON_SETTING, JAR, JARS_SETTING, PLUGIN, PLUGINS_SETTING
from gesscale.spark.warm_up.daemon import import_all


def test_a_failed_import_is_reported_and_skipped(capfd: pytest.CaptureFixture[str]) -> None:
    import_all(["no_such_module", "json"])
    written = capfd.readouterr()
    assert written.out == ""  # the channel of the daemon to Spark
    assert "no_such_module" in written.err
    assert "json" not in written.err


class Builder:
    """The used part of a session builder."""

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


def test_overridden_jars_are_reported_and_nothing_is_changed(monkeypatch, caplog):
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "--jars /a.jar pyspark-shell")
    assert warm_new_executors(Builder())._options == {}
    assert logged_codes(caplog.text) == ["warmup-jars-overridden"]
