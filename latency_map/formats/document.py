"""The project's own form: JSON with a version of its schema, which holds a survey exactly."""

import json
import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from latency_map.delays import MAX_RTT_MS, Delays
from latency_map.errors import LatencyMapError
from latency_map.formats.json_text import Json, as_number, kind_of
from latency_map.formats.raw import check_file_names, error_at
from latency_map.survey import Mask, Spread, Survey

API_VERSION = "gesscale.dev/v1"
KIND = "LatencyMap"
_FIXED = {"kind": KIND, "unit": "ms", "delay": "rtt"}
_REQUIRED = ("apiVersion", "kind", "unit", "delay", "nodes", "rtt_ms")
_OPTIONAL = ("origin", "measured_at_s", "changes", "estimated", "spread")
_SPREAD = ("p95_ms", "jitter_ms", "loss_ratio")


def survey_to_document(survey: Survey) -> str:
    """Write a survey as JSON, one row of the matrix a line.

    Parameters
    ----------
    survey
        What is written.

    Returns
    -------
    str
        The document: round trips in milliseconds, null where missing; ``estimated`` lists, row by row, the
        columns that a repair filled in.

    Raises
    ------
    LatencyMapError
        The spread holds infinity, which JSON cannot.
    """
    return "".join(_pieces(survey))


def is_document(content: Json) -> bool:
    """Tell whether a piece of JSON claims to be a document of ours, of whatever version."""
    return isinstance(content, dict) and ("apiVersion" in content or content.get("kind") == KIND)


def content_to_survey(content: Json, source: str) -> Survey:
    """Read a document that `survey_to_document` wrote.

    Parameters
    ----------
    content
        Its JSON, parsed.
    source
        Names it in messages.

    Returns
    -------
    Survey
        Exactly what was written.

    Raises
    ------
    LatencyMapError
        It is no such document, or of a version that this program does not know; the message says where.
    """
    if not isinstance(content, dict):
        raise error_at(source, "", f"expected a {KIND} document, got {kind_of(content)}")
    _check_version(content, source)
    names = _strings(content, "nodes", source)
    check_file_names(f"{source}, nodes", names)
    rtt_ms = _matrix(content["rtt_ms"], len(names), "rtt_ms", source, most=MAX_RTT_MS)
    estimated = _mask(content.get("estimated", []), len(names), source)
    origin = content.get("origin", "")
    if not isinstance(origin, str):
        raise error_at(source, "origin", f"expected text, got {kind_of(origin)}")
    return Survey(
        names=names,
        rtt_ms=rtt_ms,
        estimated=estimated,
        measured_at_s=_time(content.get("measured_at_s"), source),
        origin=origin,
        spread=_spread(content.get("spread"), len(names), source),
        changes=_strings(content, "changes", source),
    )


def _pieces(survey: Survey) -> Iterator[str]:
    head = {
        "apiVersion": API_VERSION,
        **_FIXED,
        "origin": survey.origin,
        "measured_at_s": survey.measured_at_s,
        "changes": survey.changes,
        "nodes": survey.names,
    }
    yield json.dumps(head, indent=1).removesuffix("\n}")
    yield from _rows("rtt_ms", survey.rtt_ms)
    if survey.estimated.any():
        filled = ",\n  ".join(json.dumps(np.nonzero(row)[0].tolist()) for row in survey.estimated)
        yield f',\n "estimated": [\n  {filled}\n ]'
    if survey.spread is not None:
        yield ',\n "spread": {"unit": "ms"'
        for key in _SPREAD:
            yield from _rows(key, getattr(survey.spread, key))
        yield "\n }"
    yield "\n}\n"


def _rows(key: str, matrix: Delays) -> Iterator[str]:
    yield f',\n "{key}": [\n  '
    for index, row in enumerate(matrix):
        cells = [None if math.isnan(cell) else cell for cell in row.tolist()]
        try:
            yield (",\n  " if index else "") + json.dumps(cells, allow_nan=False)
        except ValueError:
            message = f"{key}: expected finite numbers, got infinity from node {index}; correct it"
            raise LatencyMapError(message) from None
    yield "\n ]"


def _check_version(content: dict[str, Json], source: str) -> None:
    version = content.get("apiVersion")
    if version != API_VERSION:
        problem = f"expected {API_VERSION}, got {kind_of(version)}"
        todo = "read it with the version of gesscale that wrote it, and have that one write a matrix (CSV)"
        raise error_at(source, "apiVersion", f"{problem}; {todo}")
    for key, expected in _FIXED.items():
        if content.get(key) != expected:
            raise error_at(source, key, f"expected {expected!r}, got {kind_of(content.get(key))}")
    absent = [key for key in _REQUIRED if key not in content]
    if absent:
        raise error_at(source, "", f"expected the key {absent[0]!r} in a {KIND} document, got none; add it")
    unknown = [key for key in content if key not in _REQUIRED + _OPTIONAL]
    if unknown:
        listed = ", ".join(_REQUIRED + _OPTIONAL)
        problem = f"expected one of {listed}, got the key {kind_of(unknown[0])}; correct or remove it"
        raise error_at(source, "", problem)


def _strings(content: dict[str, Json], key: str, source: str) -> tuple[str, ...]:
    listed = content.get(key, [])
    if not isinstance(listed, list):
        raise error_at(source, key, f"expected a list of texts, got {kind_of(listed)}")
    for index, item in enumerate(listed):
        if not isinstance(item, str):
            raise error_at(source, f"{key}[{index}]", f"expected text, got {kind_of(item)}")
    return tuple(str(item) for item in listed)


def _matrix(content: Json, count: int, key: str, source: str, *, most: float = math.inf) -> Delays:
    matrix = np.empty((count, count))
    for index, row in enumerate(_lists(content, count, key, source)):
        if len(row) != count:
            problem = f"expected {count} cells, one for each node, got {len(row)}"
            raise error_at(source, f"{key}[{index}]", problem)
        if not set(map(type, row)) <= {float, int, type(None)}:
            wrong = next(at for at, cell in enumerate(row) if cell is not None and as_number(cell) is None)
            problem = f"expected a number or null, got {kind_of(row[wrong])}"
            raise error_at(source, f"{key}[{index}][{wrong}]", problem)
        try:
            matrix[index] = np.array(row, dtype=np.float64)  # None becomes NaN
        except OverflowError:
            raise error_at(source, f"{key}[{index}]", "expected delays, got a number beyond all") from None
    wrong_cells = np.argwhere((matrix < 0) | (matrix > most) | np.isinf(matrix))
    if len(wrong_cells):
        row_index, column = wrong_cells[0]
        cell = matrix[row_index, column]
        problem = f"expected a number from 0 to {most:g}, infinity excluded, got {cell:g}"
        raise error_at(source, f"{key}[{row_index}][{column}]", problem)
    return matrix


def _lists(content: Json, count: int, key: str, source: str) -> Sequence[list[Json]]:
    if not isinstance(content, list) or len(content) != count:
        problem = f"expected {count} rows, one for each node, got {kind_of(content)}"
        raise error_at(source, key, problem)
    for index, row in enumerate(content):
        if not isinstance(row, list):
            raise error_at(source, f"{key}[{index}]", f"expected a list of cells, got {kind_of(row)}")
    return [row for row in content if isinstance(row, list)]


def _mask(content: Json, count: int, source: str) -> Mask:
    mask: NDArray[np.bool_] = np.zeros((count, count), dtype=bool)
    if content == []:
        return mask
    for index, columns in enumerate(_lists(content, count, "estimated", source)):
        for column in columns:
            if isinstance(column, bool) or not isinstance(column, int) or not 0 <= column < count:
                problem = f"expected columns from 0 to {count - 1}, got {kind_of(column)}"
                raise error_at(source, f"estimated[{index}]", problem)
            mask[index, column] = True
    return mask


def _time(content: Json, source: str) -> float | None:
    seconds = as_number(content)
    if content is not None and (seconds is None or not math.isfinite(seconds)):
        problem = f"expected seconds since 1970 or null, got {kind_of(content)}"
        raise error_at(source, "measured_at_s", problem)
    return seconds


def _spread(content: Json, count: int, source: str) -> Spread | None:
    if content is None:
        return None
    keys = {"unit", *_SPREAD}
    if not isinstance(content, dict) or content.keys() != keys or content["unit"] != "ms":
        problem = f"expected an object of {', '.join(sorted(keys))}, in ms, got {kind_of(content)}"
        raise error_at(source, "spread", problem)
    p95_ms, jitter_ms = (_matrix(content[key], count, f"spread.{key}", source) for key in _SPREAD[:2])
    loss_ratio = _matrix(content["loss_ratio"], count, "spread.loss_ratio", source, most=1.0)
    return Spread(p95_ms=p95_ms, jitter_ms=jitter_ms, loss_ratio=loss_ratio)
