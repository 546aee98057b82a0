"""The native format: versioned JSON that holds a survey without loss."""

import json
import math
from collections.abc import Sequence

import numpy as np

from gesscale.common import API_VERSION
from latency_map.delays import MAX_RTT_MS, Delays
from latency_map.errors import LatencyMapError
from latency_map.formats.json_text import Json, as_number, kind_of
from latency_map.formats.source import MapSource, check_file_names
from latency_map.survey import Mask, Survey

KIND = "LatencyMap"
#: Fixed members of every document besides its version.
FIXED = {"kind": KIND, "unit": "ms", "delay": "rtt"}

_REQUIRED = ("apiVersion", "kind", "unit", "delay", "nodes", "rtt_ms")
#: ``spread`` is of earlier versions: percentiles, jitter and loss, which agents now report to Prometheus only.
_OPTIONAL = ("origin", "measured_at_s", "changes", "estimated", "spread")


def survey_to_document(survey: Survey) -> str:
    """Return a survey as JSON, with one row of the matrix per line.

    Round trips are in milliseconds, null if missing. ``estimated`` lists for each row the columns with estimates.
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
    """Read a document of this project.

    Raises
    ------
    LatencyMapError
        The document is invalid or of another version.
    """
    content = source.json
    if not isinstance(content, dict):
        raise LatencyMapError("map-format-unknown", source=source.name, looks_like=f"JSON: {kind_of(content)}")
    return _Document(source, content).survey()


class _Document:
    """One document."""

    def __init__(self, source: MapSource, content: dict[str, Json]) -> None:
        self._source, self._content, self._count = source, content, 0

    def survey(self) -> Survey:
        self._check_head()
        names = self._texts("nodes")
        self._count = len(names)
        check_file_names(self._source.name, names, self._source.limits, place="nodes")
        origin = self._content.get("origin", "")
        if not isinstance(origin, str):
            raise self._value_error("origin", "text", origin)
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
            raise LatencyMapError(
                "map-version-unknown",
                source=self._source.name,
                place="apiVersion",
                expected=API_VERSION,
                got=kind_of(version),
            )
        for key, expected in FIXED.items():
            if self._content.get(key) != expected:
                raise self._value_error(key, repr(expected), self._content.get(key))
        known = _REQUIRED + _OPTIONAL
        for key in self._content:
            if key not in known:
                raise LatencyMapError("map-key-unknown", source=self._source.name, key=key, known=", ".join(known))
        for key in _REQUIRED:
            if key not in self._content:
                raise LatencyMapError("map-key-missing", source=self._source.name, key=key)

    def _texts(self, key: str) -> tuple[str, ...]:
        listed = self._content[key]
        if not isinstance(listed, list):
            raise self._value_error(key, "a list of texts", listed)
        for index, item in enumerate(listed):
            if not isinstance(item, str):
                raise self._value_error(f"{key}[{index}]", "text", item)
        return tuple(str(item) for item in listed)

    def _rows(self, key: str) -> list[list[Json]]:
        rows = self._content[key]
        if not isinstance(rows, list) or len(rows) != self._count:
            raise self._value_error(key, f"a list of {self._count}, one row for each node", rows)
        for index, row in enumerate(rows):
            if not isinstance(row, list):
                raise self._value_error(f"{key}[{index}]", "a list of cells", row)
        return [row for row in rows if isinstance(row, list)]

    def _rtt_ms(self) -> Delays:
        matrix: Delays = np.empty((self._count, self._count))
        for index, row in enumerate(self._rows("rtt_ms")):
            if len(row) != self._count:
                raise self._value_error(f"rtt_ms[{index}]", f"a list of {self._count}, one cell for each node", row)
            if not set(map(type, row)) <= {float, int, type(None)}:
                wrong_cell = next(cell for cell in row if type(cell) not in {float, int, type(None)})
                raise self._value_error(f"rtt_ms[{index}]", "numbers or null", wrong_cell)
            try:
                matrix[index] = np.array(row, dtype=np.float64)  # None becomes NaN
            except OverflowError:
                raise self._range_error(f"rtt_ms[{index}]", math.inf) from None
            (wrong,) = np.nonzero((matrix[index] < 0) | (matrix[index] > MAX_RTT_MS))
            if len(wrong):
                raise self._range_error(f"rtt_ms[{index}][{wrong[0]}]", float(matrix[index, wrong[0]]))
        matrix += 0.0  # -0.0 becomes 0.0
        matrix.setflags(write=False)
        return matrix

    def _estimated(self) -> Mask:
        mask: Mask = np.zeros((self._count, self._count), dtype=np.bool_)
        for index, row in enumerate(self._rows("estimated") if "estimated" in self._content else ()):
            for column in row:
                if type(column) is not int or not 0 <= column < self._count:
                    raise self._value_error(f"estimated[{index}]", f"columns from 0 to {self._count - 1}", column)
                mask[index, column] = True
        mask.setflags(write=False)
        return mask

    def _measured_at_s(self) -> float | None:
        content = self._content.get("measured_at_s")
        seconds = as_number(content)
        if content is not None and (seconds is None or not math.isfinite(seconds)):
            raise self._value_error("measured_at_s", "seconds since 1970 or null", content)
        return seconds

    def _value_error(self, place: str, expected: str, content: Json) -> LatencyMapError:
        source, got = self._source.name, kind_of(content)
        return LatencyMapError("map-value-invalid", source=source, place=place, expected=expected, got=got)

    def _range_error(self, place: str, got: float) -> LatencyMapError:
        source = self._source.name
        return LatencyMapError("map-delay-invalid", source=source, place=place, limit=MAX_RTT_MS, unit="ms", got=got)
