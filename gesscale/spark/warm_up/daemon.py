"""PySpark's daemon with the libraries of the workers already imported, so that forked workers have them at once.

Spark starts the module that ``spark.python.daemon.module`` names. A failed import is logged on stderr and skipped; the
worker imports that module when it needs it.
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
    """Import modules; report failures on stderr, because stdout is the daemon's channel to Spark."""
    for name in modules:
        try:
            importlib.import_module(name)
        except Exception:  # noqa: BLE001 - the warm-up must never stop an executor
            print(  # noqa: T201 - stderr of the executor
                f"gesscale: module {name} was not imported: {traceback.format_exc(limit=1)}", file=sys.stderr
            )


def main() -> None:
    """Import the libraries, then run PySpark's daemon."""
    from pyspark import daemon

    given = os.environ.get(MODULES_VARIABLE, "")
    import_all((*LIBRARIES, *(name.strip() for name in given.split(",") if name.strip())))
    daemon.manager()


if __name__ == "__main__":
    main()
