"""Draws the pictures of ``docs/explanation/models.md`` from data that is here: ``python docs/pictures/models.py``."""

import csv
import math
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from gesscale.cli.model_readings import fitted, point_of
from perfmodel import Estimate, FittedBatchTime, FittedEq1, Reading

ROOT = Path(__file__).parents[2]
FOLDER = Path(__file__).parent
COLOURS = ("#0b6e8a", "#d1662a", "#6b8f2a")
DISTORTED_CPU = 0.9
"""Share of the host's cores from which its readings are distorted; see tests/data/README.md."""


def readings(**wanted: float) -> list[Reading]:
    """Return the measured points of the query that only maps, without distorted ones."""
    with (ROOT / "tests/data/spark_saturation_readings.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if float(row["host_cpu"]) < DISTORTED_CPU]
    return [
        Reading(
            replicas=int(row["replicas"]),
            nd_max_ms=float(row["nd_max_ms"]),
            rows_per_s=float(row["mst_rows_per_s"]),
            batch_rows=float(row["batch_rows"]),
        )
        for row in rows
        if row["query"] == "map" and all(float(row[name]) == value for name, value in wanted.items())
    ]


def axes(title: str, x: str, y: str, at: Axes) -> Axes:
    """Name what a picture shows."""
    at.set_title(title, fontsize=10, loc="left")
    at.set_xlabel(x)
    at.set_ylabel(y)
    at.spines[["top", "right"]].set_visible(False)
    at.set_ylim(bottom=0)
    return at


def draw_eq1() -> Figure:
    """Draw Eq. 1 by replicas and by delay, with its interval."""
    measured = readings(batch_rows=12000, tasks=12)
    model = fitted(measured, "eq1").used
    figure = Figure(figsize=(9, 3.4), layout="constrained")
    by_replicas, by_delay = figure.subplots(1, 2, sharey=True)
    for colour, delay in zip(COLOURS, (0.0, 150.0), strict=False):
        points = [each for each in measured if each.nd_max_ms == delay]
        by_replicas.plot([each.replicas for each in points], [each.rows_per_s for each in points], "o", color=colour)
        _band(
            by_replicas, np.linspace(1, 6, 26), colour, f"NDmax {delay:.0f} ms",
            [_predicted(model, n, delay) for n in np.linspace(1, 6, 26)],
        )  # fmt: skip
    points = [each for each in measured if each.replicas == 3]
    by_delay.plot([each.nd_max_ms for each in points], [each.rows_per_s for each in points], "o", color=COLOURS[2])
    delays = np.linspace(0, 300, 31)
    _band(
        by_delay, delays, COLOURS[2], "3 replicas",
        [_predicted(model, 3, each) for each in delays],
    )  # fmt: skip
    axes("Each replica more brings a little less", "replicas n", "MST, rows/s", by_replicas).legend()
    axes("Each millisecond costs the same", "NDmax, ms", "", by_delay).legend()
    return figure


def draw_batch_time() -> Figure:
    """Draw the law of batch times: how long a batch takes, and what that means for the cap."""
    measured = readings(tasks=12)
    model = fitted(measured, "batch-time").used
    figure = Figure(figsize=(9, 3.4), layout="constrained")
    duration, capacity = figure.subplots(1, 2)
    each_one = np.linspace(500, 12000, 24)
    for colour, delay in zip(COLOURS, (0.0, 150.0), strict=False):
        points = [each for each in measured if each.nd_max_ms == delay]
        duration.plot(
            [(each.batch_rows or 0) / each.replicas for each in points],
            [(each.batch_rows or 0) / each.rows_per_s for each in points],
            "o", color=colour,
        )  # fmt: skip
        mid = [rows / _predicted(model, 1, delay, rows).mid for rows in each_one]
        duration.plot(each_one, mid, color=colour, label=f"NDmax {delay:.0f} ms")
    caps = np.linspace(1000, 24000, 24)
    for colour, delay in zip(COLOURS, (0.0, 150.0), strict=False):
        _band(
            capacity, caps, colour, f"3 replicas, NDmax {delay:.0f} ms",
            [_predicted(model, 3, delay, rows) for rows in caps],
        )  # fmt: skip
        points = [each for each in measured if each.nd_max_ms == delay and each.replicas == 3]
        capacity.plot([each.batch_rows for each in points], [each.rows_per_s for each in points], "o", color=colour)
    axes(
        "A batch: a fixed part, the rows, the delay", "rows of the batch per replica, B / n", "T, s", duration
    ).legend()
    axes("Larger batches pay the fixed parts less often", "rows of a batch, B", "MST, rows/s", capacity).legend()
    return figure


def _predicted(
    model: FittedEq1 | FittedBatchTime, n: float, nd_max_ms: float, cap_rows: float | None = None
) -> Estimate:
    return model.predict(point_of(math.ceil(n), nd_max_ms, n, cap_rows)).at(0)


def _band(at: Axes, x: np.ndarray, colour: str, label: str, predicted: list) -> None:
    at.plot(x, [each.mid for each in predicted], color=colour, label=label)
    at.fill_between(
        x, [each.low for each in predicted], [each.high for each in predicted], color=colour, alpha=0.15, lw=0
    )


if __name__ == "__main__":
    mpl.rcParams["font.size"] = 9
    for file, draw in (("eq1", draw_eq1), ("batch_time", draw_batch_time)):
        draw().savefig(FOLDER / f"model_{file}.png", dpi=120, metadata={"Software": None})
