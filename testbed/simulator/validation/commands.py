"""``gesscale arena validate`` and ``refit``: compare the simulator with recorded runs, and fit it to them."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gesscale.cli.output import Output, OutputOption, emit, stderr_console, table
from gesscale.common import API_VERSION
from gesscale.common.errors import cause_of
from gesscale.errors import InputError

if TYPE_CHECKING:
    from rich.table import Table

    from testbed.simulator.validation.comparison import RunComparison, TimelineErrors
    from testbed.simulator.validation.recorded_run import RecordedRun


def validate(
    runs: Annotated[
        list[Path],
        typer.Option("--run", metavar="FOLDER", help="Folder of a recorded run, such as one of the demo; repeatable."),
    ],
    *,
    physics: Annotated[
        str, typer.Option(help="Physical constants of the recorded query: a name or a file.")
    ] = "local-cluster",
    seeds: Annotated[int, typer.Option(min=1, max=1000, help="Replays of each run.")] = 20,
    output: OutputOption = Output.TABLE,
) -> None:
    """Compare the simulator with recorded runs: batch times, and replays of whole runs."""
    from testbed.simulator.spark.constants import read_physics
    from testbed.simulator.validation.comparison import between_runs

    compared, recorded = _compare_runs(runs, physics, seeds)
    between = between_runs(recorded)
    document = {
        "apiVersion": API_VERSION,
        "physics": {"of": physics, "constants": read_physics(physics)},
        "seeds": seeds,
        "runs": compared,
        "betweenRuns": between,
    }
    emit(document, output, _tables(compared, between, seeds))


def refit(
    folders: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Folders of recorded runs.")],
    file: Annotated[Path, typer.Option("--to", metavar="FILE", help="The file of constants to write.")],
    about: Annotated[str, typer.Option(help="Description of the constants, in a sentence.")],
    physics: Annotated[
        str, typer.Option(help="Source of the constants that runs do not determine: a name or a file.")
    ] = "map",
) -> None:
    """Fit the constants of the simulator that recorded runs determine, and write each with its origin."""
    import yaml

    from testbed.simulator.figures import read_figures
    from testbed.simulator.spark.constants import FOLDER, read_physics
    from testbed.simulator.validation.recorded_run import read_run
    from testbed.simulator.validation.refit import refit as fit_runs

    before = read_figures(physics, FOLDER)
    runs = [read_run(folder) for folder in folders]
    fitted = fit_runs(read_physics(physics), runs)
    figures = {
        name: {"value": each.value, "origin": f"As {physics}: {each.origin}"} for name, each in before.figures.items()
    }
    for name, origin in fitted.origins.items():
        figures[name] = {"value": getattr(fitted.physics, name), "origin": origin}
    try:
        file.write_text(
            yaml.safe_dump({"about": about, "figures": figures}, sort_keys=False, width=118), encoding="utf-8"
        )
    except OSError as error:
        raise InputError("file-unwritable", source=str(file), cause=cause_of(error)) from error
    names = ", ".join(run.name for run in runs)
    stderr_console.print(f"{file}: {len(fitted.origins)} constants fitted to {names}, the others from {physics}")


def _compare_runs(
    folders: list[Path], physics_name: str, seeds: int
) -> tuple[dict[str, "RunComparison"], list["RecordedRun"]]:
    from testbed.simulator.spark.constants import read_physics
    from testbed.simulator.validation.comparison import compare_run, replay_run
    from testbed.simulator.validation.recorded_run import read_run

    compared: dict[str, RunComparison] = {}
    recorded = []
    for folder in folders:
        run = read_run(folder)
        if run.name in compared:
            raise InputError("recorded-run-duplicate", source=f"--run {folder}", name=run.name)
        physics = read_physics(physics_name)
        compared[run.name] = compare_run(run, physics, replay_run(run, physics, seeds))
        recorded.append(run)
    return compared, recorded


def _tables(
    compared: Mapping[str, "RunComparison"], between: Mapping[str, "TimelineErrors"], seeds: int
) -> list["Table"]:
    """Return a table for each part of the comparison that is not empty."""
    replayed = f"Replayed runs, {seeds} seeds: "
    parts: dict[str, Mapping[str, Mapping[str, object]]] = {
        "Warm batches, each by its own rows and nodes: errors, %": {
            name: each.warm_batches for name, each in compared.items()
        },
        f"{replayed}the whole run, error in %": {name: each.totals for name, each in compared.items()},
        f"{replayed}mean absolute difference at the same instants": {
            name: each.distances for name, each in compared.items()
        },
        "Differences between recorded runs": {pair: asdict(each) for pair, each in between.items()},
    }
    return [_table(title, part) for title, part in parts.items() if part]


def _table(title: str, part: Mapping[str, Mapping[str, object]]) -> "Table":
    rows = {(name, of): dict(_figures(found)) for name, each in part.items() for of, found in each.items()}
    columns = dict.fromkeys(column for row in rows.values() for column in row)
    cells = [(*key, *(row.get(column) for column in columns)) for key, row in rows.items()]
    return table(title, ("", "of", *columns), cells)


def _figures(found: object, name: str = "") -> Iterator[tuple[str, object]]:
    """Yield each figure of a value with its name, such as ``batch time mean``; the title gives the unit."""
    if not is_dataclass(found):
        yield name or "difference", float(f"{found:.4g}") if isinstance(found, float) else found
        return
    for field in fields(found):
        yield from _figures(
            getattr(found, field.name), f"{name} {field.name.removesuffix('_pct')}".strip().replace("_", " ")
        )
