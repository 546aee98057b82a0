"""The settings that a session will be made with: those of its builder, of spark-submit, and of the environment."""

import os
import re
import shlex
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any


class SessionSettings:
    """What the session will be made with, without starting its JVM: that would settle its memory and jars.

    Parameters
    ----------
    builder
        ``SparkSession.builder``.

    Attributes
    ----------
    jvm
        Spark's, where it runs already; else None.
    """

    def __init__(self, builder: Any) -> None:
        from pyspark import SparkConf, SparkContext

        self._options: Mapping[str, Any] = builder._options
        if SparkContext._jvm is None and "PYSPARK_GATEWAY_PORT" in os.environ:
            SparkContext._ensure_initialized()  # spark-submit's JVM: it runs already
        self.jvm = SparkContext._jvm
        self._outside: Mapping[str, str] = (
            submit_settings(os.environ.get("PYSPARK_SUBMIT_ARGS", ""))
            if SparkContext._jvm is None
            else dict(SparkConf().getAll())
        )

    def get(self, name: str) -> str:
        """Return a setting; empty where it is not set."""
        return str(self._options.get(name) or self._outside.get(name) or "")


def submit_settings(arguments: str) -> dict[str, str]:
    """Return the settings among the arguments of spark-submit; the properties file that they name is read too.

    Examples
    --------
    >>> submit_settings("--master local[2] --conf spark.a=b=c --conf=spark.d=e pyspark-shell")
    {'spark.master': 'local[2]', 'spark.a': 'b=c', 'spark.d': 'e'}
    """
    words = [part for word in shlex.split(arguments) for part in _split_option(word)]
    filed: dict[str, str] = {}
    found: dict[str, str] = {}
    for option, value in pairwise(words):
        if option == "--master":
            found["spark.master"] = value
        elif option == "--properties-file":
            filed = _properties(Path(value))
        elif option in {"--conf", "-c"} and "=" in value:
            name, _, text = value.partition("=")
            found[name] = text
    return filed | found


def _properties(path: Path) -> dict[str, str]:
    """Read a properties file as Spark writes them; one that cannot be read is spark-submit's to complain about."""
    try:
        lines = [line.strip() for line in path.read_text("utf-8").splitlines()]
    except (OSError, UnicodeDecodeError):
        return {}
    pairs = [re.split(r"\s*[=:]\s*|\s+", line, maxsplit=1) for line in lines if line and line[0] not in "#!"]
    return {pair[0]: pair[1].strip() for pair in pairs if len(pair) == 2}


def _split_option(word: str) -> list[str]:
    option, equals, value = word.partition("=")
    return [option, value] if equals and option in {"--conf", "--master", "--properties-file"} else [word]
