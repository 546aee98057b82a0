"""``gesscale model``: fit the performance model to a file of readings, and predict with it."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from gesscale.cli.output import Output, OutputOption, emit, table, warn

app = typer.Typer(
    name="model",
    help="Fit the performance model to a CSV file of readings (replicas, nd_max_ms, mst_rows_per_s; optional "
    "batch_rows, weight) and predict with it.",
    no_args_is_help=True,
)


class Law(StrEnum):
    """The law in use."""

    AUTO = "auto"
    EQ1 = "eq1"
    BATCH_TIME = "batch-time"


ReadingsPath = Annotated[Path, typer.Argument(metavar="READINGS.csv", help="File of saturation readings.")]

ChosenLaw = Annotated[
    Law, typer.Option("--law", help="Eq. 1 of the paper, the law of batch times, or the better by held-out error.")
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


@app.command(epilog="Example: gesscale model fit readings.csv --holdout nd_max_ms=150")
def fit(
    file: ReadingsPath,
    *,
    law: ChosenLaw = Law.AUTO,
    where: Where = None,
    holdout: Holdout = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Fit both laws, and print their parameters and their errors for readings."""
    from gesscale.cli import model_readings

    used, held_out = model_readings.read_readings(file, where or [], holdout or [])
    model = model_readings.fitted(used, law.value)
    errors = model_readings.errors_of(model, used, held_out)
    document = model_readings.document(model, errors)
    emit(document, output, model_readings.tables(model, errors))
    if output is Output.TABLE:
        warn(model.used.warnings)


@app.command(epilog="Example: gesscale model predict readings.csv --replicas 3 --nd-max-ms 40")
def predict(
    file: ReadingsPath,
    *,
    replicas: Annotated[int, typer.Option(help="Number of replicas, n.", min=1)],
    nd_max_ms: Annotated[float, typer.Option(help="NDmax, round trip in ms.", min=0)],
    batch_rows: Annotated[
        float | None, typer.Option(help="Rows of a full batch; by default the largest of the readings.", min=1)
    ] = None,
    weight: Annotated[float | None, typer.Option(help="Sum of the capacity weights, instead of n.", min=1e-9)] = None,
    law: ChosenLaw = Law.AUTO,
    where: Where = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Fit both laws and predict the maximum sustainable throughput, rows/s."""
    from gesscale.cli import model_readings

    used, _ = model_readings.read_readings(file, where or [], [])
    model = model_readings.fitted(used, law.value)
    cap_rows = batch_rows or max((each.batch_rows or 0.0 for each in used), default=0.0) or None
    point = model_readings.point_of(replicas, nd_max_ms, weight, cap_rows)
    estimates = {each.law: each.predict(point).at(0) for each in model_readings.laws_of(model)}
    document = {
        "unit": "rows/s",
        "law": model.used.law,
        "fitted": model.summary.fitted,
        "estimates": [
            {"law": name, "low": each.low, "mid": each.mid, "high": each.high} for name, each in estimates.items()
        ],
        "warnings": [each.as_json() for each in model.used.warnings],
    }
    rows = [
        (name, each.low, each.mid, each.high, "in use" if name == model.used.law else "")
        for name, each in estimates.items()
    ]
    columns = ("law", "low", "mid", "high", "")
    emit(document, output, [table("Predicted MST, rows/s (90 % between low and high)", columns, rows)])
    if output is Output.TABLE:
        warn(model.used.warnings)
