"""``gesscale page``: a recorded run to look at."""

from pathlib import Path
from typing import Annotated

import typer

from gesscale.cli.output import stderr_console

_FAULTS_SHOWN = 3


def page(
    record: Annotated[Path, typer.Argument(help="The folder that a run left, such as a report of the demo.")],
    *,
    target: Annotated[
        Path | None,
        typer.Option(
            "--to", metavar="FILE.html", help="Default: page.html in the folder.", show_default=False
        ),
    ] = None,
) -> None:
    """Write a recorded run as one HTML file that a browser opens, with a slider over its time."""
    from gesscale.service.recorded import write_page

    file = target or record / "page.html"
    faults = write_page(record, file)
    for complaint in faults[:_FAULTS_SHOWN]:
        stderr_console.print(f"left out: {complaint}")
    if faults:
        stderr_console.print(f"lines left out: {len(faults)}")
    stderr_console.print(f"open {file} in a browser")
