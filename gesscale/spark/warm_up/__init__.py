"""A new executor is warm before Spark gives it tasks: its JVM and its Python worker.

Spark initialises an executor's plugins before it offers the executor's cores. The plugin in ``warm_up.jar`` uses that
time. `gesscale.spark.warm_up.daemon` has Python's libraries imported before it forks workers.
"""

from collections.abc import Sequence
from pathlib import Path

JAR = Path(__file__).parent / "warm_up.jar"
PLUGIN = "gesscale.warmup.WarmUp"
DAEMON = "gesscale.spark.warm_up.daemon"
MODULES_VARIABLE = "GESSCALE_WARM_UP_MODULES"


def warm_up_settings(
    modules: Sequence[str] = (), *, timeout_s: int = 15, jar: Path | str = JAR
) -> dict[str, str]:
    """Return the Spark settings that have new executors warm up.

    Parameters
    ----------
    modules
        Modules of the job that its Python workers import, in addition to pandas and PyArrow.
    timeout_s
        After so long an executor takes tasks, warm or not.
    jar
        Where the jar is, on the driver and on each executor: gesscale must be installed there.

    Examples
    --------
    >>> warm_up_settings(["my_job"])["spark.executorEnv.GESSCALE_WARM_UP_MODULES"]
    'my_job'
    """
    settings = {
        "spark.plugins": PLUGIN,
        "spark.driver.extraClassPath": str(jar),
        "spark.executor.extraClassPath": str(jar),
        "spark.python.daemon.module": DAEMON,
        "spark.gesscale.warmUp.timeout": f"{timeout_s}s",
    }
    if modules:
        settings[f"spark.executorEnv.{MODULES_VARIABLE}"] = ",".join(modules)
    return settings
