"""Checks of this machine: Python, Java, Spark."""

import os
import platform
import re
import shutil
import subprocess
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from gesscale.common.errors import Problem
from gesscale.doctor.check import Check, failed
from gesscale.errors import ClusterError
from gesscale.spark.versions import acting_problem, attach_problem

#: Oldest Java of all versions of Spark that are supported.
OLDEST_JAVA = 17
_JAVA_TIMEOUT_S = 60.0


def check_machine() -> Iterator[Check]:
    """Check Python, and Spark and its Java if PySpark is installed here."""
    yield Check("python", platform.python_version())
    try:
        spark = version("pyspark")
    except PackageNotFoundError:
        yield Check("spark", "not installed here; only a job needs it")
        return
    problem = attach_problem(spark) or acting_problem(spark)
    yield failed("spark", problem, is_warning=True) if problem else Check("spark", spark)
    yield _check_java()


def java_program() -> str:
    """Return the Java program: the one of JAVA_HOME, otherwise the one on PATH."""
    home = os.environ.get("JAVA_HOME")
    program = shutil.which("java", path=str(Path(home) / "bin")) if home else shutil.which("java")
    if program is None:
        raise ClusterError("java-missing", searched=f"JAVA_HOME={home}" if home else "PATH")
    return program


def java_release(text: str) -> int | None:
    """Return the release of Java in what ``java -version`` prints; None if it has none.

    Examples
    --------
    >>> java_release('openjdk version "17.0.15" 2025-04-15'), java_release('java version "1.8.0_402"')
    (17, 8)
    """
    found = re.search(r'version "(?:1\.)?(\d+)', text)
    return int(found[1]) if found else None


def _check_java() -> Check:
    try:
        program = java_program()
        done = subprocess.run(
            [program, "-version"], capture_output=True, text=True, timeout=_JAVA_TIMEOUT_S, check=False
        )
        text, release = done.stderr + done.stdout, java_release(done.stderr + done.stdout)
    except ClusterError as error:
        return failed("java", error.problem)
    except (OSError, subprocess.TimeoutExpired) as error:
        text, release = str(error), None
    if release is None:
        return failed("java", Problem("java-unusable", {"source": program, "cause": " ".join(text.split())[:200]}))
    if release < OLDEST_JAVA:
        return failed("java", Problem("java-too-old", {"source": program, "release": release, "oldest": OLDEST_JAVA}))
    return Check("java", f"{release}, {program}")
