"""Reads readings from a CSV file, selects them by conditions such as ``query=map``, and shows the fit of a law."""

import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from rich.table import Table

from gesscale.cli.output import table
from gesscale.common.errors import Problem
from gesscale.csv_table import CsvRow, read_csv
from gesscale.errors import InputError
from gesscale.fields import MAX_EXACT_INTEGER
from gesscale.validation import located
from perfmodel import FitErrors, Model, ModelError, Reading

#: Assumed cap of readings without batch_rows; predictions at that cap do not depend on it.
NOMINAL_CAP_ROWS = 1000.0

_REQUIRED = ("replicas", "nd_max_ms", "mst_rows_per_s")
_COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "!=": operator.ne,
    "=": operator.eq,
    "<": operator.lt,
    ">": operator.gt,
}
_SMALLEST, _LARGEST = 1e-9, 1e15
_CONDITION = re.compile(r"\s*(?P<column>[^<>=!]+?)\s*(?P<sign><=|>=|!=|=|<|>)\s*(?P<value>[^<>=!]+?)\s*")

_Count = Annotated[int, Field(ge=1, le=MAX_EXACT_INTEGER)]
_Figure = Annotated[float, Field(ge=_SMALLEST, le=_LARGEST)]
_OrNothing = BeforeValidator(lambda text: None if text == "" else text)


class _Row(BaseModel):
    """A row of the file; the descriptions appear in messages."""

    model_config = ConfigDict(extra="ignore", allow_inf_nan=False)

    replicas: _Count = Field(description="a whole number >= 1")
    nd_max_ms: float = Field(ge=0, le=_LARGEST, description="a round trip in ms, >= 0")
    mst_rows_per_s: _Figure = Field(serialization_alias="rows_per_s", description="rows per second, > 0")
    batch_rows: Annotated[_Figure | None, _OrNothing] = Field(None, description="rows > 0, or nothing")
    tasks: Annotated[_Count | None, _OrNothing] = Field(None, description="a whole number >= 1, or nothing")
    weight: Annotated[_Figure | None, _OrNothing] = Field(None, description="a number > 0, or nothing")


def read_readings(
    path: Path, law: str, where: Sequence[str], holdout: Sequence[str]
) -> tuple[list[Reading], list[Reading], tuple[Problem, ...]]:
    """Return the readings to fit, those held out, and warnings.

    The micro-batch law divided by B is T / B = s / n + (T0 + k NDmax) / B. Readings that all have the same unknown B
    identify s, and the rest per row; such readings get a nominal cap and a warning.
    """
    used, held_out = _split(path, where, holdout)
    if law != "microbatch" or any(reading.batch_rows is not None for reading in used):
        return used, held_out, ()
    warning = Problem("batch-rows-assumed", {"source": path, "cap_rows": NOMINAL_CAP_ROWS})
    return _at_nominal_cap(used), _at_nominal_cap(held_out), (warning,)


def _at_nominal_cap(readings: Sequence[Reading]) -> list[Reading]:
    return [replace(reading, batch_rows=NOMINAL_CAP_ROWS) for reading in readings]


def _split(path: Path, where: Sequence[str], holdout: Sequence[str]) -> tuple[list[Reading], list[Reading]]:
    """Return the readings to fit and those held out, which meet any of the hold-out conditions.

    Only the selected rows are checked; the cells of other rows may have any text.
    """
    chosen: Sequence[CsvRow] = list(read_csv(path, _REQUIRED).rows)
    if not chosen:
        raise InputError("readings-empty", source=path)
    for condition in where:
        chosen = _meeting(chosen, condition)
        _require(chosen, path, "--where", condition)
    held_out: set[int] = set()
    for condition in holdout:
        met = _meeting(chosen, condition)
        _require(met, path, "--holdout", condition)
        held_out |= {row.line for row in met}
    rest = [row for row in chosen if row.line not in held_out]
    _require(rest, path, "--holdout", ", ".join(holdout))
    return _readings(rest), _readings([row for row in chosen if row.line in held_out])


def _require(rows: Sequence[CsvRow], path: Path, option: str, condition: str) -> None:
    if not rows:
        raise InputError("readings-none-left", source=path, option=option, condition=condition)


def _readings(rows: Sequence[CsvRow]) -> list[Reading]:
    return [Reading(**row.read_as(_Row).model_dump(by_alias=True)) for row in rows]


def _meeting(rows: Sequence[CsvRow], condition: str) -> list[CsvRow]:
    """Return the rows that meet a condition: a column, a comparison, and a value or another column."""
    parts = _CONDITION.fullmatch(condition)
    if parts is None:
        raise InputError("condition-malformed", got=condition)
    column, sign, value = parts["column"], parts["sign"], parts["value"]
    if column not in rows[0].cells:
        known = list(rows[0].cells)
        fields = {"source": rows[0].path, "column": column, "condition": condition, "known": known}
        raise InputError("condition-column-missing", **fields)
    return [row for row in rows if _holds(row, column, sign, value)]


def _holds(row: CsvRow, column: str, sign: str, value: str) -> bool:
    left, right = row.cells[column], row.cells.get(value, value)
    numbers = _number(left), _number(right)
    if None not in numbers:
        return _COMPARISONS[sign](*numbers)
    if sign in ("=", "!="):
        return _COMPARISONS[sign](left, right)
    place = f"line {row.line}, column {column}"
    raise InputError("condition-not-comparable", source=row.path, place=place, sign=sign, left=left, right=right)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


@contextmanager
def add_file_to_errors(file: Path) -> Iterator[None]:
    """Add the name of the file to errors of the performance model."""
    try:
        yield
    except ModelError as error:
        raise InputError(located(error.problems, "", str(file))) from error


def document(model: Model, errors: FitErrors, apart: FitErrors | None, warnings: Sequence[Problem]) -> dict[str, Any]:
    """Return the document of a fit for JSON and YAML."""
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
        "warnings": [each.as_json() for each in warnings],
    }


def tables(model: Model, errors: FitErrors, apart: FitErrors | None) -> list[Table]:
    """Build the tables of a fit."""
    parameters = [
        (name, value, "fitted" if name in model.fitted else "default") for name, value in model.parameters.items()
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
