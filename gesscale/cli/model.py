"""``gesscale model``: its options."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from gesscale.cli.output import Output, OutputOption

app = typer.Typer(
    help="Fit performance models to a CSV file of readings (replicas, nd_max_ms, mst_rows_per_s; optional "
    "batch_rows, tasks, weight) and predict with them.",
    no_args_is_help=True,
)


class Law(StrEnum):
    """The law to fit."""

    GESSCALE = "gesscale"
    MICROBATCH = "microbatch"
    AUTO = "auto"


ReadingsPath = Annotated[Path, typer.Argument(metavar="READINGS.csv", help="Saturation readings.")]

ChosenLaw = Annotated[
    Law,
    typer.Option("--law", help="Eq. 1 of the paper, the micro-batch law, or the better by held-out error."),
]

Where = Annotated[
    list[str] | None,
    typer.Option(
        "--where",
        metavar="CONDITION",
        help="Use only rows that meet this, e.g. query=map, host_cpu<0.9, tasks=replicas; repeat for more.",
    ),
]

Holdout = Annotated[
    list[str] | None,
    typer.Option(
        "--holdout",
        metavar="COLUMN=VALUE",
        help="Keep rows that meet this out of the fit and report their error apart; repeat to hold out more.",
    ),
]


@app.command(epilog="Example: gesscale model fit readings.csv --law auto --holdout nd_max_ms=150")
def fit(
    file: ReadingsPath,
    *,
    law: ChosenLaw = Law.GESSCALE,
    where: Where = None,
    holdout: Holdout = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Fit a law and say how well it describes the readings."""
    from gesscale.cli.fitting import fit_readings

    fit_readings(file=file, law=law, where=where, holdout=holdout, output=output)


@app.command(epilog="Example: gesscale model predict readings.csv --replicas 3 --nd-max-ms 40")
def predict(
    file: ReadingsPath,
    *,
    replicas: Annotated[int, typer.Option(help="n.", min=1)],
    nd_max_ms: Annotated[float, typer.Option(help="NDmax, round trip in ms.")],
    batch_rows: Annotated[float | None, typer.Option(help="Rows of a full batch, B.")] = None,
    weight: Annotated[float | None, typer.Option(help="Summed capacity weights, replaces n.")] = None,
    law: ChosenLaw = Law.GESSCALE,
    where: Where = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Fit a law and predict the maximum sustainable throughput, rows/s."""
    from gesscale.cli.fitting import predict_throughput

    predict_throughput(
        file=file,
        replicas=replicas,
        nd_max_ms=nd_max_ms,
        batch_rows=batch_rows,
        weight=weight,
        law=law,
        where=where,
        output=output,
    )
