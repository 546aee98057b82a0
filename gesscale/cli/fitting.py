"""Readings split, a law fitted to them, and what a prediction or a fit says."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.table import Table

from gesscale.cli.output import table
from gesscale.cli.readings_csv import ReadingsFile, read_readings_file
from gesscale.csv_table import CsvRow
from gesscale.errors import InputError
from perfmodel import Conditions, FitErrors, Model, ModelError, Reading, fit_errors, law_named
from perfmodel.model import Estimate

NOMINAL_CAP_ROWS = 1000.0
"""Stands for a cap that no reading tells; what is predicted at that cap does not depend on it."""


def fitted(
    file: Path, law: str, used: Sequence[Reading], held_out: Sequence[Reading]
) -> tuple[Model, FitErrors, FitErrors | None]:
    """Fit a law, and say how far it is from the readings used and from those held out."""
    with _model_errors(file):
        model = law_named(law).fit(used)
        return model, fit_errors(model, used), fit_errors(model, held_out) if held_out else None


def predicted(
    file: Path,
    law: str,
    used: Sequence[Reading],
    *,
    replicas: int,
    nd_max_ms: float,
    batch_rows: float | None,
    weight: float | None,
) -> tuple[Model, Estimate]:
    """Fit a law and predict by it."""
    with _model_errors(file):
        model = law_named(law).fit(used)
        conditions = Conditions(replicas=replicas, nd_max_ms=nd_max_ms, batch_rows=batch_rows, weight=weight)
        return model, model.predict(conditions)


def with_batch_rows(law: str, readings: list[Reading]) -> tuple[list[Reading], tuple[str, ...]]:
    """Return the readings; at a nominal cap, with a note, where the law needs the rows of batches and none tells them.

    Divided by B, the law is T / B = s / n + (T0 + k NDmax) / B: where B is the same in all readings, they tell s, and
    the rest per row.
    """
    if law != "microbatch" or any(reading.batch_rows is not None for reading in readings):
        return readings, ()
    note = (
        "no reading has batch_rows: fitted as if all were of one unknown cap; s_ms_per_row and predictions at that cap "
        f"hold, t0_s and k_round_trips are per {NOMINAL_CAP_ROWS:g} rows"
    )
    return at_nominal_cap(readings), (note,)


def at_nominal_cap(readings: Sequence[Reading]) -> list[Reading]:
    """Return the readings as if each were of a full batch at the nominal cap."""
    return [replace(reading, batch_rows=NOMINAL_CAP_ROWS) for reading in readings]


def split(path: Path, where: Sequence[str], holdout: Sequence[str]) -> tuple[list[Reading], list[Reading]]:
    """Read the readings to fit and those held out: rows that meet any one of the hold-outs."""
    file = read_readings_file(path)
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


def document(
    model: Model, errors: FitErrors, apart: FitErrors | None, warnings: Sequence[str]
) -> dict[str, Any]:
    """Return what JSON and YAML say of a fit."""
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


def tables(model: Model, errors: FitErrors, apart: FitErrors | None) -> list[Table]:
    """Build the tables of a fit."""
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
