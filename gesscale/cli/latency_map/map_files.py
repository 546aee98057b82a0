"""Input and output of maps for commands."""

import sys
import time
from collections.abc import Sequence
from pathlib import Path

import typer
from rich.console import Console
from rich.table import Table

from gesscale.cli.latency_map.options import max_nodes_option
from gesscale.cli.output import Output, emit, print_tables, room, stderr_console, warn
from gesscale.common.errors import Problem
from gesscale.errors import InputError
from latency_map import (
    DEFAULT_OPTIONS,
    Asymmetry,
    DelayKind,
    DelayUnit,
    Imported,
    ImportOptions,
    LatencyMap,
    LatencyMapError,
    MapFormat,
    MapLimits,
    Survey,
    read_survey,
    write_survey,
)
from latency_map.document import survey_to_document
from latency_map.errors import error_of
from latency_map.limits import DEFAULT_LIMITS
from latency_map.plausibility import age_problem


def limits_from_options() -> MapLimits:
    """Return the limits on a map that is read, from the options of the current command."""
    nodes = max_nodes_option.get()
    return DEFAULT_LIMITS if nodes is None else MapLimits(nodes=nodes)


def load_survey(
    file: Path,
    unit: DelayUnit | None,
    kind: DelayKind | None,
    *,
    map_format: MapFormat | None = None,
    options: ImportOptions = DEFAULT_OPTIONS,
) -> Imported:
    """Read a survey from a file, or from standard input for ``-``, and report on stderr how it was interpreted."""
    given = sys.stdin.buffer if str(file) == "-" else file
    imported = read_survey(
        given, unit=unit, kind=kind, map_format=map_format, options=options, limits=limits_from_options()
    )
    stderr_console.print(f"{file} read as {imported.map_format.value}: {imported.reason}")
    for note in imported.notes:
        stderr_console.print(f"  {note}")
    warn(imported.warnings)
    return imported


def load_map(file: Path, unit: DelayUnit | None, kind: DelayKind | None, asymmetry: Asymmetry | None) -> LatencyMap:
    """Read a map for decisions, and report on stderr how the file was interpreted."""
    imported = load_survey(file, unit, kind)
    age = age_problem(imported.survey, time.time())
    warn([age] if age.code in ("map-old", "map-from-future") else [])
    return map_of(imported, file, asymmetry)


def map_of(imported: Imported, file: Path, asymmetry: Asymmetry | None) -> LatencyMap:
    """Return the map of a survey that was read from a file, and warn of missing pairs."""
    try:
        latencies = imported.survey.to_map(asymmetry)
    except LatencyMapError as error:
        raise error_of(*error.problems, source=str(file)) from None
    if missing := len(latencies.missing()):
        pairs = len(latencies) * (len(latencies) - 1) // 2
        warn([Problem("map-incomplete", {"source": str(file), "missing": missing, "pairs": pairs})])
    return latencies


def emit_map(
    survey: Survey | None, target: Path | None, document: object, output: Output, tables: Sequence[Table]
) -> None:
    """Write a map to its file and the report to stdout, or the map to stdout and the report to stderr."""
    if target is not None:
        if survey is not None:
            write_survey(survey, target)
            stderr_console.print(f"map written to {target}")
        emit(document, output, tables)
        return
    print_tables(tables, Console(stderr=True, soft_wrap=True, width=room(), quiet=stderr_console.quiet))
    if survey is not None:
        typer.echo(survey_to_document(survey), nl=False)


def split_names(listing: str) -> list[str]:
    """Return the names in a list separated by commas."""
    return [name.strip() for name in listing.split(",") if name.strip()]


def require_names(option: str, listing: str) -> list[str]:
    """Return the names in a list separated by commas; raise if there is none."""
    names = split_names(listing)
    if not names:
        raise InputError("option-names-missing", source=option, got=listing)
    return names
