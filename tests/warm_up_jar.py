"""Builds ``warm_up.jar`` from its source, reproducibly, with a JDK 17.

    python tests/warm_up_jar.py

The jar is in the tree, so its users need no compiler; a test builds it again and compares the bytes.
"""

import shutil
import subprocess
import sys
import tempfile
import zipfile
from importlib.util import find_spec
from pathlib import Path

from gesscale.common.errors import InputError
from gesscale.spark.warm_up import JAR

SOURCES = JAR.parent / "java"
_EPOCH = (1980, 1, 1, 0, 0, 0)
_TIMEOUT_S = 120


def build(jar: Path) -> None:
    """Compile the source against PySpark's jars."""
    compiler, spark = shutil.which("javac"), find_spec("pyspark")
    if compiler is None or spark is None or spark.origin is None:
        message = "the warm-up's jar needs javac 17 (apt-get install openjdk-17-jdk-headless) and PySpark"
        raise InputError(message)
    with tempfile.TemporaryDirectory() as folder:
        command = (
            *(compiler, "--release", "17", "-g:none", "-nowarn", "-proc:none", "-implicit:none", "-d", folder),
            *("-cp", str(Path(spark.origin).parent / "jars" / "*")),
            *(str(source) for source in sorted(SOURCES.rglob("*.java"))),
        )
        done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False)
        if done.returncode:
            message = f"javac rejected {SOURCES}: {done.stderr[:2000]}"
            raise InputError(message)
        made = Path(folder) / "made.jar"
        with zipfile.ZipFile(made, "w", zipfile.ZIP_STORED) as archive:
            for path in sorted(Path(folder).rglob("*.class")):
                entry = zipfile.ZipInfo(path.relative_to(folder).as_posix(), _EPOCH)
                archive.writestr(entry, path.read_bytes())
        shutil.copy(made, jar.with_suffix(".new"))
        jar.with_suffix(".new").replace(jar)  # a JVM may have the old file open


if __name__ == "__main__":
    build(Path(sys.argv[1]) if len(sys.argv) > 1 else JAR)
