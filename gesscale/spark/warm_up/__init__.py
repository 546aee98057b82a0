"""A new executor is warm before Spark gives it tasks: its JVM and its Python worker.

Spark initialises an executor's plugins before it offers the executor's cores. The plugin in ``warm_up.jar`` uses that
time. `gesscale.spark.warm_up.daemon` has Python's libraries imported before it forks workers.
"""

import logging
import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gesscale.spark.scheduler import PLUGIN, PLUGINS_SETTING

JAR = Path(__file__).parent / "warm_up.jar"
JARS_SETTING = "spark.jars"
DAEMON_SETTING = "spark.gesscale.warmUp.daemon"
DAEMON = "gesscale.spark.warm_up.daemon"
#: Nobody waits for an executor that warms up, so a slow node may take its time.
DEFAULT_TIMEOUT_S = 30
MODULES_VARIABLE = "GESSCALE_WARM_UP_MODULES"
#: Set to false, it leaves new executors cold, whatever the job's code says.
SWITCH = "spark.gesscale.warmUp"
_OWN_DAEMON = "spark.python.daemon.module"

_LOG = logging.getLogger("gesscale.spark")


def warm_up_settings(modules: Sequence[str] = (), *, timeout_s: int = DEFAULT_TIMEOUT_S) -> dict[str, str]:
    """Return the Spark settings that have new executors warm up.

    Examples
    --------
    >>> warm_up_settings(["my_job"])["spark.executorEnv.GESSCALE_WARM_UP_MODULES"]
    'my_job'
    """
    settings = {
        PLUGINS_SETTING: PLUGIN,
        JARS_SETTING: str(JAR),
        DAEMON_SETTING: DAEMON,
        "spark.gesscale.warmUp.timeout": f"{timeout_s}s",
    }
    if modules:
        settings[f"spark.executorEnv.{MODULES_VARIABLE}"] = ",".join(modules)
    return settings


def warm_new_executors(builder: Any, modules: Sequence[str] = (), *, timeout_s: int = DEFAULT_TIMEOUT_S) -> Any:
    """Have each new executor warm before its first task; call it before the session exists.

    Where it cannot be had, the reason is logged and nothing is changed: no job fails because of it. The setting
    ``spark.gesscale.warmUp=false`` turns it off.
    """
    from gesscale.spark.placing import SessionSettings

    settings = SessionSettings(builder)
    if settings.get(SWITCH).lower() == "false":
        return builder
    if problem := _problem(settings):
        _LOG.warning("gesscale.spark.warm_new_executors: %s; new executors stay cold", problem)
        return builder
    ours = warm_up_settings(modules, timeout_s=timeout_s)
    for name in (PLUGINS_SETTING, JARS_SETTING):
        theirs = [each for each in settings.get(name).split(",") if each and each != ours[name]]
        ours[name] = ",".join((*theirs, ours[name]))
    if settings.get(_OWN_DAEMON):
        del ours[DAEMON_SETTING]
    for name, value in ours.items():
        builder = builder.config(name, value)
    return builder


def _problem(settings: Any) -> str:
    """Return why the driver's JVM cannot have the jar; empty where it has it now, or will."""
    if settings.jvm is None:
        if "--jars" in shlex.split(os.environ.get("PYSPARK_SUBMIT_ARGS", "")):
            return f"--jars of PYSPARK_SUBMIT_ARGS hides spark.jars; give the jars as spark.jars, without {JAR.name}"
        return ""
    try:  # the JVM of spark-submit runs: its class path grows by its class loader only
        url = settings.jvm.java.io.File(str(JAR)).toURI().toURL()
        settings.jvm.java.lang.Thread.currentThread().getContextClassLoader().addURL(url)
    except Exception as error:  # noqa: BLE001 - the contract: no job fails because of it
        return f"the driver's class loader does not take {JAR.name} ({str(error)[:200]})"
    return ""
