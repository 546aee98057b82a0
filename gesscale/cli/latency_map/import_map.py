"""``latency-map import``: a map from a file of any format."""

from pathlib import Path
from typing import Annotated

import typer

from gesscale.cli.latency_map.options import Kind, MapTarget, Unit
from gesscale.cli.output import Output, OutputOption, table
from latency_map.kinds import MapFormat

app = typer.Typer()


@app.command(
    "import",
    rich_help_panel="Create a map",
    epilog="Example: gesscale latency-map import delays.csv --unit ms --kind rtt --to map.json",
)
def import_map(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file to import; - for standard input.")],
    *,
    map_format: Annotated[
        MapFormat | None, typer.Option("--format", help="Format of the file; detected by default.")
    ] = None,
    unit: Unit = None,
    kind: Kind = None,
    names: Annotated[
        Path | None, typer.Option(help="File with names of nodes, one per line, for a matrix or list without names.")
    ] = None,
    probed_from: Annotated[str | None, typer.Option("--source", help="The node that ping or fping ran on.")] = None,
    from_column: Annotated[
        str | None, typer.Option("--from", metavar="COLUMN", help="Column or key of the node that a delay is from.")
    ] = None,
    to_column: Annotated[
        str | None, typer.Option("--to-node", metavar="COLUMN", help="Column or key of the node that a delay is to.")
    ] = None,
    delay_column: Annotated[
        str | None, typer.Option("--delay", metavar="COLUMN", help="Column or key of the delay.")
    ] = None,
    unit_column: Annotated[
        str | None, typer.Option("--unit-column", metavar="COLUMN", help="Column or key of the unit.")
    ] = None,
    links: Annotated[
        bool | None,
        typer.Option(
            help="The delays are those of links, and shortest paths are computed; or measurements, which stay as they "
            "are. Default: links for a graph with less than 80 % of all pairs, else measurements.",
            show_default=False,
        ),
    ] = None,
    target: MapTarget = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Read a file of any format and write it as native JSON."""
    from gesscale.cli.latency_map.map_files import emit_map, limits_from_options, load_survey
    from gesscale.cli.latency_map.show import summary_facts
    from latency_map import ImportOptions, read_names
    from latency_map.summary import summarise

    listed = None if names is None else read_names(names, limits_from_options())
    options = ImportOptions(
        names=listed,
        probed_from=probed_from,
        from_column=from_column,
        to_column=to_column,
        delay_column=delay_column,
        unit_column=unit_column,
        links=links,
    )
    imported = load_survey(file, unit, kind, map_format=map_format, options=options)
    summary = summarise(imported.survey)
    document = {
        "format": imported.map_format,
        "reason": imported.reason,
        "unit": imported.unit,
        "kind": imported.kind,
        "summary": summary,
        "measured_at_s": imported.survey.measured_at_s,
        "notes": [note.as_json() for note in imported.notes],
        "warnings": [warning.as_json() for warning in imported.warnings],
    }
    figures = [("unit", imported.unit), ("kind", imported.kind), *summary_facts(summary)]
    emit_map(imported.survey, target, document, output, [table("imported", ["figure", "value"], figures)])
