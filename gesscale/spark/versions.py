"""The versions of Spark on which attaching and acting have been run; measured: docs/reference/spark_versions.md."""

import re

from gesscale.common.errors import Problem

#: Oldest and newest version on which `attach` has served the batches of a real query.
OLDEST, NEWEST = (3, 5), (4, 3)
#: Oldest version on which executors have been placed on real pods.
OLDEST_ACTING = (4, 3)


def attach_problem(version: str) -> Problem | None:
    """Return the warning about a version of Spark that monitoring has not been run on; None if there is none."""
    found = _minor(version)
    if found is None or OLDEST <= found <= NEWEST:
        return None
    return Problem("spark-version-untried", {"version": version, "oldest": _text(OLDEST), "newest": _text(NEWEST)})


def acting_problem(version: str) -> Problem | None:
    """Return why executors are not placed on a version of Spark; None if they are."""
    found = _minor(version)
    if found is None or found >= OLDEST_ACTING:
        return None
    return Problem("spark-version-advice-only", {"version": version, "oldest": _text(OLDEST_ACTING)})


def _minor(version: str) -> tuple[int, int] | None:
    numbers = re.match(r"(\d+)\.(\d+)", version)
    return (int(numbers[1]), int(numbers[2])) if numbers else None


def _text(version: tuple[int, int]) -> str:
    return f"{version[0]}.{version[1]}"
