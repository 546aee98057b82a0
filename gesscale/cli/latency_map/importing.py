"""``gesscale latency-map import``: read a file of any form, write the project's own."""

from pathlib import Path
from typing import Annotated

import typer

from gesscale.cli.latency_map.app import Kind, MapTarget, Unit, app, load_survey, plain_errors
from latency_map import write_survey
from latency_map.formats.document import survey_to_document


@app.command("import")
def import_map(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file to import.")],
    *,
    unit: Unit = None,
    kind: Kind = None,
    target: MapTarget = None,
) -> None:
    """Read a file of any form and write it as the project's own JSON."""
    with plain_errors():
        survey = load_survey(file, unit, kind).survey
        if target is None:
            typer.echo(survey_to_document(survey), nl=False)
        else:
            write_survey(survey, target)
