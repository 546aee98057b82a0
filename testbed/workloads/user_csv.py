"""Reads the load of a user from a CSV file."""

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, Field, TypeAdapter, ValidationError

from gesscale.csv_table import read_csv
from gesscale.errors import InputError
from gesscale.validation import first_problem
from testbed.workloads.workload import Workload


def rates_on_grid(edges: Sequence[float], rates: Sequence[float], step: float) -> NDArray[np.float64]:
    """Return the mean rate of each step, so that the number of rows is unchanged."""
    piece_edges, piece_rates = np.asarray(edges, dtype=float), np.asarray(rates, dtype=float)
    offered = np.concatenate([[0.0], np.cumsum(np.diff(piece_edges) * piece_rates)])
    grid = np.arange(round(piece_edges[-1] / step) + 1) * step
    means = np.diff(np.interp(grid, piece_edges, offered)) / step
    first = np.searchsorted(piece_edges, grid[:-1], side="right") - 1
    last = np.searchsorted(piece_edges, grid[1:], side="left") - 1
    within: NDArray[np.bool_] = first >= last
    exact: NDArray[np.float64] = np.where(within, piece_rates[first], np.maximum(means, 0.0))
    return exact


#: Largest file; a week of seconds takes about 8 MiB.
MAX_BYTES = 16 * 1024 * 1024
MAX_STEPS = 200_000
MAX_AMOUNT = 1e9
MAX_DAYS = 366

_TIMES = ("t_s", "timestamp")
_AMOUNTS = ("rows_per_s", "rows")
_MAX_T_S = 1e11  # epoch seconds have room, epoch milliseconds have not
_MS_PER_S = 1000


def _moment_s(text: str) -> float:
    moment = datetime.fromisoformat(text)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


_AMOUNT = TypeAdapter(Annotated[float, Field(ge=0, le=MAX_AMOUNT, allow_inf_nan=False)])
#: Valid values of each column.
_KINDS: Mapping[str, TypeAdapter[float]] = {
    "t_s": TypeAdapter(Annotated[float, Field(ge=-_MAX_T_S, le=_MAX_T_S, allow_inf_nan=False)]),
    "timestamp": TypeAdapter(Annotated[float, BeforeValidator(_moment_s)]),
    "rows_per_s": _AMOUNT,
    "rows": _AMOUNT,
}


def workload_from_csv(path: Path, *, name: str) -> Workload:
    """Read a load: the rate of a row holds until the next row's time, the last one as long as the one before.

    Parameters
    ----------
    path
        A CSV file in UTF-8 with a header, a column ``t_s`` (seconds, from any zero) or ``timestamp`` (ISO 8601, UTC by
        default), and a column ``rows_per_s`` or ``rows`` (rows until the next time). Other columns are ignored. Times
        are rounded to milliseconds and counted from the first row.

    Raises
    ------
    InputError
        If the file cannot be read or has another form, with file and line.
    """
    times_ms, amounts, amount_column = _read(path)
    durations_ms = [after - before for before, after in pairwise(times_ms)]
    durations_ms.append(durations_ms[-1])
    edges_ms = [time_ms - times_ms[0] for time_ms in times_ms] + [times_ms[-1] - times_ms[0] + durations_ms[-1]]
    if amount_column == "rows":
        amounts = [rows * _MS_PER_S / ms for rows, ms in zip(amounts, durations_ms, strict=True)]
    step_ms: float = math.gcd(*durations_ms)
    if edges_ms[-1] > step_ms * MAX_STEPS:
        step_ms = edges_ms[-1] / MAX_STEPS
    rates = rates_on_grid(edges_ms, amounts, step_ms)
    return Workload(name=name, step_s=step_ms / _MS_PER_S, rows_per_s=tuple(rates.tolist()), absolute=True)


def _read(path: Path) -> tuple[list[int], list[float], str]:
    """Return times, amounts and the name of the column of amounts."""
    _check_kind(path)
    table = read_csv(path, (), header="a time and an amount", max_bytes=MAX_BYTES)
    time_column = _only_column(path, table.line, table.columns, _TIMES)
    amount_column = _only_column(path, table.line, table.columns, _AMOUNTS)
    times_ms: list[int] = []
    amounts: list[float] = []
    for row in table.rows:
        time_ms = round(_number(path, row.line, time_column, row.cells) * _MS_PER_S)
        _check_order(path, row.line, times_ms, time_ms)
        times_ms.append(time_ms)
        amounts.append(_number(path, row.line, amount_column, row.cells))
    if len(times_ms) < 2:
        raise InputError("load-too-short", source=str(path), got=len(times_ms))
    if not any(amounts):
        raise InputError("load-file-empty", source=str(path), column=amount_column)
    return times_ms, amounts, amount_column


def _check_kind(path: Path) -> None:
    """Reject pipes and devices, as every process that simulates the load reads the file."""
    try:
        if not path.exists() or path.is_file():
            return
    except (OSError, ValueError):
        return  # the reader reports the problem
    raise InputError("load-file-irregular", source=str(path), got="directory" if path.is_dir() else "device or pipe")


def _only_column(path: Path, line: int, names: Sequence[str], known: Sequence[str]) -> str:
    found = [name for name in names if name in known]
    if len(found) != 1:
        raise InputError(
            "load-column-ambiguous", source=str(path), place=f"line {line}", expected=known, got=found or list(names)
        )
    return found[0]


def _number(path: Path, line: int, column: str, row: Mapping[str, str]) -> float:
    try:
        return _KINDS[column].validate_python(row[column])
    except ValidationError as error:
        place = f"line {line}, {column}"
        raise InputError([first_problem(error, source=str(path), place=place)]) from None


def _check_order(path: Path, line: int, before_ms: Sequence[int], time_ms: int) -> None:
    if not before_ms:
        return
    place = {"source": str(path), "place": f"line {line}"}
    step_s = (time_ms - before_ms[-1]) / _MS_PER_S
    if step_s <= 0:
        raise InputError("load-times-unsorted", **place, step_s=step_s)
    days = (time_ms - before_ms[0]) / _MS_PER_S / 86_400
    if days > MAX_DAYS:
        raise InputError("load-too-long", **place, max_days=MAX_DAYS, got_days=days)
