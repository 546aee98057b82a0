"""The Spark session of the pipeline's programs; spark-submit or the environment may set its master."""

import os
import sys
from typing import Any

_DEFAULTS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "WARN",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.streaming.noDataProgressEventInterval": "2s",
}


def open_session(app: str, *, jars: str = "") -> Any:
    """Open a session: what spark-submit or PYSPARK_SUBMIT_ARGS say holds, ``local[2]`` without them.

    Parameters
    ----------
    app
        The application's name.
    jars
        Further jars, separated by commas.

    Returns
    -------
    SparkSession
        Of this process; stop it at the end.
    """
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # else the workers take any python3 of the PATH
    if not os.environ.keys() & {"PYSPARK_SUBMIT_ARGS", "PYSPARK_GATEWAY_PORT"}:
        os.environ["PYSPARK_SUBMIT_ARGS"] = (
            "--master local[2] --conf spark.ui.showConsoleProgress=false pyspark-shell"
        )
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    SparkContext._ensure_initialized()
    conf = SparkConf().setAppName(app)
    for name, value in _DEFAULTS.items():
        conf.setIfMissing(name, value)
    if jars:
        outside = conf.get("spark.jars", "")
        conf.set("spark.jars", f"{outside},{jars}" if outside else jars)
    return SparkSession.builder.config(conf=conf).getOrCreate()
