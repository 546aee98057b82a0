"""PySpark's daemon with the workers' libraries imported, so that a forked worker has them at once.

Spark starts it where ``spark.python.daemon.module`` names it. A module that cannot be imported is said in the
executor's log and left out; the worker imports it when it needs it.
"""

import importlib
import os
import sys
import traceback
from collections.abc import Iterable

from gesscale.spark.warm_up import MODULES_VARIABLE

LIBRARIES = (
    "pyspark.worker",
    "pandas",
    "pyarrow",
    "pyspark.sql.pandas.serializers",
    "pyspark.sql.pandas.types",
    "pyspark.sql.worker.plan_data_source_read",
)


def import_all(modules: Iterable[str]) -> None:
    """Import what can be imported; say on stderr what cannot. Standard output is the daemon's line to Spark."""
    for name in modules:
        try:
            importlib.import_module(name)
        except Exception:  # noqa: BLE001 - a warm-up never stops an executor
            print(f"gesscale: {name} is not warm: {traceback.format_exc(limit=1)}", file=sys.stderr)  # noqa: T201


def main() -> None:
    """Import, then be PySpark's daemon."""
    from pyspark import daemon

    given = os.environ.get(MODULES_VARIABLE, "")
    import_all((*LIBRARIES, *(name.strip() for name in given.split(",") if name.strip())))
    daemon.manager()


if __name__ == "__main__":
    main()
