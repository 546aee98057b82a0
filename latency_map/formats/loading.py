"""Every file that a map can come from, read down one road: text, delays as it has them, round trips.

Unit and kind are never guessed: the file states them, as ``rtt_ms`` in a heading does, or the caller does. Where
both do, they must agree.
"""

from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

import numpy as np

from gesscale.common.errors import cause_of
from latency_map.delays import count_differing, direct_round_trips, find_impossible
from latency_map.errors import LatencyMapError, error_at
from latency_map.formats.document import read_document, survey_to_document
from latency_map.formats.matrix_csv import map_to_matrix
from latency_map.formats.recognise import FORMATS, recognise
from latency_map.formats.source import NO_SIDE_FILES, MapSource, RawDelays, SideFiles, read_source
from latency_map.kinds import Asymmetry, DelayKind, DelayUnit, MapFormat
from latency_map.limits import DEFAULT_LIMITS, MapLimits
from latency_map.matrix import LatencyMap
from latency_map.plausibility import find_implausible
from latency_map.survey import Survey


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """A survey and what its text was taken for."""

    #: The round trips.
    survey: Survey
    #: What the text was taken for, and why (map_format, reason).
    map_format: MapFormat
    reason: str
    #: What its figures mean, as the text or the caller says (unit, kind).
    unit: DelayUnit
    kind: DelayKind
    #: What was done on the way, for people.
    notes: tuple[str, ...] = ()
    #: What looks implausible, for people.
    warnings: tuple[str, ...] = ()


def read_survey(
    file: Path | str | BinaryIO,
    *,
    map_format: MapFormat | None = None,
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
    map_format
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
    return _import(read_source(file, limits), map_format, unit, kind, side_files)


def parse_survey(
    text: str,
    *,
    source: str = "text",
    map_format: MapFormat | None = None,
    unit: DelayUnit | None = None,
    kind: DelayKind | None = None,
    side_files: SideFiles = NO_SIDE_FILES,
    limits: MapLimits = DEFAULT_LIMITS,
) -> Imported:
    """Do as `read_survey` with text; ``source`` stands for the file in messages."""
    content = BytesIO(text.encode("utf-8", "surrogatepass"))
    return _import(read_source(content, limits, source), map_format, unit, kind, side_files)


def read_map(
    path: Path | str,
    unit: DelayUnit | None = None,
    kind: DelayKind | None = None,
    asymmetry: Asymmetry | None = None,
    *,
    limits: MapLimits = DEFAULT_LIMITS,
) -> LatencyMap:
    """Read a file of any form as a map.

    Parameters
    ----------
    path, unit, kind, limits
        As in `read_survey`.
    asymmetry
        What to do where the two directions of a pair differ; see `Survey.asymmetry_rule`.

    Raises
    ------
    LatencyMapError
        It is no such file, or its survey amounts to no map.
    """
    survey = read_survey(path, unit=unit, kind=kind, limits=limits).survey
    try:
        return survey.to_map(asymmetry)
    except LatencyMapError as error:
        raise LatencyMapError(f"{path}: {error}") from None


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
        content = text.encode()  # what cannot be written is said before a file is replaced
        Path(path).write_bytes(content)
    except (OSError, ValueError) as error:
        raise LatencyMapError("file-unwritable", source=str(path), cause=cause_of(error)) from None


def _import(
    source: MapSource,
    map_format: MapFormat | None,
    unit: DelayUnit | None,
    kind: DelayKind | None,
    side_files: SideFiles,
) -> Imported:
    reason = "the caller says so"
    if map_format is None:
        map_format, reason = recognise(source)
    _check_side_files(source.name, map_format, side_files)
    if map_format is MapFormat.DOCUMENT:
        survey = read_document(source)
        stated = (DelayUnit.MS, DelayKind.RTT)
        unit, kind = _meaning(source.name, stated, "its unit is ms and its delay is rtt", unit, kind)
        return Imported(survey=survey, map_format=map_format, reason=reason, unit=unit, kind=kind)
    raw = FORMATS[map_format].read(source, side_files)
    unit, kind = _meaning(source.name, (raw.unit, raw.kind), raw.stated_at, unit, kind)
    survey, notes = _to_survey(source.name, raw, unit, kind)
    return Imported(
        survey=survey,
        map_format=map_format,
        reason=reason,
        unit=unit,
        kind=kind,
        notes=notes,
        warnings=raw.warnings + find_implausible(survey, unit=unit),
    )


def _meaning(
    source: str,
    stated: tuple[DelayUnit | None, DelayKind | None],
    stated_at: str,
    unit: DelayUnit | None,
    kind: DelayKind | None,
) -> tuple[DelayUnit, DelayKind]:
    """Bring together what the file states and the caller says of its delays."""
    for name, said, by_file in (("unit", unit, stated[0]), ("kind", kind, stated[1])):
        if said is not None and by_file is not None and said != by_file:
            raise error_at(
                source,
                stated_at,
                f"expected {by_file.value!r} for {name}, got {said.value!r}; leave it out, or correct the file",
            )
    unit, kind = unit or stated[0], kind or stated[1]
    if unit is not None and kind is not None:
        return unit, kind
    asked = {"unit": (unit, "unit (us, ms or s)"), "kind": (kind, "kind (rtt or one-way)")}
    lacking = [name for name, (value, _) in asked.items() if value is None]
    raise LatencyMapError(
        f"{source}: expected {' and '.join(lacking)} of its delays to be stated, the file does not say;"
        f" say {' and '.join(asked[name][1] for name in lacking)};"
        f" `gesscale latency-map` takes this as {' and '.join(f'--{name}' for name in lacking)}"
    )


def _to_survey(source: str, raw: RawDelays, unit: DelayUnit, kind: DelayKind) -> tuple[Survey, tuple[str, ...]]:
    """Make the round trips of delays, in the memory where they are, and return notes on what was done."""
    fault = find_impossible(raw.values, unit=unit, kind=kind)
    if fault:
        raise error_at(
            source,
            raw.place(fault.row, fault.column),
            f"{raw.names[fault.row]} to {raw.names[fault.column]}: {fault.problem}",
        )
    notes = raw.notes
    if kind is DelayKind.ONE_WAY:
        differing = count_differing(raw.values)
        notes += (
            "one-way delays of both directions added up, of one direction doubled; pairs that differ by direction:"
            f" {differing}",
        )
    rtt_ms = raw.values
    direct_round_trips(rtt_ms, unit=unit, kind=kind)
    to_itself = rtt_ms.diagonal()
    np.fill_diagonal(rtt_ms, np.where(np.isnan(to_itself), 0.0, to_itself))
    rtt_ms += 0.0  # -0.0 becomes 0.0
    rtt_ms.setflags(write=False)
    survey = Survey(names=raw.names, rtt_ms=rtt_ms, measured_at_s=raw.measured_at_s, origin=source)
    return survey, notes


def _check_side_files(source: str, map_format: MapFormat, side_files: SideFiles) -> None:
    for name, option in (("names", "--names"), ("probed_from", "--source")):
        takers = [each for each, row in FORMATS.items() if name in row.takes]
        if getattr(side_files, name) is not None and map_format not in takers:
            listed = ", ".join(sorted(takers))
            raise LatencyMapError(
                f"{source}: expected no {option} with a file of the form {map_format.value}; it is for {listed}"
            )
