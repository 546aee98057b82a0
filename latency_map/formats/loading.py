"""Files of latency maps: the square CSV matrix and the CSV edge list.

Unit and kind are never guessed: the caller states them. A heading such as ``rtt_ms`` (the corner of a matrix,
the third column of an edge list) is checked against that.
"""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from latency_map.delays import Asymmetry, DelayKind, DelayUnit
from latency_map.errors import LatencyMapError
from latency_map.formats.document import document_to_survey, survey_to_document
from latency_map.formats.edges_csv import edges_to_map, is_edge_heading
from latency_map.formats.matrix_csv import map_to_matrix, matrix_to_map
from latency_map.formats.sheet import Sheet, is_number, read_text
from latency_map.matrix import LatencyMap
from latency_map.survey import Survey


class MapForm(StrEnum):
    """The forms that a file can have."""

    DOCUMENT = "document"
    MATRIX = "matrix"
    EDGES = "edges"


_READERS = {MapForm.MATRIX: matrix_to_map, MapForm.EDGES: edges_to_map}


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """A survey and what its text was taken for.

    Attributes
    ----------
    survey
        The round trips.
    form, reason
        What the text was taken for, and why.
    unit, kind
        What its figures mean, as the text or the caller says.
    warnings
        What looks implausible, for people.
    """

    survey: Survey
    form: MapForm
    reason: str
    unit: DelayUnit
    kind: DelayKind
    warnings: tuple[str, ...] = ()


def read_survey(
    path: Path | str,
    *,
    form: MapForm | None = None,
    unit: DelayUnit | None = None,
    kind: DelayKind | None = None,
) -> Imported:
    """Read a file of any form.

    Parameters
    ----------
    path
        A text file in UTF-8.
    form
        What it is; None to tell from the file.
    unit, kind
        What its delays mean; None where the file says so itself.

    Returns
    -------
    Imported
        The survey, and what the file was taken for.

    Raises
    ------
    LatencyMapError
        It is of no known form, or neither file nor caller says what its delays mean.
    """
    return parse_survey(read_text(path), source=str(path), form=form, unit=unit, kind=kind)


def parse_survey(
    text: str,
    *,
    source: str = "text",
    form: MapForm | None = None,
    unit: DelayUnit | None = None,
    kind: DelayKind | None = None,
) -> Imported:
    """Do as `read_survey` with text; ``source`` stands for the file in messages."""
    if form is MapForm.DOCUMENT or (form is None and text.lstrip().startswith("{")):
        survey = document_to_survey(text, source)
        return Imported(
            survey=survey, form=MapForm.DOCUMENT, reason="it is JSON", unit=DelayUnit.MS, kind=DelayKind.RTT
        )
    if unit is None or kind is None:
        message = f"{source}: expected unit and kind of its delays to be stated; say --unit and --kind"
        raise LatencyMapError(message)
    sheet = Sheet.parse(text, source)
    found, reason = (form, "the caller says so") if form else _recognise(sheet)
    latencies = _READERS[found](sheet, unit=unit, kind=kind, asymmetry=Asymmetry.REFUSE)
    return Imported(
        survey=Survey.of(latencies, origin=source), form=found, reason=reason, unit=unit, kind=kind
    )


def read_map(
    path: Path | str,
    unit: DelayUnit | None = None,
    kind: DelayKind | None = None,
    asymmetry: Asymmetry = Asymmetry.REFUSE,
) -> LoadedMap:
    """Read a file of any form as a map.

    Parameters
    ----------
    path, unit, kind
        As in `read_survey`; one-way delays are doubled.
    asymmetry
        What to do where the two directions of a pair differ.

    Returns
    -------
    LoadedMap
        The map, and what the file was taken for.

    Raises
    ------
    LatencyMapError
        It is no such file, or its survey amounts to no map; the message names file, line and column.
    """
    return parse_map(read_text(path), unit, kind, asymmetry, source=str(path))


def parse_map(
    text: str,
    unit: DelayUnit | None = None,
    kind: DelayKind | None = None,
    asymmetry: Asymmetry = Asymmetry.REFUSE,
    *,
    source: str = "text",
) -> LoadedMap:
    """Do as `read_map` with text; ``source`` stands for the file in messages."""
    if text.lstrip().startswith("{") or unit is None or kind is None:
        imported = parse_survey(text, source=source, unit=unit, kind=kind)
        latencies = imported.survey.to_map(asymmetry)
        return LoadedMap(latencies=latencies, form=imported.form, reason=imported.reason)
    return _load(Sheet.parse(text, source), unit, kind, asymmetry)


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


def read_matrix_csv(
    path: Path | str, *, unit: DelayUnit, kind: DelayKind, asymmetry: Asymmetry = Asymmetry.REFUSE
) -> LatencyMap:
    """Read a square matrix: the names in the first row and, in the same order, in the first column.

    Parameters
    ----------
    path, unit, kind, asymmetry
        As in `read_map`.

    Returns
    -------
    LatencyMap
        A blank cell is a missing delay.

    Raises
    ------
    LatencyMapError
        The file is not such a matrix; the message names file, line and column.
    """
    return matrix_to_map(Sheet.read(path), unit=unit, kind=kind, asymmetry=asymmetry)


def read_edges_csv(
    path: Path | str, *, unit: DelayUnit, kind: DelayKind, asymmetry: Asymmetry = Asymmetry.REFUSE
) -> LatencyMap:
    """Read an edge list: rows ``from,to,delay``, with a heading or without.

    Parameters
    ----------
    path, unit, kind, asymmetry
        As in `read_map`.

    Returns
    -------
    LatencyMap
        Pairs that are not listed are missing; a pair listed in one direction stands for both.

    Raises
    ------
    LatencyMapError
        The file is not such a list; the message names file, line and column.
    """
    return edges_to_map(Sheet.read(path), unit=unit, kind=kind, asymmetry=asymmetry)


def write_csv(latencies: LatencyMap, path: Path | str) -> None:
    """Write a map to a file, as a matrix of round trips in milliseconds, blank where missing.

    Parameters
    ----------
    latencies
        The map; read back exactly with ``unit=DelayUnit.MS, kind=DelayKind.RTT``.
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


def _load(sheet: Sheet, unit: DelayUnit, kind: DelayKind, asymmetry: Asymmetry) -> LoadedMap:
    form, reason = _recognise(sheet)
    latencies = _READERS[form](sheet, unit=unit, kind=kind, asymmetry=asymmetry)
    return LoadedMap(latencies=latencies, form=form, reason=reason)


def _recognise(sheet: Sheet) -> tuple[MapForm, str]:
    first, *rest = sheet.rows
    if first.cells[1:] == tuple(row.cells[0] for row in rest):
        return MapForm.MATRIX, "the first row and the first column hold the same names"
    if is_edge_heading(first):
        return MapForm.EDGES, f"its heading begins with {','.join(first.cells[:2])}"
    if len(first.cells) == 3 and (not first.cells[2] or is_number(first.cells[2])):
        return MapForm.EDGES, "its first row has three cells and the third is a delay"
    return MapForm.MATRIX, "it does not begin like an edge list"
