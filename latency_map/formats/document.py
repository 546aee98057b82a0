"""The project's own form: JSON with a version of its schema, which holds a survey exactly."""

import json
import math

import numpy as np

from latency_map.delays import Delays
from latency_map.errors import LatencyMapError
from latency_map.survey import Survey

API_VERSION = "gesscale.dev/v1"
KIND = "LatencyMap"


def survey_to_document(survey: Survey) -> str:
    """Write a survey as JSON, one row of the matrix a line.

    Parameters
    ----------
    survey
        What is written.

    Returns
    -------
    str
        The document; round trips in milliseconds, null where missing.
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
    rows = ",\n  ".join(json.dumps(_cells(row)) for row in survey.rtt_ms)
    return json.dumps(head, indent=1).removesuffix("\n}") + f',\n "rtt_ms": [\n  {rows}\n ]\n}}\n'


def document_to_survey(text: str, source: str) -> Survey:
    """Read a document that `survey_to_document` wrote.

    Parameters
    ----------
    text
        JSON.
    source
        Names the text in messages.

    Returns
    -------
    Survey
        Exactly what was written.

    Raises
    ------
    LatencyMapError
        It is no such document.
    """
    try:
        content = json.loads(text)
        matrix = [[math.nan if cell is None else float(cell) for cell in row] for row in content["rtt_ms"]]
        return Survey(
            names=tuple(content["nodes"]),
            rtt_ms=np.array(matrix),
            measured_at_s=content["measured_at_s"],
            origin=content["origin"],
            changes=tuple(content["changes"]),
        )
    except (ValueError, KeyError, TypeError) as error:
        message = f"{source}: expected a {KIND} document of {API_VERSION}, got: {error!r}"
        raise LatencyMapError(message) from None


def _cells(row: Delays) -> list[float | None]:
    return [None if math.isnan(cell) else cell for cell in row.tolist()]
