"""``gesscale arena validate`` and ``refit``: the simulator against measurements."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gesscale.api_version import API_VERSION
from gesscale.cli.output import Output, OutputOption, emit, stderr_console, table
from gesscale.errors import InputError

if TYPE_CHECKING:
    from rich.table import Table

    from testbed.simulator.validation.batches import BatchErrors, Errors
    from testbed.simulator.validation.comparison import FigureSpread, RunComparison, TimelineErrors
    from testbed.simulator.validation.recorded_run import RecordedRun

_PHYSICS = {"map": "map", "groupby": "group-by"}
"""The bundled constants of each query that a file of readings may name."""

_TOTALS = {
    "processed_rows": "rows processed",
    "batch_time_s": "batch time, mean, s",
    "backlog_rows": "backlog, mean, rows",
    "backlog_peak_rows": "backlog, most, rows",
    "serving_s": "order to served, mean, s",
}
_DISTANCES = {
    "throughput_pct": "throughput per 10 s, %",
    "throughput_minute_pct": "throughput per minute, %",
    "batch_time_pct": "batch time per second, %",
    "batch_time_minute_pct": "batch time per minute, %",
    "backlog_pct": "backlog, % of its peak",
    "row_delay_s": "end of a row, s",
}
_ERRORS = ("T mean", "worst", "bias", "R mean", "worst", "bias")
_APART = "Recorded runs from each other: mean absolute difference at the same instants"
_OF = "errors in % of batch time T and throughput R"


RunsOption = Annotated[
    list[Path] | None,
    typer.Option("--run", metavar="FOLDER", help="A recorded run, as the demo leaves it; repeatable."),
]


def validate(
    runs: RunsOption = None,
    readings: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.csv",
            help="Measured batch times: query (map or groupby), replicas, nd_max_ms, batch_rows, tasks, batch_ms, "
            "host_cpu.",
        ),
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
    from testbed.simulator.spark.constants import read_physics
    from testbed.simulator.validation.comparison import between_runs

    measured, held_out = ({}, {}) if readings is None else _compare_readings(readings)
    compared, recorded = _compare_runs(runs or [], physics, seeds)
    between = between_runs(recorded)
    document = {
        "apiVersion": API_VERSION,
        "readings": {"errors": measured, "heldOut": held_out},
        "physics": {"of": physics, "constants": read_physics(physics)} if compared else None,
        "seeds": seeds,
        "runs": compared,
        "betweenRuns": between,
    }
    emit(document, output, [*_readings_tables(measured, held_out), *_run_tables(compared, between, seeds)])


def refit(
    folders: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Folders of recorded runs.")],
    file: Annotated[Path, typer.Option("--to", metavar="FILE", help="The file of constants to write.")],
    about: Annotated[str, typer.Option(help="What the constants describe, in a sentence.")],
    physics: Annotated[
        str, typer.Option(help="Constants that runs do not determine are taken from here: a name or a file.")
    ] = "map",
) -> None:
    """Fit the constants that recorded runs of a real cluster determine, and write each with its origin."""
    import yaml

    from testbed.simulator.figures import read_figures
    from testbed.simulator.spark.constants import FOLDER, read_physics
    from testbed.simulator.validation.recorded_run import read_run
    from testbed.simulator.validation.refit import refit as fit_again

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
) -> tuple[dict[str, dict[str, "BatchErrors"]], dict[str, dict[str, "BatchErrors"]]]:
    """Return the errors of each query's bundled constants, and of constants fitted without what they predict."""
    from testbed.simulator.spark.constants import read_physics
    from testbed.simulator.validation.batches import batch_errors, read_readings
    from testbed.simulator.validation.comparison import BUSY, parts_of_readings
    from testbed.simulator.validation.refit import FITTED, held_out_errors

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
) -> tuple[dict[str, "RunComparison"], list["RecordedRun"]]:
    from testbed.simulator.spark.constants import read_physics
    from testbed.simulator.validation.comparison import act_again, compare_run
    from testbed.simulator.validation.recorded_run import read_run

    compared: dict[str, RunComparison] = {}
    recorded = []
    for folder in folders:
        run = read_run(folder)
        if run.name in compared:
            message = f"--run {folder}: expected folders of different names, got two of {run.name!r}"
            raise InputError(message)
        physics = read_physics(physics_name)
        compared[run.name] = compare_run(run, physics, act_again(run, physics, seeds))
        recorded.append(run)
    return compared, recorded


def _readings_tables(
    errors: Mapping[str, Mapping[str, "BatchErrors"]], held_out: Mapping[str, Mapping[str, "BatchErrors"]]
) -> list["Table"]:
    """Return what readings say; nothing without any."""
    if not errors:
        return []
    return [
        _errors_table(f"Readings against the bundled constants: {_OF}", ("query", "of"), errors),
        _errors_table(
            f"Readings predicted by constants fitted without them: {_OF}",
            ("query", "without"),
            held_out,
        ),
    ]


def _run_tables(
    compared: Mapping[str, "RunComparison"], between: Mapping[str, "TimelineErrors"], seeds: int
) -> list["Table"]:
    """Return what recorded runs say; nothing without any."""
    if not compared:
        return []
    warm = {name: each.warm_batches for name, each in compared.items()}
    title = f"Runs acted again, {seeds} seeds: "
    totals = [
        (name, _TOTALS[key], total.recorded, *_cells(total.simulated), _rounded(total.error_pct))
        for name, each in compared.items()
        for key, total in each.totals.items()
    ]
    apart = [
        (pair, _DISTANCES[key], figure)
        for pair, each in between.items()
        for key, figure in asdict(each).items()
    ]
    distances = [
        (name, _DISTANCES[key], *_cells(distance.from_record), *_cells(distance.between_seeds))
        for name, each in compared.items()
        for key, distance in each.distances.items()
    ]
    return [
        _errors_table(f"Warm batches, each by its own rows and nodes: {_OF}", ("run", "of"), warm),
        table(
            f"{title}the whole run",
            ("run", "of", "recorded", "simulated", "range", "error, %"),
            totals,
        ),
        table(
            f"{title}mean absolute difference at the same instants",
            ("run", "of", "from record", "range", "by chance", "range"),
            distances,
        ),
        *([table(_APART, ("runs", "of", "apart"), apart)] if apart else []),
    ]


def _errors_table(
    title: str, heads: tuple[str, str], errors: Mapping[str, Mapping[str, "BatchErrors"]]
) -> "Table":
    rows = [
        (
            name,
            label,
            each.compared,
            *(figure for of in (each.batch_time, each.throughput) for figure in _figures(of)),
        )
        for name, parts in errors.items()
        for label, each in parts.items()
    ]
    return table(title, (*heads, "count", *_ERRORS), rows)


def _figures(errors: "Errors") -> tuple[float, ...]:
    return tuple(round(figure, 1) for figure in (errors.mean_pct, errors.worst_pct, errors.bias_pct))


def _cells(spread: "FigureSpread | None") -> tuple[float | None, str | None]:
    if spread is None:
        return None, None
    return spread.median, f"{_short(spread.least)}–{_short(spread.greatest)}"


def _rounded(figure: float | None) -> float | None:
    return None if figure is None else round(figure, 2)


def _short(value: float) -> str:
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"
