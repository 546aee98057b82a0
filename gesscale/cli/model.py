"""``gesscale model``: fit a performance model to a file of readings, and predict with it."""

from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from gesscale.cli.output import Output, OutputOption, emit, table, warn
from gesscale.errors import InputError

app = typer.Typer(
    name="model",
    help="Fit performance models to a CSV file of readings (replicas, nd_max_ms, mst_rows_per_s; optional "
    "batch_rows, tasks, weight) and predict with them.",
    no_args_is_help=True,
)


class Law(StrEnum):
    """The law to fit."""

    GESSCALE = "gesscale"
    MICROBATCH = "microbatch"
    AUTO = "auto"


ReadingsPath = Annotated[Path, typer.Argument(metavar="READINGS.csv", help="File of saturation readings.")]

ChosenLaw = Annotated[
    Law, typer.Option("--law", help="Eq. 1 of the paper, the micro-batch law, or the better by held-out error.")
]

Where = Annotated[
    list[str] | None,
    typer.Option(
        "--where",
        metavar="CONDITION",
        help="Use only rows that meet this, such as query=map, host_cpu<0.9 or tasks=replicas; repeatable.",
    ),
]

Holdout = Annotated[
    list[str] | None,
    typer.Option(
        "--holdout",
        metavar="COLUMN=VALUE",
        help="Exclude rows that meet this from the fit and report their error separately; repeatable.",
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
    """Fit a law and print its error on the readings."""
    from gesscale.cli import model_readings
    from perfmodel import fit_errors, law_named

    used, held_out, notes = model_readings.read_readings(file, law.value, where or [], holdout or [])
    with model_readings.add_file_to_errors(file):
        model = law_named(law.value).fit(used)
        errors = fit_errors(model, used)
        apart = fit_errors(model, held_out) if held_out else None
    warnings = (*notes, *model.warnings)
    emit(model_readings.document(model, errors, apart, warnings), output, model_readings.tables(model, errors, apart))
    if output is Output.TABLE:
        warn(warnings)


@app.command(epilog="Example: gesscale model predict readings.csv --replicas 3 --nd-max-ms 40")
def predict(
    file: ReadingsPath,
    *,
    replicas: Annotated[int, typer.Option(help="Number of replicas, n.", min=1)],
    nd_max_ms: Annotated[float, typer.Option(help="NDmax, round trip in ms.")],
    batch_rows: Annotated[float | None, typer.Option(help="Rows of a full batch, B.")] = None,
    weight: Annotated[float | None, typer.Option(help="Sum of the capacity weights, instead of n.")] = None,
    law: ChosenLaw = Law.GESSCALE,
    where: Where = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Fit a law and predict the maximum sustainable throughput, rows/s."""
    from gesscale.cli import model_readings
    from perfmodel import Conditions, law_named

    used, _, notes = model_readings.read_readings(file, law.value, where or [], [])
    if notes and batch_rows is not None:
        raise InputError("batch-rows-not-predictable", source=file)
    full_batch = model_readings.NOMINAL_CAP_ROWS if notes else batch_rows
    with model_readings.add_file_to_errors(file):
        model = law_named(law.value).fit(used)
        estimate = model.predict(
            Conditions(replicas=replicas, nd_max_ms=nd_max_ms, batch_rows=full_batch, weight=weight)
        )
    warnings = (*notes, *model.warnings)
    document = {
        "law": model.law,
        "unit": "rows/s",
        **asdict(estimate),
        "calibrated": model.calibrated,
        "warnings": [each.as_json() for each in warnings],
    }
    row = (model.law, estimate.low, estimate.mid, estimate.high, estimate.reason)
    columns = ("law", "low", "mid", "high", "note")
    emit(document, output, [table("Predicted MST, rows/s (90 % between low and high)", columns, [row])])
    if output is Output.TABLE:
        warn(warnings)
