"""A new executor is warm before Spark gives it tasks: its JVM and its Python worker.

Spark initialises an executor's plugins before it offers the executor's cores. The plugin in ``warm_up.jar`` uses that
time. `gesscale.spark.warm_up.daemon` has Python's libraries imported before it forks workers.
"""

from collections.abc import Sequence
from pathlib import Path

JAR = Path(__file__).parent / "warm_up.jar"
PLUGIN = "gesscale.warmup.WarmUp"
PLUGINS_SETTING, JARS_SETTING = "spark.plugins", "spark.jars"
DAEMON_SETTING = "spark.gesscale.warmUp.daemon"
WARM_SETTING = "spark.gesscale.warmUp.warm"
"""The driver's setting in which the plugin lists the executors that have ended their warm-up."""
DAEMON = "gesscale.spark.warm_up.daemon"
DEFAULT_TIMEOUT_S = 30
"""Nobody waits for an executor that warms up, so a slow node may take its time."""
MODULES_VARIABLE = "GESSCALE_WARM_UP_MODULES"


def warm_up_settings(modules: Sequence[str] = (), *, timeout_s: int = DEFAULT_TIMEOUT_S) -> dict[str, str]:
    """Return the Spark settings that have new executors warm up.

    Parameters
    ----------
    modules
        Modules of the job that its Python workers import, in addition to pandas and PyArrow.
    timeout_s
        After so long an executor takes tasks, warm or not.

    Returns
    -------
    dict of str to str
        The driver serves the jar to its executors. Where their image lacks gesscale, Spark's own daemon is used.

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
