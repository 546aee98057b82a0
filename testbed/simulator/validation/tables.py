"""The tables of ``validate``."""

from collections.abc import Mapping
from dataclasses import asdict

from rich.table import Table

from gesscale.cli.output import table
from testbed.simulator.validation.batch_times import BatchErrors, Errors
from testbed.simulator.validation.comparison import FigureSpread, RunComparison
from testbed.simulator.validation.timelines import TimelineErrors

_TOTALS = {
    "processed_rows": "rows processed",
    "batch_time_s": "batch time, mean, s",
    "backlog_rows": "backlog, mean, rows",
    "backlog_peak_rows": "backlog, most, rows",
    "serving_s": "order to served, mean, s",
}
_DISTANCES = {
    "throughput_pct": "throughput per 10 s, %",
    "throughput_minute_pct": "throughput per minute, %",
    "batch_time_pct": "batch time per second, %",
    "batch_time_minute_pct": "batch time per minute, %",
    "backlog_pct": "backlog, % of its peak",
    "row_delay_s": "end of a row, s",
}
_ERRORS = ("T mean", "worst", "bias", "R mean", "worst", "bias")
_APART = "Recorded runs from each other: mean absolute difference at the same instants"
_OF = "errors in % of batch time T and throughput R"


def readings_tables(
    errors: Mapping[str, Mapping[str, BatchErrors]], held_out: Mapping[str, Mapping[str, BatchErrors]]
) -> list[Table]:
    """Return what readings say; nothing without any."""
    if not errors:
        return []
    return [
        _errors_table(f"Readings against the bundled constants: {_OF}", ("query", "of"), errors),
        _errors_table(
            f"Readings predicted by constants fitted without them: {_OF}",
            ("query", "without"),
            held_out,
        ),
    ]


def run_tables(
    compared: Mapping[str, RunComparison], between: Mapping[str, TimelineErrors], seeds: int
) -> list[Table]:
    """Return what recorded runs say; nothing without any."""
    if not compared:
        return []
    warm = {name: each.warm_batches for name, each in compared.items()}
    title = f"Runs acted again, {seeds} seeds: "
    totals = [
        (name, _TOTALS[key], total.recorded, *_cells(total.simulated), _rounded(total.error_pct))
        for name, each in compared.items()
        for key, total in each.totals.items()
    ]
    apart = [
        (pair, _DISTANCES[key], figure)
        for pair, each in between.items()
        for key, figure in asdict(each).items()
    ]
    distances = [
        (name, _DISTANCES[key], *_cells(distance.from_record), *_cells(distance.between_seeds))
        for name, each in compared.items()
        for key, distance in each.distances.items()
    ]
    return [
        _errors_table(f"Warm batches, each by its own rows and nodes: {_OF}", ("run", "of"), warm),
        table(
            f"{title}the whole run",
            ("run", "of", "recorded", "simulated", "range", "error, %"),
            totals,
        ),
        table(
            f"{title}mean absolute difference at the same instants",
            ("run", "of", "from record", "range", "by chance", "range"),
            distances,
        ),
        *([table(_APART, ("runs", "of", "apart"), apart)] if apart else []),
    ]


def _errors_table(
    title: str, heads: tuple[str, str], errors: Mapping[str, Mapping[str, BatchErrors]]
) -> Table:
    rows = [
        (
            name,
            label,
            each.compared,
            *(figure for of in (each.batch_time, each.throughput) for figure in _figures(of)),
        )
        for name, parts in errors.items()
        for label, each in parts.items()
    ]
    return table(title, (*heads, "count", *_ERRORS), rows)


def _figures(errors: Errors) -> tuple[float, ...]:
    return tuple(round(figure, 1) for figure in (errors.mean_pct, errors.worst_pct, errors.bias_pct))


def _cells(spread: FigureSpread | None) -> tuple[float | None, str | None]:
    if spread is None:
        return None, None
    return spread.median, f"{_short(spread.least)}–{_short(spread.greatest)}"


def _rounded(figure: float | None) -> float | None:
    return None if figure is None else round(figure, 2)


def _short(value: float) -> str:
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"
