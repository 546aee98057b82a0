"""``gesscale model``: fit a performance model to a file of readings, and predict with it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.table import Table

from gesscale.cli.model import Law
from gesscale.cli.output import Output, emit, stderr_console, table
from gesscale.cli.readings_csv import ReadingsFile, read_readings_file
from gesscale.csv_table import CsvRow
from gesscale.errors import InputError
from perfmodel import Conditions, FitErrors, Model, ModelError, Reading, fit_errors, law_named

_NOMINAL_CAP_ROWS = 1000.0
"""Stands for a cap that no reading tells; what is predicted at that cap does not depend on it."""


def fit_readings(
    *, file: Path, law: Law, where: list[str] | None, holdout: list[str] | None, output: Output
) -> None:
    """Fit a law and say how well it describes the readings."""
    used, held_out = _split(read_readings_file(file), where or [], holdout or [])
    notes = _notes(law, used)
    if notes:
        used, held_out = _at_nominal_cap(used), _at_nominal_cap(held_out)
    with _model_errors(file):
        model = law_named(law).fit(used)
        errors = fit_errors(model, used)
        apart = fit_errors(model, held_out) if held_out else None
    warnings = (*notes, *model.warnings)
    emit(_fit_document(model, errors, apart, warnings), output, _fit_tables(model, errors, apart))
    if output is Output.TABLE:
        _warn(warnings)


def predict_throughput(
    *,
    file: Path,
    replicas: int,
    nd_max_ms: float,
    batch_rows: float | None,
    weight: float | None,
    law: Law,
    where: list[str] | None,
    output: Output,
) -> None:
    """Fit a law and predict the maximum sustainable throughput, rows/s."""
    used, _ = _split(read_readings_file(file), where or [], [])
    notes = _notes(law, used)
    if notes:
        if batch_rows is not None:
            message = f"{file}: expected readings with batch_rows to predict for --batch-rows, got none; leave it out"
            raise InputError(message)
        used, batch_rows = _at_nominal_cap(used), _NOMINAL_CAP_ROWS
    with _model_errors(file):
        model = law_named(law).fit(used)
        conditions = Conditions(replicas=replicas, nd_max_ms=nd_max_ms, batch_rows=batch_rows, weight=weight)
        estimate = model.predict(conditions)
    warnings = (*notes, *model.warnings)
    document = {
        "law": model.law,
        "unit": "rows/s",
        "low": estimate.low,
        "mid": estimate.mid,
        "high": estimate.high,
        "reason": estimate.reason,
        "calibrated": model.calibrated,
        "warnings": warnings,
    }
    row = (model.law, estimate.low, estimate.mid, estimate.high, estimate.reason)
    columns = ("law", "low", "mid", "high", "note")
    emit(document, output, [table("Predicted MST, rows/s (90 % between low and high)", columns, [row])])
    if output is Output.TABLE:
        _warn(warnings)


def _notes(law: Law, readings: Sequence[Reading]) -> tuple[str, ...]:
    """Say what has to be assumed where the micro-batch law is wanted and no reading tells the rows of its batch.

    Divided by B, the law is T / B = s / n + (T0 + k NDmax) / B: where B is the same in all readings, they tell s, and
    the rest per row.
    """
    if law is not Law.MICROBATCH or any(reading.batch_rows is not None for reading in readings):
        return ()
    return (
        "no reading has batch_rows: fitted as if all were of one unknown cap; s_ms_per_row and predictions at that cap "
        f"hold, t0_s and k_round_trips are per {_NOMINAL_CAP_ROWS:g} rows",
    )


def _at_nominal_cap(readings: Sequence[Reading]) -> list[Reading]:
    return [replace(reading, batch_rows=_NOMINAL_CAP_ROWS) for reading in readings]


def _split(
    file: ReadingsFile, where: Sequence[str], holdout: Sequence[str]
) -> tuple[list[Reading], list[Reading]]:
    """Return the readings to fit and those held out: rows that meet any one of the hold-outs."""
    chosen: Sequence[CsvRow] = file.rows
    for condition in where:
        chosen = file.where(chosen, condition)
        _require(chosen, file, f"no row left after --where {condition}")
    held_out: set[int] = set()
    for condition in holdout:
        met = file.where(chosen, condition)
        _require(met, file, f"no row meets --holdout {condition}")
        held_out |= {row.line for row in met}
    rest = [row for row in chosen if row.line not in held_out]
    _require(rest, file, f"no row left to fit after --holdout {', '.join(holdout)}")
    return file.readings(rest), file.readings([row for row in chosen if row.line in held_out])


def _require(rows: Sequence[CsvRow], file: ReadingsFile, what: str) -> None:
    if not rows:
        message = f"{file.path}: {what}; look at the values of that column"
        raise InputError(message)


@contextmanager
def _model_errors(file: Path) -> Iterator[None]:
    try:
        yield
    except ModelError as fault:
        message = f"{file}: {fault}"
        raise InputError(message) from fault


def _fit_document(
    model: Model, errors: FitErrors, apart: FitErrors | None, warnings: Sequence[str]
) -> dict[str, Any]:
    return {
        "law": model.law,
        "parameters": model.parameters,
        "fitted": [name for name in model.parameters if name in model.fitted],
        "defaults": [name for name in model.parameters if name not in model.fitted],
        "calibrated": model.calibrated,
        "error_mean_pct": errors.mean_pct,
        "error_max_pct": errors.max_pct,
        "readings": errors.count,
        "holdout": None
        if apart is None
        else {"error_mean_pct": apart.mean_pct, "error_max_pct": apart.max_pct, "readings": apart.count},
        "warnings": warnings,
    }


def _fit_tables(model: Model, errors: FitErrors, apart: FitErrors | None) -> list[Table]:
    parameters = [
        (name, value, "fitted" if name in model.fitted else "default")
        for name, value in model.parameters.items()
    ]
    compared = [("fitted", errors)] if apart is None else [("fitted", errors), ("held out", apart)]
    return [
        table(f"Law {model.law}", ("parameter", "value", "from"), parameters),
        table(
            "Error, % of the observed rows/s",
            ("readings", "count", "mean", "max"),
            [(name, figures.count, figures.mean_pct, figures.max_pct) for name, figures in compared],
        ),
    ]


def _warn(warnings: Sequence[str]) -> None:
    for warning in warnings:
        stderr_console.print(f"note: {warning}", highlight=False, markup=False)
