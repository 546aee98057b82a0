"""Maps as files: surveys in the native JSON without loss, maps as matrices in CSV."""

import math
from pathlib import Path

from gesscale.common.errors import cause_of
from latency_map.document import survey_to_document
from latency_map.errors import LatencyMapError
from latency_map.matrix import LatencyMap
from latency_map.survey import Survey


def write_survey(survey: Survey, path: Path | str) -> None:
    """Write a survey to a file, new or not, as JSON that `read_survey` reads back without loss.

    Raises
    ------
    LatencyMapError
        The file cannot be written.
    """
    _write(survey_to_document(survey), path)


def write_csv(latencies: LatencyMap, path: Path | str) -> None:
    """Write a map to a file, new or not, as a matrix of round trips in milliseconds, blank if missing.

    Raises
    ------
    LatencyMapError
        The file cannot be written.
    """
    _write(map_to_matrix(latencies), path)


def map_to_matrix(latencies: LatencyMap) -> str:
    """Return a map as CSV for `read_map`: round trips in milliseconds, blank if missing."""
    rows = [["rtt_ms", *latencies.names]]
    for name, delays in zip(latencies.names, latencies.rtt_ms.tolist(), strict=True):
        rows.append([name, *("" if math.isnan(delay) else repr(delay).removesuffix(".0") for delay in delays)])
    return "".join(",".join(_quoted(cell) for cell in row) + "\n" for row in rows)


def _quoted(cell: str) -> str:
    """Quote a cell that contains a possible delimiter or begins like a comment."""
    escaped = cell.replace('"', '""')
    return f'"{escaped}"' if cell.startswith("#") or any(mark in cell for mark in ',;\t|"') else cell


def _write(text: str, path: Path | str) -> None:
    try:
        content = text.encode()  # fails before the file is replaced
        Path(path).write_bytes(content)
    except (OSError, ValueError) as error:
        raise LatencyMapError("file-unwritable", source=str(path), cause=cause_of(error)) from None
