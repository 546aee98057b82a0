"""The native format: versioned JSON that holds a survey without loss."""

import json
import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError

from gesscale.common import API_VERSION
from gesscale.common.text import truncated_repr
from latency_map.delays import find_out_of_range
from latency_map.errors import LatencyMapError, error_of
from latency_map.formats.json_text import kind_of
from latency_map.formats.source import MapSource, check_file_names
from latency_map.kinds import DelayKind, DelayUnit
from latency_map.survey import MAX_TIME_S, Survey

KIND = "LatencyMap"


class _Document(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    version: str = Field(alias="apiVersion")
    kind: Literal["LatencyMap"]
    unit: Literal["ms"]
    delay: Literal["rtt"]
    nodes: list[str]
    rtt_ms: list[list[FiniteFloat | None]]
    origin: str = ""
    measured_at_s: float | None = Field(None, ge=0, lt=MAX_TIME_S)
    changes: list[str] = []
    estimated: list[list[int]] | None = None
    #: Of earlier versions: percentiles, jitter and loss, which agents now report to Prometheus only.
    spread: Any = None


def survey_to_document(survey: Survey) -> str:
    """Return a survey as JSON, with one row of the matrix per line.

    Round trips are in milliseconds, null if missing. ``estimated`` lists for each row the columns with estimates.
    """
    head = {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "unit": "ms",
        "delay": "rtt",
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
    version = source.json.get("apiVersion") if isinstance(source.json, dict) else source.json
    if version != API_VERSION:
        fields = {"expected": API_VERSION, "got": kind_of(version)}
        raise LatencyMapError("map-version-unknown", source=source.name, place="apiVersion", **fields)
    try:
        content = _Document.model_validate(source.json)
    except ValidationError as error:
        wrong = error.errors(include_url=False)[0]
        place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in wrong["loc"]).lstrip(".")
        fields = {"place": place, "expected": wrong["msg"].lower(), "got": truncated_repr(wrong["input"])}
        raise LatencyMapError("map-value-invalid", source=source.name, **fields) from None
    check_file_names(source.name, content.nodes, source.limits, place="nodes")
    count = len(content.nodes)
    estimated = content.estimated or [[] for _ in content.nodes]
    for place, rows, right in (
        ("rtt_ms", content.rtt_ms, [len(row) == count for row in content.rtt_ms]),
        ("estimated", estimated, [all(0 <= column < count for column in row) for row in estimated]),
    ):
        if len(rows) != count or not all(right):
            where = place if len(rows) != count else f"{place}[{right.index(False)}]"
            expected = f"{count} rows for {count} nodes, each with a cell for each node or numbers of columns"
            got = f"{len(rows)} rows"
            raise LatencyMapError("map-value-invalid", source=source.name, place=where, expected=expected, got=got)
    rtt_ms = np.array(content.rtt_ms, dtype=np.float64)  # None becomes NaN
    if fault := find_out_of_range(rtt_ms, unit=DelayUnit.MS, kind=DelayKind.RTT):
        raise error_of(fault.problem, source=source.name, place=f"rtt_ms[{fault.row}][{fault.column}]")
    rtt_ms += 0.0  # -0.0 becomes 0.0
    rtt_ms.setflags(write=False)
    mask = np.zeros((count, count), dtype=np.bool_)
    for row, columns in enumerate(estimated):
        mask[row, columns] = True
    mask.setflags(write=False)
    return Survey(
        names=tuple(content.nodes),
        rtt_ms=rtt_ms,
        estimated=mask,
        measured_at_s=content.measured_at_s,
        origin=content.origin,
        changes=tuple(content.changes),
    )
