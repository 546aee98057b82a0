"""Turn the warm-up on for a session that does not exist yet, in addition to the jars and plugins that it has."""

import logging
import os
import shlex
from collections.abc import Sequence
from typing import Any

from gesscale.spark.session_settings import SessionSettings
from gesscale.spark.warm_up import (
    DAEMON_SETTING,
    DEFAULT_TIMEOUT_S,
    JAR,
    JARS_SETTING,
    PLUGINS_SETTING,
    warm_up_settings,
)

_LOG = logging.getLogger("gesscale.spark")
SWITCH = "spark.gesscale.warmUp"
"""Set to false, it leaves new executors cold, whatever the job's code says."""
_OWN_DAEMON = "spark.python.daemon.module"


def warm_new_executors(
    builder: Any, modules: Sequence[str] = (), *, timeout_s: int = DEFAULT_TIMEOUT_S
) -> Any:
    """Have each new executor warm before its first task; call it before the session exists.

    Where it cannot be had, the reason is logged and nothing is changed: no job fails because of it. The setting
    ``spark.gesscale.warmUp=false`` turns it off.

    Parameters
    ----------
    builder
        ``SparkSession.builder`` with the job's settings.
    modules
        Modules of the job that its Python functions import, in addition to pandas and PyArrow.
    timeout_s
        After so long an executor takes tasks, warm or not.

    Returns
    -------
    SparkSession.Builder
        The same one.
    """
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


def _problem(settings: SessionSettings) -> str:
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
