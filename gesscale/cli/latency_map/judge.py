"""``latency-map check``, ``repair``, ``show``, ``diff``: their options."""

from pathlib import Path
from typing import Annotated

import typer

from gesscale.cli.latency_map.arguments import (
    Kind,
    MapFile,
    MapTarget,
    Symmetry,
    Unit,
)
from gesscale.cli.output import Output, OutputOption
from latency_map.kinds import Asymmetry, Fill, Symmetrise


def check_map(
    file: MapFile,
    *,
    unit: Unit = None,
    kind: Kind = None,
    asymmetry: Symmetry = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Say what is wrong with a map and what to do; exit code 3 where it cannot be decided by as it is."""
    from gesscale.cli.latency_map.quality import check_file

    check_file(file=file, unit=unit, kind=kind, asymmetry=asymmetry, output=output)


def repair_map(
    file: MapFile,
    *,
    unit: Unit = None,
    kind: Kind = None,
    target: MapTarget = None,
    drop: Annotated[str, typer.Option("--drop", help="Nodes to leave out, by commas.")] = "",
    zero_diagonal: Annotated[
        bool, typer.Option("--zero-diagonal", help="Set every node 0 ms from itself.")
    ] = False,
    drop_zeros: Annotated[
        bool, typer.Option("--drop-zeros", help="Take 0 ms between two nodes as missing.")
    ] = False,
    symmetrise: Annotated[
        Symmetrise | None, typer.Option("--symmetrise", help="Make the two directions of a pair one.")
    ] = None,
    fill: Annotated[
        Fill, typer.Option("--fill", help="Estimate pairs without a measurement; they are marked.")
    ] = Fill.NONE,
    drop_incomplete: Annotated[
        bool, typer.Option("--drop-incomplete", help="Leave out nodes until no pair is missing.")
    ] = False,
    seed: Annotated[int, typer.Option("--seed", help="Of the coordinates.", min=0)] = 0,
    output: OutputOption = Output.TABLE,
) -> None:
    """Repair a map and say what was changed: the steps are taken in the order of the options here."""
    from gesscale.cli.latency_map.quality import repair_file

    repair_file(
        file=file,
        unit=unit,
        kind=kind,
        target=target,
        drop=drop,
        zero_diagonal=zero_diagonal,
        drop_zeros=drop_zeros,
        symmetrise=symmetrise,
        fill=fill,
        drop_incomplete=drop_incomplete,
        seed=seed,
        output=output,
    )


Members = Annotated[
    str, typer.Option("--members", help="A placement, by commas: its NDmax, highlighted in pictures.")
]


def show(
    file: MapFile,
    *,
    unit: Unit = None,
    kind: Kind = None,
    heat_map: Annotated[
        Path | None, typer.Option("--heat-map", metavar="FILE", help="Draw a heat map: a .png or .svg file.")
    ] = None,
    picture: Annotated[
        Path | None,
        typer.Option("--picture", metavar="FILE", help="Draw nodes and links: a .png or .svg file."),
    ] = None,
    members: Members = "",
    asymmetry: Annotated[
        Asymmetry,
        typer.Option("--asymmetry", help="What the figures take where two directions differ; refuse is max."),
    ] = Asymmetry.MAX,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show a map, sound or not: figures, clusters, round trips in milliseconds, pictures."""
    from gesscale.cli.latency_map.looking import show_file

    show_file(
        file=file,
        unit=unit,
        kind=kind,
        heat_map=heat_map,
        picture=picture,
        members=members,
        asymmetry=asymmetry,
        output=output,
    )


def diff(
    before: Annotated[Path, typer.Argument(metavar="A", help="A latency map, of any form.")],
    after: Annotated[Path, typer.Argument(metavar="B", help="Another one.")],
    *,
    unit: Unit = None,
    kind: Kind = None,
    tolerance_ms: Annotated[
        float, typer.Option("--tolerance-ms", help="Round trips no farther apart than this are equal.")
    ] = 0.0,
    tolerance_ratio: Annotated[
        float, typer.Option("--tolerance-ratio", help="Nor those no farther apart than this share of A's.")
    ] = 0.0,
    members: Members = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Say what B says otherwise than A; exit code 0 where they are equal within the tolerance, 3 if not.

    The tolerance is the larger of --tolerance-ms and --tolerance-ratio. Unit and kind are for the files that do
    not say theirs.
    """
    from gesscale.cli.latency_map.comparing import compare_files

    compare_files(
        before=before,
        after=after,
        unit=unit,
        kind=kind,
        tolerance_ms=tolerance_ms,
        tolerance_ratio=tolerance_ratio,
        members=members,
        output=output,
    )
