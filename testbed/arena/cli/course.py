"""``gesscale arena course``: its options."""

from pathlib import Path
from typing import Annotated

import typer

from testbed.arena.cli.arguments import ResultsFolderArgument


def course(
    folder: ResultsFolderArgument,
    *,
    policy: Annotated[str, typer.Option("--policy", help="Whose run.")],
    workload: Annotated[
        str, typer.Option("--workload", metavar="NAME|FILE", help="On which load. Default: the first.")
    ] = "",
    seed: Annotated[
        int | None, typer.Option("--seed", help="Default: the first.", show_default=False)
    ] = None,
    variant: Annotated[
        str | None, typer.Option("--variant", help="Default: the first.", show_default=False)
    ] = None,
    target: Annotated[
        Path, typer.Option("--to", metavar="FOLDER", help="Where the record and its page.html go.")
    ] = Path("course"),
) -> None:
    """Play one run again, and keep every decision and every batch of it: a record to look at and to replay."""
    from testbed.arena.cli.recording import record_course

    record_course(folder=folder, policy=policy, workload=workload, seed=seed, variant=variant, target=target)
