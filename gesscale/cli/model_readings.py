"""Reads readings from a CSV file, selects them by conditions such as ``query=map``, and shows the fit of a law."""

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from rich.table import Table

from gesscale.cli.output import table
from gesscale.csv_table import CsvRow, read_csv
from gesscale.errors import InputError
from gesscale.fields import MAX_EXACT_INTEGER
from perfmodel import (
    EQ1,
    BatchEvidence,
    BatchSample,
    CapacityModel,
    FittedBatchTime,
    FittedEq1,
    Points,
    Reading,
    fit_model,
    learned,
)

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
    weight: Annotated[_Figure | None, _OrNothing] = Field(None, description="a number > 0, or nothing")


def read_readings(path: Path, where: Sequence[str], holdout: Sequence[str]) -> tuple[list[Reading], list[Reading]]:
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


#: Equal batches for each reading, which is the mean of several.
_BATCHES_EACH = 3
_BATCH_APART_S = 1.0


def point_of(replicas: int, nd_max_ms: float, weight: float | None, cap_rows: float | None) -> Points:
    """Return conditions of which only the largest delay is known: one replica is away from the driver only."""
    pair_ms = nd_max_ms if replicas > 1 else 0.0
    return Points.of(
        float(replicas) if weight is None else weight, nd_max_ms, pair_ms=pair_ms, cap_rows=cap_rows, trigger_s=0.0
    )


def fitted(readings: Sequence[Reading], law: str) -> CapacityModel:
    """Fit both laws; the law of batch times needs batch rows."""
    evidence = BatchEvidence()
    for index, reading in enumerate(readings):
        if reading.batch_rows is not None:
            at = point_of(reading.replicas, reading.nd_max_ms, reading.weight, None)
            batch = BatchSample(
                reading.batch_rows,
                reading.batch_rows / reading.rows_per_s,
                at.weight.item(),
                at.even_weight.item(),
                at.driver_ms.item(),
                at.pair_ms.item(),
                index * _BATCH_APART_S,
            )
            evidence = learned(evidence, [batch] * _BATCHES_EACH)
    model = fit_model(readings, evidence, law=law)
    assert model is not None  # noqa: S101 - there are readings
    return model


def laws_of(model: CapacityModel) -> Sequence[FittedEq1 | FittedBatchTime]:
    """Return the laws that were fitted."""
    return [each for each in (model.eq1, model.batch_time) if each is not None]


class ReadingErrors(NamedTuple):
    """Deviations of a law from readings, per cent of the observed rows/s."""

    law: str
    #: Whether the fit has not seen them.
    held_out: bool
    #: Number of readings, mean and largest absolute error (readings, mean_pct, max_pct).
    readings: int
    mean_pct: float
    max_pct: float


def errors_of(model: CapacityModel, used: Sequence[Reading], held_out: Sequence[Reading]) -> Sequence[ReadingErrors]:
    """Compare each law with the readings that it can predict: without batch rows, Eq. 1 only."""
    return [
        ReadingErrors(law.law, apart, len(errors), sum(errors) / len(errors), max(errors))
        for law in laws_of(model)
        for apart, readings in ((False, used), (True, held_out))
        if (errors := [_error_pct(law, each) for each in readings if each.batch_rows or law.law == EQ1])
    ]


def _error_pct(law: FittedEq1 | FittedBatchTime, reading: Reading) -> float:
    point = point_of(reading.replicas, reading.nd_max_ms, reading.weight, reading.batch_rows)
    return 100 * abs(float(law.middle(point)[0]) / reading.rows_per_s - 1)


def document(model: CapacityModel, errors: Sequence[ReadingErrors]) -> dict[str, Any]:
    """Return the document of a fit for JSON and YAML."""
    return {**asdict(model.summary), "errors": [each._asdict() for each in errors]} | {
        "warnings": [each.as_json() for each in model.used.warnings]
    }


def tables(model: CapacityModel, errors: Sequence[ReadingErrors]) -> list[Table]:
    """Build the tables of a fit."""
    summary = model.summary
    parameters = [
        (law.law, each.name, each.unit, each.value, each.low, each.high, "evidence" if each.identified else "default")
        for law in summary.laws
        for each in law.parameters
    ]
    laws = [
        (law.law, law.readings, law.conditions, law.held_out_error_pct, "in use" if law.law == summary.law else "")
        for law in summary.laws
    ]
    return [
        table(
            "Parameters, 90 % between low and high", ("law", "name", "unit", "value", "low", "high", "from"), parameters
        ),
        table("Error for placements that a fit has not seen", ("law", "readings", "placements", "mean, %", ""), laws),
        table(
            "Error for readings, % of the observed rows/s",
            ("law", "readings", "count", "mean", "max"),
            [
                (each.law, "held out" if each.held_out else "of the fit", each.readings, each.mean_pct, each.max_pct)
                for each in errors
            ],
        ),
    ]
