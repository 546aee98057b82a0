"""``gesscale arena validate`` and ``refit``: their options."""

from pathlib import Path
from typing import Annotated

import typer

from gesscale.cli.output import Output, OutputOption

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
    picture: Annotated[
        Path | None,
        typer.Option(metavar="FILE.png", help="Draw the runs, recorded and simulated; .png or .svg."),
    ] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Say how far the simulator is from measurements: batch times, and whole runs acted again."""
    from testbed.simulator.validation.validating import validate_simulator

    validate_simulator(
        runs=runs, readings=readings, physics=physics, seeds=seeds, picture=picture, output=output
    )


def refit(
    folders: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Folders of recorded runs.")],
    file: Annotated[Path, typer.Option("--to", metavar="FILE", help="The file of constants to write.")],
    about: Annotated[str, typer.Option(help="What the constants describe, in a sentence.")],
    physics: Annotated[
        str, typer.Option(help="Constants that runs do not determine are taken from here: a name or a file.")
    ] = "map",
) -> None:
    """Fit the constants that recorded runs of a real cluster determine, and write each with its origin."""
    from testbed.simulator.validation.validating import refit_constants

    refit_constants(folders=folders, file=file, about=about, physics=physics)
