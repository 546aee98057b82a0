"""The Spark readings that both laws are judged by."""

import csv
from collections.abc import Callable
from pathlib import Path

import pytest

from perfmodel import Reading

READINGS = Path(__file__).parents[2] / "data" / "spark_saturation_readings.csv"


@pytest.fixture
def spark() -> Callable[[str], list[Reading]]:
    """Readings of one query at B = 12,000, one task per replica, on a host that was not overloaded."""

    def chosen(query: str) -> list[Reading]:
        with READINGS.open(newline="") as file:
            return [
                Reading(
                    replicas=int(row["replicas"]),
                    nd_max_ms=float(row["nd_max_ms"]),
                    rows_per_s=float(row["mst_rows_per_s"]),
                    batch_rows=float(row["batch_rows"]),
                )
                for row in csv.DictReader(file)
                if row["query"] == query
                and row["batch_rows"] == "12000"
                and row["tasks"] == row["replicas"]
                and float(row["host_cpu"]) < 0.9
            ]

    return chosen
