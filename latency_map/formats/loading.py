"""Every file that a map can come from, read down one road: text, delays as it has them, round trips.

Unit and kind are never guessed: the file states them, as ``rtt_ms`` in a heading does, or the caller does. Where
both do, they must agree.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from gesscale.common.errors import unwritable
from latency_map.delays import find_fault
from latency_map.errors import LatencyMapError, error_at
from latency_map.formats.document import document_pieces
from latency_map.formats.forms import MapForm
from latency_map.formats.importing import Imported, import_source
from latency_map.formats.matrix_csv import map_to_matrix
from latency_map.formats.names_text import read_names, read_servers
from latency_map.formats.raw import NO_SIDE_FILES, RawDelays, SideFiles
from latency_map.formats.source import MapSource, open_source
from latency_map.kinds import Asymmetry, DelayKind, DelayUnit
from latency_map.limits import DEFAULT_LIMITS, MapLimits
from latency_map.matrix import LatencyMap
from latency_map.survey import Survey, rule_for


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedMap:
    """A map and what its text was taken for.

    Attributes
    ----------
    latencies
        The map.
    form, reason
        What the text was taken for, and why.
    """

    latencies: LatencyMap
    form: MapForm
    reason: str


def read_side_files(
    *,
    names: Path | str | None = None,
    servers: Path | str | None = None,
    probed_from: str | None = None,
    limits: MapLimits = DEFAULT_LIMITS,
) -> SideFiles:
    """Read what belongs to a file and is not in it.

    Parameters
    ----------
    names
        A file with the name of a node on every line, in the order of the matrix.
    servers
        A table (CSV) with an ``id`` and a ``name`` among its columns.
    probed_from
        The node that sent the pings.
    limits
        How many names there may be.

    Returns
    -------
    SideFiles
        For `read_survey`.

    Raises
    ------
    LatencyMapError
        A file cannot be read, or is no such file.
    """
    listed = named = None
    if names is not None:
        with open_source(names, limits) as source:
            listed = read_names(source)
    if servers is not None:
        with open_source(servers, limits) as source:
            named = read_servers(source)
    return SideFiles(names=listed, servers=named, probed_from=probed_from)


def read_survey(
    file: Path | str | BinaryIO,
    *,
    form: MapForm | None = None,
    unit: DelayUnit | None = None,
    kind: DelayKind | None = None,
    side_files: SideFiles = NO_SIDE_FILES,
    limits: MapLimits = DEFAULT_LIMITS,
) -> Imported:
    """Read a file of any form.

    Parameters
    ----------
    file
        A text file in UTF-8, compressed by gzip or not, or the bytes of one such as standard input.
    form
        What it is; None to tell from the file.
    unit, kind
        What its delays mean; None where the file says so itself.
    side_files
        What belongs to the file and is not in it.
    limits
        How large the map may be; a larger one is refused before memory is taken for it.

    Returns
    -------
    Imported
        The survey, and what the file was taken for.

    Raises
    ------
    LatencyMapError
        It is of no known form, a delay is negative or beyond all, neither file nor caller says what its delays
        mean, or they say different things; the message names the file, and line and column where it has them.
    """
    if isinstance(file, Path | str):
        with open_source(file, limits) as source:
            return import_source(source, form=form, unit=unit, kind=kind, side_files=side_files)
    source = MapSource(file, "standard input", limits)
    return import_source(source, form=form, unit=unit, kind=kind, side_files=side_files)


def parse_survey(
    text: str,
    *,
    source: str = "text",
    form: MapForm | None = None,
    unit: DelayUnit | None = None,
    kind: DelayKind | None = None,
    side_files: SideFiles = NO_SIDE_FILES,
    limits: MapLimits = DEFAULT_LIMITS,
) -> Imported:
    """Do as `read_survey` with text; ``source`` stands for the file in messages."""
    given = MapSource.of_text(text, source, limits)
    return import_source(given, form=form, unit=unit, kind=kind, side_files=side_files)


def read_map(
    path: Path | str,
    unit: DelayUnit | None = None,
    kind: DelayKind | None = None,
    asymmetry: Asymmetry | None = None,
    *,
    limits: MapLimits = DEFAULT_LIMITS,
) -> LoadedMap:
    """Read a file of any form as a map.

    Parameters
    ----------
    path, unit, kind, limits
        As in `read_survey`.
    asymmetry
        What to do where the two directions of a pair differ; see `Survey.rule`.

    Returns
    -------
    LoadedMap
        The map, and what the file was taken for.

    Raises
    ------
    LatencyMapError
        It is no such file, or its survey amounts to no map; the message names file, line and column.
    """
    with open_source(path, limits) as source:
        return _load(source, unit, kind, asymmetry)


def parse_map(
    text: str,
    unit: DelayUnit | None = None,
    kind: DelayKind | None = None,
    asymmetry: Asymmetry | None = None,
    *,
    source: str = "text",
    limits: MapLimits = DEFAULT_LIMITS,
) -> LoadedMap:
    """Do as `read_map` with text; ``source`` stands for the file in messages."""
    return _load(MapSource.of_text(text, source, limits), unit, kind, asymmetry)


def write_survey(survey: Survey, path: Path | str) -> None:
    """Write a survey to a file as JSON; see `latency_map.formats.document`.

    Parameters
    ----------
    survey
        What is written; `read_survey` reads it back exactly.
    path
        The file; one that exists is replaced.

    Raises
    ------
    LatencyMapError
        The file cannot be written.
    """
    _write(document_pieces(survey), path)


def write_csv(latencies: LatencyMap, path: Path | str) -> None:
    """Write a map to a file, as a matrix of round trips in milliseconds, blank where missing.

    Parameters
    ----------
    latencies
        The map; read back exactly, as its corner states unit and kind.
    path
        The file; one that exists is replaced.

    Raises
    ------
    LatencyMapError
        The file cannot be written.
    """
    _write((map_to_matrix(latencies),), path)


def _write(pieces: Iterable[str], path: Path | str) -> None:
    following = iter(pieces)
    first = next(following)  # what cannot be written is said before a file is replaced
    try:
        with Path(path).open("w", encoding="utf-8", newline="\n") as file:
            file.write(first)
            file.writelines(following)
    except (OSError, ValueError) as error:
        raise LatencyMapError(unwritable(path, error)) from None


def _load(
    source: MapSource,
    unit: DelayUnit | None,
    kind: DelayKind | None,
    asymmetry: Asymmetry | None,
) -> LoadedMap:
    def judge(raw: RawDelays, unit: DelayUnit, kind: DelayKind) -> None:
        # one-way delays of both directions are added, so that only round trips can differ
        rule = rule_for(asymmetry, raw.measured_at_s) if kind is DelayKind.RTT else Asymmetry.MEAN
        fault = find_fault(raw.values, unit=unit, kind=kind, asymmetry=rule)
        if fault:
            problem = f"{raw.names[fault.row]} to {raw.names[fault.column]}: {fault.problem}"
            raise error_at(source.name, raw.place(fault.row, fault.column), problem)

    imported = import_source(source, form=None, unit=unit, kind=kind, side_files=NO_SIDE_FILES, judge=judge)
    latencies = imported.survey.to_map(asymmetry)
    return LoadedMap(latencies=latencies, form=imported.form, reason=imported.reason)
