"""A CSV file of readings, chosen by conditions such as ``query=map`` or ``host_cpu<0.9``, and a law fitted to them."""

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
from gesscale.csv_table import CsvRow, read_csv
from gesscale.errors import InputError
from gesscale.fields import MAX_EXACT_INTEGER
from perfmodel import FitErrors, Model, ModelError, Reading

#: Stands for a cap that no reading tells; what is predicted at that cap does not depend on it.
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
    """A row of the file; the descriptions say what is expected."""

    model_config = ConfigDict(extra="ignore", allow_inf_nan=False)

    replicas: _Count = Field(description="a whole number >= 1")
    nd_max_ms: float = Field(ge=0, le=_LARGEST, description="a round trip in ms, >= 0")
    mst_rows_per_s: _Figure = Field(serialization_alias="rows_per_s", description="rows per second, > 0")
    batch_rows: Annotated[_Figure | None, _OrNothing] = Field(None, description="rows > 0, or nothing")
    tasks: Annotated[_Count | None, _OrNothing] = Field(None, description="a whole number >= 1, or nothing")
    weight: Annotated[_Figure | None, _OrNothing] = Field(None, description="a number > 0, or nothing")


def read_readings(
    path: Path, law: str, where: Sequence[str], holdout: Sequence[str]
) -> tuple[list[Reading], list[Reading], tuple[str, ...]]:
    """Read the readings to fit and those held out; at a nominal cap, with a note, where none tells a law's batch rows.

    Divided by B, the micro-batch law is T / B = s / n + (T0 + k NDmax) / B: where B is the same in all readings, they
    tell s, and the rest per row.
    """
    used, held_out = _split(path, where, holdout)
    if law != "microbatch" or any(reading.batch_rows is not None for reading in used):
        return used, held_out, ()
    note = (
        "no reading has batch_rows: fitted as if all were of one unknown cap; s_ms_per_row and predictions at that cap "
        f"hold, t0_s and k_round_trips are per {NOMINAL_CAP_ROWS:g} rows"
    )
    return _at_nominal_cap(used), _at_nominal_cap(held_out), (note,)


def _at_nominal_cap(readings: Sequence[Reading]) -> list[Reading]:
    return [replace(reading, batch_rows=NOMINAL_CAP_ROWS) for reading in readings]


def _split(path: Path, where: Sequence[str], holdout: Sequence[str]) -> tuple[list[Reading], list[Reading]]:
    """Read the readings to fit and those held out: rows that meet any one of the hold-outs.

    Only the chosen rows are checked: others may hold anything.
    """
    chosen: Sequence[CsvRow] = list(read_csv(path, _REQUIRED).rows)
    _require(chosen, path, "expected readings below the header, got none")
    for condition in where:
        chosen = _meeting(chosen, condition)
        _require(chosen, path, f"no row left after --where {condition}; look at the values of that column")
    held_out: set[int] = set()
    for condition in holdout:
        met = _meeting(chosen, condition)
        _require(met, path, f"no row meets --holdout {condition}; look at the values of that column")
        held_out |= {row.line for row in met}
    rest = [row for row in chosen if row.line not in held_out]
    _require(rest, path, f"no row left to fit after --holdout {', '.join(holdout)}; look at the values of that column")
    return _readings(rest), _readings([row for row in chosen if row.line in held_out])


def _require(rows: Sequence[CsvRow], path: Path, what: str) -> None:
    if not rows:
        raise InputError(f"{path}: {what}")


def _readings(rows: Sequence[CsvRow]) -> list[Reading]:
    return [Reading(**row.read_as(_Row).model_dump(by_alias=True)) for row in rows]


def _meeting(rows: Sequence[CsvRow], condition: str) -> list[CsvRow]:
    """Return the rows that meet a condition: a column, a comparison, and a value or another column."""
    parts = _CONDITION.fullmatch(condition)
    if parts is None:
        raise InputError(f"expected a condition such as nd_max_ms=150 or tasks=replicas, got {condition!r}")
    column, sign, value = parts["column"], parts["sign"], parts["value"]
    if column not in rows[0].cells:
        known = ", ".join(rows[0].cells)
        raise InputError(f"{rows[0].path}: no column {column!r} for the condition {condition!r}, only {known}")
    return [row for row in rows if _holds(row, column, sign, value)]


def _holds(row: CsvRow, column: str, sign: str, value: str) -> bool:
    left, right = row.cells[column], row.cells.get(value, value)
    numbers = _number(left), _number(right)
    if None not in numbers:
        return _COMPARISONS[sign](*numbers)
    if sign in ("=", "!="):
        return _COMPARISONS[sign](left, right)
    raise InputError(
        f"{row.path}, line {row.line}, column {column}: expected numbers to compare by {sign}, "
        f"got {left!r} and {right!r}"
    )


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


@contextmanager
def naming_the_file(file: Path) -> Iterator[None]:
    """Refuse readings that a law cannot be fitted to, and conditions that it says nothing of, by their file."""
    try:
        yield
    except ModelError as fault:
        raise InputError(f"{file}: {fault}") from fault


def document(model: Model, errors: FitErrors, apart: FitErrors | None, warnings: Sequence[str]) -> dict[str, Any]:
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
