"""The project's own form: JSON with a version of its schema, which holds a survey exactly."""

import json
import math
from collections.abc import Sequence

import numpy as np

from gesscale.common import API_VERSION
from latency_map.delays import MAX_RTT_MS, Delays
from latency_map.errors import LatencyMapError, error_at
from latency_map.formats.json_text import Json, as_number, kind_of
from latency_map.formats.source import MapSource, check_file_names
from latency_map.survey import Mask, Survey

KIND = "LatencyMap"
#: What every document says of itself, in addition to its version.
FIXED = {"kind": KIND, "unit": "ms", "delay": "rtt"}

_REQUIRED = ("apiVersion", "kind", "unit", "delay", "nodes", "rtt_ms")
#: Earlier versions wrote a ``spread`` as well: percentiles, jitter and loss, which agents tell Prometheus.
_OPTIONAL = ("origin", "measured_at_s", "changes", "estimated", "spread")


def survey_to_document(survey: Survey) -> str:
    """Write a survey as JSON, one row of the matrix a line.

    Round trips are in milliseconds, null where missing; ``estimated`` lists, row by row, the columns that a repair
    filled in.
    """
    head = {
        "apiVersion": API_VERSION,
        **FIXED,
        "origin": survey.origin,
        "measured_at_s": survey.measured_at_s,
        "changes": survey.changes,
        "nodes": survey.names,
    }
    delays = [[None if math.isnan(cell) else cell for cell in row] for row in survey.rtt_ms.tolist()]
    text = json.dumps(head, indent=1).removesuffix("\n}") + _rows("rtt_ms", delays)
    if survey.estimated.any():
        text += _rows("estimated", [np.nonzero(row)[0].tolist() for row in survey.estimated])
    return text + "\n}\n"


def _rows(key: str, rows: Sequence[object]) -> str:
    lines = ",\n  ".join(map(json.dumps, rows))
    return f',\n "{key}": [\n  {lines}\n ]'


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
        return Survey(
            names=names,
            rtt_ms=self._rtt_ms(),
            estimated=self._estimated(),
            measured_at_s=self._measured_at_s(),
            origin=origin,
            changes=self._texts("changes") if "changes" in self._content else (),
        )

    def _check_head(self) -> None:
        version = self._content.get("apiVersion")
        if version != API_VERSION:
            todo = "read it with the version of gesscale that wrote it, and have that one write a matrix (CSV)"
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

    def _rows(self, key: str) -> list[list[Json]]:
        rows = self._content[key]
        if not isinstance(rows, list) or len(rows) != self._count:
            raise self._error(key, f"expected {self._count} rows, one for each node, got {kind_of(rows)}")
        for index, row in enumerate(rows):
            if not isinstance(row, list):
                raise self._error(f"{key}[{index}]", f"expected a list of cells, got {kind_of(row)}")
        return [row for row in rows if isinstance(row, list)]

    def _rtt_ms(self) -> Delays:
        matrix: Delays = np.empty((self._count, self._count))
        for index, row in enumerate(self._rows("rtt_ms")):
            if len(row) != self._count:
                raise self._error(
                    f"rtt_ms[{index}]", f"expected {self._count} cells, one for each node, got {len(row)}"
                )
            if not set(map(type, row)) <= {float, int, type(None)}:
                raise self._error(f"rtt_ms[{index}]", "expected numbers or null, got other cells")
            try:
                matrix[index] = np.array(row, dtype=np.float64)  # None becomes NaN
            except OverflowError:
                raise self._error(f"rtt_ms[{index}]", "expected delays, got a number beyond all") from None
            (wrong,) = np.nonzero((matrix[index] < 0) | (matrix[index] > MAX_RTT_MS))
            if len(wrong):
                got = f"{matrix[index, wrong[0]]:g}"
                raise self._error(
                    f"rtt_ms[{index}][{wrong[0]}]", f"expected a number from 0 to {MAX_RTT_MS:g}, got {got}"
                )
        matrix += 0.0  # -0.0 becomes 0.0
        matrix.setflags(write=False)
        return matrix

    def _estimated(self) -> Mask:
        mask: Mask = np.zeros((self._count, self._count), dtype=np.bool_)
        for index, row in enumerate(self._rows("estimated") if "estimated" in self._content else ()):
            for column in row:
                if type(column) is not int or not 0 <= column < self._count:
                    raise self._error(
                        f"estimated[{index}]", f"expected columns from 0 to {self._count - 1}, got {kind_of(column)}"
                    )
                mask[index, column] = True
        mask.setflags(write=False)
        return mask

    def _measured_at_s(self) -> float | None:
        content = self._content.get("measured_at_s")
        seconds = as_number(content)
        if content is not None and (seconds is None or not math.isfinite(seconds)):
            raise self._error("measured_at_s", f"expected seconds since 1970 or null, got {kind_of(content)}")
        return seconds

    def _error(self, place: str, problem: str) -> LatencyMapError:
        return error_at(self._source.name, place, problem)
