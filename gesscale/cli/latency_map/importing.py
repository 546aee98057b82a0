"""``gesscale latency-map import``: read a file of any form, write the project's own."""

from datetime import UTC, datetime
from pathlib import Path

import typer

from gesscale.cli.latency_map.make import AUTO, FORMS
from gesscale.cli.latency_map.reading import chosen_limits, load_survey, plain_errors
from gesscale.cli.output import Output, emit, table
from gesscale.errors import InputError
from latency_map import Imported, MapForm, read_side_files, write_survey
from latency_map.formats.document import document_pieces
from latency_map.kinds import DelayKind, DelayUnit
from latency_map.summary import count_pairs


def import_file(
    *,
    file: Path,
    form: str,
    unit: DelayUnit | None,
    kind: DelayKind | None,
    names: Path | None,
    servers: Path | None,
    probed_from: str | None,
    target: Path | None,
    output: Output,
) -> None:
    """Read a file of any form and write it as the project's own JSON."""
    if form not in FORMS:
        message = f"--format: expected one of {', '.join(FORMS)}, got {form!r}"
        raise InputError(message)
    with plain_errors():
        side_files = read_side_files(
            names=names, servers=servers, probed_from=probed_from, limits=chosen_limits()
        )
        chosen = None if form == AUTO else MapForm(form)
        imported = load_survey(file, unit, kind, form=chosen, side_files=side_files)
        if target is None:
            for piece in document_pieces(imported.survey):
                typer.echo(piece, nl=False)
            return
        write_survey(imported.survey, target)
    _report(imported, target, output)


def _report(imported: Imported, target: Path, output: Output) -> None:
    figures = count_pairs(imported.survey)
    document = {
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
    rows = [[key.replace("_", " "), _words(value)] for key, value in document.items()]
    emit(document, output, [table(f"imported into {target}", ["what", "value"], rows)])


def _utc(seconds: float | None) -> str | None:
    """Write a time for people; None where it is unknown or outside the calendar."""
    try:
        return None if seconds is None else datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
    except (ValueError, OverflowError, OSError):
        return None


def _words(value: object) -> str | None:
    if isinstance(value, tuple):
        return "\n".join(value) or None
    return f"{value:.4g}" if isinstance(value, float) else None if value is None else str(value)
