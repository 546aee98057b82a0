"""Every file that a map can come from, read down one road: text, delays as it has them, round trips.

Unit and kind are never guessed: the file states them, as ``rtt_ms`` in a heading does, or the caller does. Where
both do, they must agree.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from latency_map.delays import Asymmetry, DelayKind, DelayUnit, find_fault
from latency_map.errors import LatencyMapError
from latency_map.formats.document import survey_to_document
from latency_map.formats.importing import Imported, import_source
from latency_map.formats.matrix_csv import map_to_matrix
from latency_map.formats.pings_csv import read_servers
from latency_map.formats.raw import NOTHING_ASIDE, Aside, error_at
from latency_map.formats.recognise import MapForm
from latency_map.formats.source import Source, open_source
from latency_map.matrix import LatencyMap
from latency_map.survey import Survey


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


def read_aside(
    *, names: Path | str | None = None, servers: Path | str | None = None, probed_from: str | None = None
) -> Aside:
    """Read what belongs to a file and is not in it.

    Parameters
    ----------
    names
        A file with the name of a node on every line, in the order of the matrix.
    servers
        A table (CSV) with an ``id`` and a ``name`` among its columns.
    probed_from
        The node that sent the pings.

    Returns
    -------
    Aside
        For `read_survey`.

    Raises
    ------
    LatencyMapError
        A file cannot be read, or is no such file.
    """
    listed = named = None
    if names is not None:
        with open_source(names) as source:
            listed = tuple(line.strip() for line in source.lines() if line.strip())
    if servers is not None:
        with open_source(servers) as source:
            named = read_servers(source)
    return Aside(names=listed, servers=named, probed_from=probed_from)


def read_survey(
    file: Path | str | BinaryIO,
    *,
    form: MapForm | None = None,
    unit: DelayUnit | None = None,
    kind: DelayKind | None = None,
    aside: Aside = NOTHING_ASIDE,
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
    aside
        What belongs to the file and is not in it.

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
        with open_source(file) as source:
            return import_source(source, form=form, unit=unit, kind=kind, aside=aside)[0]
    source = Source(file, "standard input")
    return import_source(source, form=form, unit=unit, kind=kind, aside=aside)[0]


def parse_survey(
    text: str,
    *,
    source: str = "text",
    form: MapForm | None = None,
    unit: DelayUnit | None = None,
    kind: DelayKind | None = None,
    aside: Aside = NOTHING_ASIDE,
) -> Imported:
    """Do as `read_survey` with text; ``source`` stands for the file in messages."""
    return import_source(Source.of_text(text, source), form=form, unit=unit, kind=kind, aside=aside)[0]


def read_map(
    path: Path | str,
    unit: DelayUnit | None = None,
    kind: DelayKind | None = None,
    asymmetry: Asymmetry | None = None,
) -> LoadedMap:
    """Read a file of any form as a map.

    Parameters
    ----------
    path, unit, kind
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
    with open_source(path) as source:
        return _load(source, unit, kind, asymmetry)


def parse_map(
    text: str,
    unit: DelayUnit | None = None,
    kind: DelayKind | None = None,
    asymmetry: Asymmetry | None = None,
    *,
    source: str = "text",
) -> LoadedMap:
    """Do as `read_map` with text; ``source`` stands for the file in messages."""
    return _load(Source.of_text(text, source), unit, kind, asymmetry)


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
    _write(survey_to_document(survey), path)


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
    _write(map_to_matrix(latencies), path)


def _write(text: str, path: Path | str) -> None:
    try:
        Path(path).write_text(text, encoding="utf-8", newline="\n")
    except (OSError, ValueError) as error:
        message = f"{path}: expected a file that can be written, got: {error}; choose another path"
        raise LatencyMapError(message) from None


def _load(
    source: Source,
    unit: DelayUnit | None,
    kind: DelayKind | None,
    asymmetry: Asymmetry | None,
) -> LoadedMap:
    imported, raw = import_source(source, form=None, unit=unit, kind=kind, aside=NOTHING_ASIDE)
    # one-way delays of both directions are added, so that only round trips can differ
    rule = imported.survey.rule(asymmetry) if imported.kind is DelayKind.RTT else Asymmetry.MEAN
    fault = find_fault(raw.values, unit=imported.unit, kind=imported.kind, asymmetry=rule)
    if fault:
        problem = f"{raw.names[fault.row]} to {raw.names[fault.column]}: {fault.problem}"
        raise error_at(source.name, raw.place(fault.row, fault.column), problem)
    latencies = imported.survey.to_map(asymmetry)
    return LoadedMap(latencies=latencies, form=imported.form, reason=imported.reason)
