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
    target: MapTarget = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Read a file of any format and write it as native JSON."""
    from gesscale.cli.latency_map.map_files import emit_map, limits_from_options, load_survey
    from gesscale.cli.latency_map.show import summary_facts
    from latency_map import ImportOptions, read_names
    from latency_map.summary import summarise

    listed = None if names is None else read_names(names, limits_from_options())
    options = ImportOptions(names=listed, probed_from=probed_from)
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
