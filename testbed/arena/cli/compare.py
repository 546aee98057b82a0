"""``gesscale arena compare`` and ``report``: their options."""

from pathlib import Path
from typing import Annotated

import typer

from gesscale.cli.output import Output, OutputOption
from testbed.arena.cli.arguments import ResultsFolderArgument

MOST_COURSES = 200
"""Pages of courses that one report links to."""

BaselineOption = Annotated[
    str | None,
    typer.Option("--baseline", metavar="POLICY", help="Default: the experiment's first.", show_default=False),
]


def compare(
    folder: ResultsFolderArgument,
    *,
    baseline: BaselineOption = None,
    metric: Annotated[
        list[str] | None, typer.Option("--metric", help="Only this one; repeatable. Default: the usual ones.")
    ] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Compare every policy with a baseline, seed by seed: means, ratios, how often it was better."""
    from testbed.arena.cli.comparing import compare_policies

    compare_policies(folder=folder, baseline=baseline, metric=metric, output=output)


def report(
    folder: ResultsFolderArgument,
    *,
    file: Annotated[
        Path, typer.Option("--to", metavar="FILE.html", help="Where the page is written.")
    ] = Path("report.html"),
    baseline: BaselineOption = None,
    courses: Annotated[
        int,
        typer.Option(
            "--courses",
            metavar="N",
            min=0,
            max=MOST_COURSES,
            help="So many courses get a page with every decision, next to the report; each run is played again.",
        ),
    ] = 8,
) -> None:
    """Write results as one HTML page: the course of a run of each policy, and the comparison."""
    from testbed.arena.cli.comparing import write_page

    write_page(folder=folder, file=file, baseline=baseline, courses=courses)
