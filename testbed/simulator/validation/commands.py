"""``gesscale arena validate`` and ``refit``: the simulator against measurements."""

import csv
import statistics
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Annotated

import typer
import yaml

from gesscale.cli.output import API_VERSION, Output, emit, table, talk
from gesscale.errors import InputError
from testbed.simulator.figures import read_figures
from testbed.simulator.spark.constants import FOLDER, SparkPhysics, read_physics
from testbed.simulator.validation.batch_times import (
    BatchErrors,
    batch_errors,
    of_readings,
    of_run,
)
from testbed.simulator.validation.recorded_run import RecordedRun, read_run
from testbed.simulator.validation.reenactment import CourseErrors, course_errors, reenact
from testbed.simulator.validation.refit import CALM_S
from testbed.simulator.validation.refit import refit as fit_again

_BUSY = 0.9
_QUERIES = {"map": "map", "groupby": "group-by"}

OutputOption = Annotated[Output, typer.Option("--output", "-o", help="How to write the result.")]
RunsOption = Annotated[
    list[Path] | None,
    typer.Option("--run", help="Folder of a recorded run, as the demo leaves it; repeatable."),
]


def validate(
    runs: RunsOption = None,
    readings: Annotated[
        Path | None,
        typer.Option(help="CSV of measured batch times: query, replicas, nd_max_ms, batch_ms, ..."),
    ] = None,
    physics: Annotated[
        str, typer.Option(help="Constants of the recorded runs' query: a name or a file.")
    ] = "local-cluster",
    seeds: Annotated[int, typer.Option(min=1, max=1000, help="How often each run is acted again.")] = 20,
    output: OutputOption = Output.TABLE,
) -> None:
    """Say how far the simulator is from measurements: batch times, and whole runs acted again."""
    if not runs and readings is None:
        message = "expected something to compare with: --readings FILE, --run FOLDER, or both"
        raise InputError(message)
    measured = {} if readings is None else _compared_readings(readings)
    acted = {}
    for folder in runs or []:
        run = read_run(folder)
        acted[run.name] = _compared_run(run, read_physics(physics), seeds)
    document = {"apiVersion": API_VERSION, "physics": physics, "readings": measured, "runs": acted}
    tables = []
    if measured:
        columns = ("batches of", "compared", "mean error, %", "worst, %", "bias, %")
        rows = [(name, e.count, e.mean_pct, e.max_pct, e.bias_pct) for name, e in measured.items()]
        tables.append(table("Batch times by the physics, against measured ones", columns, rows))
    if acted:
        spreads = [
            (name, key, *spread.values()) for name, told in acted.items() for key, spread in told.items()
        ]
        title = f"Recorded runs acted again, {seeds} seeds: difference in per cent"
        tables.append(table(title, ("run", "of", "median", "least", "greatest"), spreads))
    emit(document, output, tables)


def refit(
    folders: Annotated[list[Path], typer.Argument(help="Folders of recorded runs.")],
    file: Annotated[Path, typer.Option("--file", "-f", help="The file of constants to write.")],
    about: Annotated[str, typer.Option(help="What the constants describe, in a sentence.")],
    physics: Annotated[str, typer.Option(help="Constants to begin from: a name or a file.")] = "map",
) -> None:
    """Fit the constants that recorded runs of a real cluster tell, and write them with where they come from."""
    before = read_figures(physics, FOLDER)
    runs = [read_run(folder) for folder in folders]
    fitted = fit_again(read_physics(physics), runs)
    trigger_s = runs[0].trigger_s
    figures = {
        name: {"value": each.value, "origin": f"That of {physics}. {each.origin}"}
        for name, each in before.figures.items()
    }
    for name, origin in fitted.origins.items():
        figures[name] = {"value": getattr(fitted.physics, name), "origin": origin}
    figures["trigger_s"] = {
        "value": trigger_s,
        "origin": f"Setting of {', '.join(run.name for run in runs)}.",
    }
    file.write_text(yaml.safe_dump({"about": about, "figures": figures}, sort_keys=False, width=118))
    talk.print(f"{len(fitted.origins)} constants fitted to {len(runs)} runs are in {file}")


def _compared_readings(file: Path) -> dict[str, BatchErrors]:
    try:
        with file.open(newline="", encoding="utf-8") as stream:
            rows = list(csv.DictReader(stream))
    except UnicodeDecodeError as error:
        message = f"{file}: expected a CSV file in UTF-8, got bytes that are none"
        raise InputError(message) from error
    compared = {}
    for query in sorted({row.get("query") or "" for row in rows} & {*_QUERIES}):
        batches = of_readings(rows, query, file)
        physics = read_physics(_QUERIES[query])
        calm = [batch for batch in batches if batch.host_cpu < _BUSY]
        compared[f"{query}, all"] = batch_errors(physics, batches)
        compared[f"{query}, machine below {100 * _BUSY:.0f} % CPU"] = batch_errors(physics, calm)
    if not compared:
        message = f"{file}: expected a column query with {' or '.join(_QUERIES)}, got neither"
        raise InputError(message)
    return compared


def _compared_run(run: RecordedRun, physics: SparkPhysics, seeds: int) -> dict[str, dict[str, float]]:
    warm = batch_errors(physics, of_run(run, from_s=CALM_S))
    courses = [course_errors(run.batches, reenact(run, physics, seed=seed)) for seed in range(seeds)]
    told = {
        "each warm batch, mean": {"median": warm.mean_pct, "least": warm.mean_pct, "greatest": warm.mean_pct}
    }
    for name in (field.name for field in fields(CourseErrors)):
        values = [getattr(course, name) for course in courses]
        told[name.removesuffix("_pct").replace("_", " ")] = _spread(values)
    return told


def _spread(values: Sequence[float]) -> dict[str, float]:
    return {"median": statistics.median(values), "least": min(values), "greatest": max(values)}
