"""``gesscale arena score``: the metrics of a recorded series."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from gesscale.api_version import API_VERSION
from gesscale.cli.output import Output, OutputOption, emit, table
from testbed.arena.cli.arguments import duration_s
from testbed.scoring.series import Until, read_series, score_series


def score(
    series: Annotated[
        Path,
        typer.Argument(
            metavar="SERIES.csv",
            help="Columns t_s, demand_replicas, supply_replicas, input_rows_per_s, processed_rows_per_s, "
            "reconfiguration (0 or 1); each row holds until the next.",
        ),
    ],
    *,
    slo: Annotated[
        str, typer.Option("--slo", help="Latency of a row that is still good, such as 60s.")
    ] = "60s",
    until: Annotated[
        Until,
        typer.Option(help="When the measurement ends: with the series, or with the last input rate above 0."),
    ] = Until.SERIES,
    output: OutputOption = Output.TABLE,
) -> None:
    """Compute every metric of a series that was recorded anywhere."""
    scores = asdict(score_series(read_series(series), duration_s("--slo", slo), until=until))
    emit(
        {"apiVersion": API_VERSION, "series": str(series), **scores},
        output,
        [
            table(
                f"{series.name}",
                ("metric", "value"),
                [(name, _plain(value)) for name, value in scores.items()],
            )
        ],
    )


def _plain(value: object) -> object:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else value
