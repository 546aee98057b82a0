"""``gesscale arena validate`` and ``refit``: the simulator against measurements."""

from pathlib import Path

import yaml

from gesscale.api_version import API_VERSION
from gesscale.cli.latency_map.reading import plain_errors
from gesscale.cli.output import Output, emit, stderr_console
from gesscale.errors import InputError
from latency_map.pictures.canvas import check_target
from testbed.simulator.figures import read_figures
from testbed.simulator.spark.constants import FOLDER, read_physics
from testbed.simulator.validation.batch_times import BatchErrors, batch_errors
from testbed.simulator.validation.comparison import (
    BUSY,
    RunComparison,
    act_again,
    between_runs,
    compare_run,
    parts_of_readings,
)
from testbed.simulator.validation.fitting import FITTED, held_out_errors
from testbed.simulator.validation.measured_batch import read_readings
from testbed.simulator.validation.picture import ActedRun, draw
from testbed.simulator.validation.recorded_run import read_run
from testbed.simulator.validation.refit import refit as fit_again
from testbed.simulator.validation.tables import readings_tables, run_tables

_PHYSICS = {"map": "map", "groupby": "group-by"}
"""The bundled constants of each query that a file of readings may name."""


def validate_simulator(
    *,
    runs: list[Path] | None,
    readings: Path | None,
    physics: str,
    seeds: int,
    picture: Path | None,
    output: Output,
) -> None:
    """Say how far the simulator is from measurements: batch times, and whole runs acted again."""
    if not runs and readings is None:
        message = "expected something to compare with: --readings FILE, --run FOLDER, or both"
        raise InputError(message)
    if picture is not None:
        with plain_errors():
            check_target(picture)
        if not runs:
            message = "--picture: expected runs to draw; name them by --run FOLDER"
            raise InputError(message)
    measured, held_out = ({}, {}) if readings is None else _compare_readings(readings)
    compared, drawn = _compare_runs(runs or [], physics, seeds)
    between = between_runs([each.run for each in drawn])
    if picture is not None:
        with plain_errors():
            draw(drawn, picture)
        stderr_console.print(f"{picture}: {', '.join(compared)}, recorded and simulated")
    document = {
        "apiVersion": API_VERSION,
        "readings": {"errors": measured, "heldOut": held_out},
        "physics": {"of": physics, "constants": read_physics(physics)} if compared else None,
        "seeds": seeds,
        "runs": compared,
        "betweenRuns": between,
    }
    emit(document, output, [*readings_tables(measured, held_out), *run_tables(compared, between, seeds)])


def refit_constants(*, folders: list[Path], file: Path, about: str, physics: str) -> None:
    """Fit the constants that recorded runs of a real cluster determine, and write each with its origin."""
    before = read_figures(physics, FOLDER)
    runs = [read_run(folder) for folder in folders]
    fitted = fit_again(read_physics(physics), runs)
    figures = {
        name: {"value": each.value, "origin": f"As {physics}: {each.origin}"}
        for name, each in before.figures.items()
    }
    for name, origin in fitted.origins.items():
        figures[name] = {"value": getattr(fitted.physics, name), "origin": origin}
    try:
        file.write_text(
            yaml.safe_dump({"about": about, "figures": figures}, sort_keys=False, width=118), encoding="utf-8"
        )
    except OSError as error:
        message = f"{file}: the constants cannot be written there: {error.strerror}"
        raise InputError(message) from error
    names = ", ".join(run.name for run in runs)
    stderr_console.print(f"{file}: {len(fitted.origins)} constants by {names}, the others as {physics}")


def _compare_readings(
    file: Path,
) -> tuple[dict[str, dict[str, BatchErrors]], dict[str, dict[str, BatchErrors]]]:
    """Return the errors of each query's bundled constants, and of constants fitted without what they predict."""
    known = {query: batches for query, batches in read_readings(file).items() if query in _PHYSICS}
    if not known:
        message = f"{file}: expected a column query with {' or '.join(_PHYSICS)}, got neither"
        raise InputError(message)
    errors, held_out = {}, {}
    for query, batches in known.items():
        physics = read_physics(_PHYSICS[query])
        parts = parts_of_readings(batches)
        errors[query] = {label: batch_errors(physics, part) for label, part in parts.items() if part}
        calm = [batch for batch in batches if batch.host_cpu < BUSY]
        held_out[query] = held_out_errors(physics, FITTED[query], calm)
    return errors, held_out


def _compare_runs(
    folders: list[Path], physics_name: str, seeds: int
) -> tuple[dict[str, RunComparison], list[ActedRun]]:
    compared: dict[str, RunComparison] = {}
    drawn = []
    for folder in folders:
        run = read_run(folder)
        if run.name in compared:
            message = f"--run {folder}: expected folders of different names, got two of {run.name!r}"
            raise InputError(message)
        physics = read_physics(physics_name)
        acted = act_again(run, physics, seeds)
        compared[run.name] = compare_run(run, physics, acted)
        drawn.append(ActedRun(run=run, simulated=acted))
    return compared, drawn
