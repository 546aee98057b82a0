"""Reading the project's own form row by row; what it holds is said in `latency_map.formats.document`."""

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from latency_map.delays import MAX_RTT_MS, Delays
from latency_map.errors import LatencyMapError, error_at
from latency_map.formats.document import API_VERSION, FIXED, KIND, SPREAD
from latency_map.formats.json_text import Json, JsonReader, as_number, kind_of
from latency_map.formats.raw import check_file_names
from latency_map.survey import Mask, Spread, Survey

_REQUIRED = ("apiVersion", "kind", "unit", "delay", "nodes", "rtt_ms")
_OPTIONAL = ("origin", "measured_at_s", "changes", "estimated", "spread")


def read_document(content: JsonReader) -> Survey:
    """Read a document of this project.

    Parameters
    ----------
    content
        Its JSON.

    Returns
    -------
    Survey
        Exactly what was written.

    Raises
    ------
    LatencyMapError
        It is no such document, or of a version that this program does not know; the message says where.
    """
    if content.begins() != "{":
        raise error_at(content.name, "", f"expected a {KIND} document, got {kind_of(content.last_value())}")
    return _Reading(content).survey()


class _Reading:
    """One document, its keys in any order; the first that tells how many nodes there are binds the others."""

    def __init__(self, content: JsonReader) -> None:
        self.content = content
        self.source = content.name
        self.count: int | None = None
        self.names: tuple[str, ...] = ()
        self.said: dict[str, Json] = {}
        self.matrices: dict[str, Delays] = {}
        self.marked: list[NDArray[np.uint16]] = []
        self.has_spread = False

    def survey(self) -> Survey:
        for key in self.content.members():
            if key not in _REQUIRED + _OPTIONAL:
                listed = ", ".join(_REQUIRED + _OPTIONAL)
                problem = f"expected one of {listed}, got the key {kind_of(key)}; correct or remove it"
                raise self._error("", problem)
            self._take(key)
        self._check_head()
        spread = None
        if self.has_spread:
            p95_ms, jitter_ms, loss_ratio = (self.matrices[key] for key in SPREAD)
            spread = Spread(p95_ms=p95_ms, jitter_ms=jitter_ms, loss_ratio=loss_ratio)
        rtt_ms, estimated = self.matrices["rtt_ms"], self._estimated()
        rtt_ms += 0.0  # -0.0 becomes 0.0
        for matrix in (rtt_ms, estimated):
            matrix.setflags(write=False)
        origin = self.said.get("origin", "")
        if not isinstance(origin, str):
            raise self._error("origin", f"expected text, got {kind_of(origin)}")
        return Survey(
            names=self.names,
            rtt_ms=rtt_ms,
            estimated=estimated,
            measured_at_s=self._measured_at_s(),
            origin=origin,
            spread=spread,
            changes=self._changes(),
        )

    def _take(self, key: str) -> None:
        content = self.content
        self.said[key] = None
        if key == "nodes":
            self._take_names()
        elif key == "rtt_ms":
            self._take_matrix(key, key, MAX_RTT_MS)
        elif key == "estimated":
            self._take_marks()
        elif key == "spread" and content.begins() == "{":
            self._take_spread()
        else:
            self.said[key] = content.value()
        if key == "apiVersion":
            self._check_version()

    def _take_names(self) -> None:
        if self.content.begins() != "[":
            problem = f"expected a list of texts, got {kind_of(self.content.value())}"
            raise self._error("nodes", problem)
        names = []
        for index in self.content.items():
            name = self.content.value()
            if not isinstance(name, str):
                raise self._error(f"nodes[{index}]", f"expected text, got {kind_of(name)}")
            names.append(name)
            self._check_count(index + 1, "nodes")
        check_file_names(f"{self.source}, nodes", names)
        self.names = tuple(names)
        self._bind(len(names), "nodes")

    def _take_matrix(self, key: str, place: str, most: float) -> None:
        rows = 0
        for index, row in self._rows(place):
            if self.count is None:
                self._check_count(len(row), place)
                self.count = len(row)
            if len(row) != self.count:
                problem = f"expected {self.count} cells, one for each node, got {len(row)}"
                raise self._error(f"{place}[{index}]", problem)
            if index == self.count:
                raise self._error(place, f"expected {self.count} rows, one for each node, got more")
            if index == 0:
                self.matrices[key] = np.empty((self.count, self.count))
            self.matrices[key][index] = self._cells(row, f"{place}[{index}]", most)
            rows = index + 1
        self._bind(rows, place, f"expected {self._counted()} rows, one for each node, got a list of {rows}")

    def _rows(self, place: str) -> Iterator[tuple[int, list[Json]]]:
        if self.content.begins() != "[":
            problem = (
                f"expected {self._counted()} rows, one for each node, got {kind_of(self.content.value())}"
            )
            raise self._error(place, problem)
        for index in self.content.items():
            row = self.content.value()
            if not isinstance(row, list):
                raise self._error(f"{place}[{index}]", f"expected a list of cells, got {kind_of(row)}")
            yield index, row

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

    def _take_marks(self) -> None:
        """Take the columns that are estimated, two bytes each: the nodes may not be counted yet."""
        for index, row in self._rows("estimated"):
            place = f"estimated[{index}]"
            most = self.count or self.content.limits.nodes
            for column in row:
                if isinstance(column, bool) or not isinstance(column, int) or not 0 <= column < most:
                    problem = f"expected columns from 0 to {most - 1}, got {kind_of(column)}"
                    raise self._error(place, problem)
            self._check_count(index + 1, "estimated")
            self.marked.append(np.unique(np.array(row, dtype=np.uint16)))

    def _estimated(self) -> Mask:
        count = len(self.names)
        mask: Mask = np.zeros((count, count), dtype=np.bool_)
        if self.marked and len(self.marked) != count:
            problem = f"expected {count} rows, one for each node, got a list of {len(self.marked)}"
            raise self._error("estimated", problem)
        for index, columns in enumerate(self.marked):
            if len(columns) and columns[-1] >= count:
                problem = f"expected columns from 0 to {count - 1}, got {columns[-1]}"
                raise self._error(f"estimated[{index}]", problem)
            mask[index, columns] = True
        return mask

    def _take_spread(self) -> None:
        said: dict[str, Json] = {}
        for key in self.content.members():
            said[key] = None
            if key in SPREAD:
                self._take_matrix(key, f"spread.{key}", 1.0 if key == "loss_ratio" else math.inf)
            else:
                said[key] = self.content.value()
        if said.keys() != {"unit", *SPREAD} or said["unit"] != "ms":
            wanted = ", ".join(sorted(("unit", *SPREAD)))
            raise self._error("spread", f"expected an object of {wanted}, in ms, got {', '.join(said)[:60]}")
        self.has_spread = True

    def _check_version(self) -> None:
        version = self.said.get("apiVersion")
        if version != API_VERSION:
            problem = f"expected {API_VERSION}, got {kind_of(version)}"
            todo = (
                "read it with the version of gesscale that wrote it, and have that one write a matrix (CSV)"
            )
            raise self._error("apiVersion", f"{problem}; {todo}")

    def _check_head(self) -> None:
        self._check_version()
        for key, expected in FIXED.items():
            if self.said.get(key) != expected:
                raise self._error(key, f"expected {expected!r}, got {kind_of(self.said.get(key))}")
        absent = [key for key in _REQUIRED if key not in self.said]
        if absent:
            problem = f"expected the key {absent[0]!r} in a {KIND} document, got none; add it"
            raise self._error("", problem)
        if self.said.get("spread") is not None:
            raise self._error("spread", f"expected an object or null, got {kind_of(self.said['spread'])}")

    def _check_count(self, count: int, place: str) -> None:
        if count > self.content.limits.nodes:
            raise self._error(place, self.content.limits.too_many_nodes())

    def _bind(self, count: int, place: str, problem: str = "") -> None:
        """Hold all parts to one number of nodes."""
        if self.count is not None and count != self.count:
            default = f"expected {self.count} nodes, as rtt_ms has rows, got {count}"
            raise self._error(place, problem or default)
        self.count = count

    def _counted(self) -> str:
        return "as many" if self.count is None else str(self.count)

    def _changes(self) -> tuple[str, ...]:
        listed = self.said.get("changes", [])
        if not isinstance(listed, list):
            raise self._error("changes", f"expected a list of texts, got {kind_of(listed)}")
        for index, item in enumerate(listed):
            if not isinstance(item, str):
                raise self._error(f"changes[{index}]", f"expected text, got {kind_of(item)}")
        return tuple(str(item) for item in listed)

    def _measured_at_s(self) -> float | None:
        content = self.said.get("measured_at_s")
        seconds = as_number(content)
        if content is not None and (seconds is None or not math.isfinite(seconds)):
            problem = f"expected seconds since 1970 or null, got {kind_of(content)}"
            raise self._error("measured_at_s", problem)
        return seconds

    def _error(self, place: str, problem: str) -> LatencyMapError:
        return error_at(self.source, place, problem)
