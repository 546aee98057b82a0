"""The project's own form: JSON with a version of its schema, which holds a survey exactly."""

import json
import math
from collections.abc import Iterator

import numpy as np

from latency_map.delays import Delays
from latency_map.errors import LatencyMapError
from latency_map.survey import Survey

API_VERSION = "gesscale.dev/v1"
KIND = "LatencyMap"
FIXED = {"kind": KIND, "unit": "ms", "delay": "rtt"}
"""What every document says of itself, in addition to its version."""

SPREAD = ("p95_ms", "jitter_ms", "loss_ratio")
"""The matrices of a spread."""


def survey_to_document(survey: Survey) -> str:
    """Write a survey as JSON; see `document_pieces`."""
    return "".join(document_pieces(survey))


def document_pieces(survey: Survey) -> Iterator[str]:
    """Write a survey as JSON, one row of the matrix a line.

    Parameters
    ----------
    survey
        What is written.

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
