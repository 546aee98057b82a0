"""Warms up new executors, their JVM and their Python worker, before Spark schedules tasks on them.

Spark initialises the plugins of an executor before it offers the executor's cores. The plugin in ``warm_up.jar`` uses
that time. `gesscale.spark.warm_up.daemon` imports Python libraries before it forks workers.
"""

import logging
import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gesscale.common.errors import Problem
from gesscale.common.logs import log_problem
from gesscale.spark.scheduler import PLUGIN, PLUGINS_SETTING

JAR = Path(__file__).parent / "warm_up.jar"
JARS_SETTING = "spark.jars"
DAEMON_SETTING = "spark.gesscale.warmUp.daemon"
DAEMON = "gesscale.spark.warm_up.daemon"
#: Generous, because no batch waits for an executor that warms up.
DEFAULT_TIMEOUT_S = 30
MODULES_VARIABLE = "GESSCALE_WARM_UP_MODULES"
#: Set to false, it disables the warm-up.
SWITCH = "spark.gesscale.warmUp"
_OWN_DAEMON = "spark.python.daemon.module"

_LOG = logging.getLogger("gesscale.spark")


def warm_up_settings(modules: Sequence[str] = (), *, timeout_s: int = DEFAULT_TIMEOUT_S) -> dict[str, str]:
    """Return the Spark settings that enable the warm-up of new executors.

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
    """Warm up each new executor before its first task; call it before the session exists.

    If that is impossible, a warning is logged and nothing is changed. ``spark.gesscale.warmUp=false`` disables it.
    """
    from gesscale.spark.session_setup import SessionSettings

    settings = SessionSettings(builder)
    if settings.get(SWITCH).lower() == "false":
        return builder
    if problem := _problem(settings):
        log_problem(_LOG, logging.WARNING, problem.code, **problem.fields)
        return builder
    added = warm_up_settings(modules, timeout_s=timeout_s)
    for name in (PLUGINS_SETTING, JARS_SETTING):
        others = [each for each in settings.get(name).split(",") if each and each != added[name]]
        added[name] = ",".join((*others, added[name]))
    if settings.get(_OWN_DAEMON):
        del added[DAEMON_SETTING]
    for name, value in added.items():
        builder = builder.config(name, value)
    return builder


def _problem(settings: Any) -> Problem | None:
    """Return the problem that keeps the driver's JVM from loading the jar; None if it has loaded it, or will."""
    if settings.jvm is None:
        if "--jars" in shlex.split(os.environ.get("PYSPARK_SUBMIT_ARGS", "")):
            return Problem("warmup-jars-overridden", {"jar": JAR.name})
        return None
    try:  # the JVM of spark-submit runs already, so only its class loader can load the jar
        url = settings.jvm.java.io.File(str(JAR)).toURI().toURL()
        settings.jvm.java.lang.Thread.currentThread().getContextClassLoader().addURL(url)
    except Exception as error:  # noqa: BLE001 - the warm-up must never fail a job
        return Problem("warmup-jar-rejected", {"jar": JAR.name, "cause": str(error)[:200]})
    return None
