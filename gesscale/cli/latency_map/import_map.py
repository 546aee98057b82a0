"""``latency-map import``: a map from a file of any form."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gesscale.cli.latency_map.options import Kind, MapTarget, Unit
from gesscale.cli.output import Output, OutputOption, emit, table
from latency_map.kinds import MapForm

if TYPE_CHECKING:
    from latency_map import Imported

app = typer.Typer()


@app.command(
    "import",
    rich_help_panel="Make a map",
    epilog="Example: gesscale latency-map import delays.csv --unit ms --kind rtt --to map.json",
)
def import_map(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file to import; - for standard input.")],
    *,
    form: Annotated[
        MapForm | None,
        typer.Option("--format", help="What the file is; told from how it begins unless said."),
    ] = None,
    unit: Unit = None,
    kind: Kind = None,
    names: Annotated[
        Path | None,
        typer.Option(help="Names of nodes, one per line, for a matrix or list without names."),
    ] = None,
    probed_from: Annotated[
        str | None, typer.Option("--source", help="The node that ping or fping ran on.")
    ] = None,
    target: MapTarget = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Read a file of any form and write it as the project's own JSON."""
    from gesscale.cli.latency_map.reading import chosen_limits, load_survey
    from latency_map import SideFiles, read_names, write_survey
    from latency_map.formats.document import survey_to_document

    listed = None if names is None else read_names(names, chosen_limits())
    side_files = SideFiles(names=listed, probed_from=probed_from)
    imported = load_survey(file, unit, kind, form=form, side_files=side_files)
    if target is None:
        typer.echo(survey_to_document(imported.survey), nl=False)
        return
    write_survey(imported.survey, target)
    document = _import_document(imported, target)
    rows = [[key.replace("_", " "), _words(value)] for key, value in document.items()]
    emit(document, output, [table(f"imported into {target}", ["what", "value"], rows)])


def _import_document(imported: "Imported", target: Path) -> dict[str, object]:
    from latency_map.summary import summarise

    figures = summarise(imported.survey)
    return {
        "map": str(target),
        "form": imported.form,
        "reason": imported.reason,
        "unit": imported.unit,
        "kind": imported.kind,
        "nodes": figures.nodes,
        "pairs": figures.pairs,
        "missing_pairs": figures.missing_pairs,
        "one_way_pairs": figures.one_way_pairs,
        "median_ms": figures.median_ms,
        "max_ms": figures.max_ms,
        "asymmetric_ratio": figures.asymmetric_ratio,
        "measured_at": _utc(imported.survey.measured_at_s),
        "notes": imported.notes,
        "warnings": imported.warnings,
    }


def _utc(seconds: float | None) -> str | None:
    """Write a time for people; None where it is unknown or outside the calendar."""
    from datetime import UTC, datetime

    try:
        return None if seconds is None else datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
    except (ValueError, OverflowError, OSError):
        return None


def _words(value: object) -> str | None:
    if isinstance(value, tuple):
        return "\n".join(value) or None
    return f"{value:.4g}" if isinstance(value, float) else None if value is None else str(value)
