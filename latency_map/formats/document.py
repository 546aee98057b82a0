"""The project's own form: JSON with a version of its schema, which holds a survey exactly."""

import json
import math
from collections.abc import Iterator

import numpy as np

from gesscale.common import API_VERSION
from latency_map.delays import MAX_RTT_MS, Delays
from latency_map.errors import LatencyMapError, error_at
from latency_map.formats.json_text import Json, as_number, kind_of
from latency_map.formats.raw import check_file_names
from latency_map.formats.source import MapSource
from latency_map.survey import Mask, Spread, Survey

KIND = "LatencyMap"
FIXED = {"kind": KIND, "unit": "ms", "delay": "rtt"}
"""What every document says of itself, in addition to its version."""

SPREAD = ("p95_ms", "jitter_ms", "loss_ratio")
"""The matrices of a spread."""

_REQUIRED = ("apiVersion", "kind", "unit", "delay", "nodes", "rtt_ms")
_OPTIONAL = ("origin", "measured_at_s", "changes", "estimated", "spread")


def survey_to_document(survey: Survey) -> str:
    """Write a survey as JSON; see `document_pieces`."""
    return "".join(document_pieces(survey))


def document_pieces(survey: Survey) -> Iterator[str]:
    """Write a survey as JSON, one row of the matrix a line.

    Yields
    ------
    str
        The next piece of the document; the first comes after all checks. Round trips are in milliseconds, null
        where missing; ``estimated`` lists, row by row, the columns that a repair filled in.

    Raises
    ------
    LatencyMapError
        The spread holds infinity, which JSON cannot.
    """
    if survey.spread is not None:
        for key in SPREAD:
            _refuse_infinity(key, getattr(survey.spread, key))
    head = {
        "apiVersion": API_VERSION,
        **FIXED,
        "origin": survey.origin,
        "measured_at_s": survey.measured_at_s,
        "changes": survey.changes,
        "nodes": survey.names,
    }
    yield json.dumps(head, indent=1).removesuffix("\n}")
    yield from _rows("rtt_ms", survey.rtt_ms)
    if survey.estimated.any():
        yield ',\n "estimated": [\n  '
        for index, row in enumerate(survey.estimated):
            yield (",\n  " if index else "") + json.dumps(np.nonzero(row)[0].tolist())
        yield "\n ]"
    if survey.spread is not None:
        yield ',\n "spread": {"unit": "ms"'
        for key in SPREAD:
            yield from _rows(key, getattr(survey.spread, key))
        yield "\n }"
    yield "\n}\n"


def _rows(key: str, matrix: Delays) -> Iterator[str]:
    yield f',\n "{key}": [\n  '
    for index, row in enumerate(matrix):
        cells = [None if math.isnan(cell) else cell for cell in row.tolist()]
        yield (",\n  " if index else "") + json.dumps(cells, allow_nan=False)
    yield "\n ]"


def _refuse_infinity(key: str, matrix: Delays) -> None:
    for index, row in enumerate(matrix):
        if np.isinf(row).any():
            message = f"{key}: expected finite numbers, got infinity from node {index}; correct it"
            raise LatencyMapError(message)


def read_document(source: MapSource) -> Survey:
    """Read a document of this project, exactly as it was written.

    Raises
    ------
    LatencyMapError
        It is no such document, or of a version that this program does not know; the message says where.
    """
    content = source.json
    if not isinstance(content, dict):
        raise error_at(source.name, "", f"expected a {KIND} document, got {kind_of(content)}")
    return _Document(source, content).survey()


class _Document:
    """One document."""

    def __init__(self, source: MapSource, content: dict[str, Json]) -> None:
        self._source, self._content, self._count = source, content, 0

    def survey(self) -> Survey:
        self._check_head()
        names = self._texts("nodes")
        self._count = len(names)
        check_file_names(f"{self._source.name}, nodes", names, self._source.limits)
        origin = self._content.get("origin", "")
        if not isinstance(origin, str):
            raise self._error("origin", f"expected text, got {kind_of(origin)}")
        rtt_ms = self._matrix(self._content["rtt_ms"], "rtt_ms", MAX_RTT_MS)
        rtt_ms += 0.0  # -0.0 becomes 0.0
        rtt_ms.setflags(write=False)
        return Survey(
            names=names,
            rtt_ms=rtt_ms,
            estimated=self._estimated(),
            measured_at_s=self._measured_at_s(),
            origin=origin,
            spread=self._spread(),
            changes=self._texts("changes") if "changes" in self._content else (),
        )

    def _check_head(self) -> None:
        version = self._content.get("apiVersion")
        if version != API_VERSION:
            todo = (
                "read it with the version of gesscale that wrote it, and have that one write a matrix (CSV)"
            )
            raise self._error("apiVersion", f"expected {API_VERSION}, got {kind_of(version)}; {todo}")
        for key, expected in FIXED.items():
            if self._content.get(key) != expected:
                raise self._error(key, f"expected {expected!r}, got {kind_of(self._content.get(key))}")
        known = _REQUIRED + _OPTIONAL
        for key in self._content:
            if key not in known:
                problem = f"expected one of {', '.join(known)}, got the key {kind_of(key)}"
                raise self._error("", f"{problem}; correct or remove it")
        for key in _REQUIRED:
            if key not in self._content:
                raise self._error("", f"expected the key {key!r} in a {KIND} document, got none; add it")

    def _texts(self, key: str) -> tuple[str, ...]:
        listed = self._content[key]
        if not isinstance(listed, list):
            raise self._error(key, f"expected a list of texts, got {kind_of(listed)}")
        for index, item in enumerate(listed):
            if not isinstance(item, str):
                raise self._error(f"{key}[{index}]", f"expected text, got {kind_of(item)}")
        return tuple(str(item) for item in listed)

    def _rows(self, rows: Json, place: str) -> list[list[Json]]:
        if not isinstance(rows, list) or len(rows) != self._count:
            problem = f"expected {self._count} rows, one for each node, got {kind_of(rows)}"
            raise self._error(place, problem)
        for index, row in enumerate(rows):
            if not isinstance(row, list):
                raise self._error(f"{place}[{index}]", f"expected a list of cells, got {kind_of(row)}")
        return [row for row in rows if isinstance(row, list)]

    def _matrix(self, rows: Json, place: str, most: float) -> Delays:
        matrix: Delays = np.empty((self._count, self._count))
        for index, row in enumerate(self._rows(rows, place)):
            if len(row) != self._count:
                problem = f"expected {self._count} cells, one for each node, got {len(row)}"
                raise self._error(f"{place}[{index}]", problem)
            matrix[index] = self._cells(row, f"{place}[{index}]", most)
        return matrix

    def _cells(self, row: list[Json], place: str, most: float) -> Delays:
        if not set(map(type, row)) <= {float, int, type(None)}:
            wrong = next(at for at, cell in enumerate(row) if cell is not None and as_number(cell) is None)
            raise self._error(f"{place}[{wrong}]", f"expected a number or null, got {kind_of(row[wrong])}")
        try:
            cells: Delays = np.array(row, dtype=np.float64)  # None becomes NaN
        except OverflowError:
            raise self._error(place, "expected delays, got a number beyond all") from None
        (wrong_cells,) = np.nonzero((cells < 0) | (cells > most) | np.isinf(cells))
        if len(wrong_cells):
            column = int(wrong_cells[0])
            problem = f"expected a number from 0 to {most:g}, infinity excluded, got {cells[column]:g}"
            raise self._error(f"{place}[{column}]", problem)
        return cells

    def _estimated(self) -> Mask:
        mask: Mask = np.zeros((self._count, self._count), dtype=np.bool_)
        if "estimated" in self._content:
            for index, row in enumerate(self._rows(self._content["estimated"], "estimated")):
                for column in row:
                    if (
                        isinstance(column, bool)
                        or not isinstance(column, int)
                        or not 0 <= column < self._count
                    ):
                        problem = f"expected columns from 0 to {self._count - 1}, got {kind_of(column)}"
                        raise self._error(f"estimated[{index}]", problem)
                    mask[index, column] = True
        mask.setflags(write=False)
        return mask

    def _spread(self) -> Spread | None:
        said = self._content.get("spread")
        if said is None:
            return None
        if not isinstance(said, dict) or said.keys() != {"unit", *SPREAD} or said["unit"] != "ms":
            wanted = ", ".join(sorted(("unit", *SPREAD)))
            raise self._error("spread", f"expected an object of {wanted}, in ms, got {kind_of(said)}")
        p95_ms, jitter_ms, loss_ratio = (
            self._matrix(said[key], f"spread.{key}", 1.0 if key == "loss_ratio" else math.inf)
            for key in SPREAD
        )
        return Spread(p95_ms=p95_ms, jitter_ms=jitter_ms, loss_ratio=loss_ratio)

    def _measured_at_s(self) -> float | None:
        content = self._content.get("measured_at_s")
        seconds = as_number(content)
        if content is not None and (seconds is None or not math.isfinite(seconds)):
            problem = f"expected seconds since 1970 or null, got {kind_of(content)}"
            raise self._error("measured_at_s", problem)
        return seconds

    def _error(self, place: str, problem: str) -> LatencyMapError:
        return error_at(self._source.name, place, problem)
