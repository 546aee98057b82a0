"""Import of maps from files of any format.

Unit and kind are never guessed: the file states them, for example by the heading ``rtt_ms``, or the caller does. If
both do, they must agree.
"""

import logging
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

from gesscale.common.logs import log_problem
from latency_map.document import read_document
from latency_map.errors import LatencyMapError, error_of
from latency_map.formats.collect import Imported, collect
from latency_map.formats.recognise import FORMATS, recognise
from latency_map.formats.source import DEFAULT_OPTIONS, ImportOptions, MapSource, read_source
from latency_map.kinds import Asymmetry, DelayKind, DelayUnit, MapFormat, member_or_none
from latency_map.limits import DEFAULT_LIMITS, MapLimits
from latency_map.matrix import LatencyMap
from latency_map.plausibility import find_implausible

_LOG = logging.getLogger(__name__)


def read_survey(
    file: Path | str | BinaryIO,
    *,
    map_format: MapFormat | None = None,
    unit: DelayUnit | None = None,
    kind: DelayKind | None = None,
    options: ImportOptions = DEFAULT_OPTIONS,
    limits: MapLimits = DEFAULT_LIMITS,
) -> Imported:
    """Read a file of any format.

    Parameters
    ----------
    file
        A text file in UTF-8, or a stream of its bytes; both may be compressed by gzip.
    map_format
        Its format; None to detect it.
    unit, kind
        Unit and direction of its delays; None if the file states them.
    options
        Information that belongs to the file but is not in it.
    limits
        Limits on the size of the map; a larger one is rejected before its memory is allocated.

    Returns
    -------
    Imported
        The survey, and how the file was interpreted.

    Raises
    ------
    LatencyMapError
        The format is unknown, a delay is out of range, neither file nor caller states unit and kind, or they
        contradict each other.
    """
    return _import(read_source(file, limits), map_format, unit, kind, options)


def parse_survey(
    text: str,
    *,
    source: str = "text",
    map_format: MapFormat | None = None,
    unit: DelayUnit | None = None,
    kind: DelayKind | None = None,
    options: ImportOptions = DEFAULT_OPTIONS,
    limits: MapLimits = DEFAULT_LIMITS,
) -> Imported:
    """Read a text; see `read_survey`. Errors have ``source`` as its name."""
    content = BytesIO(text.encode("utf-8", "surrogatepass"))
    return _import(read_source(content, limits, source), map_format, unit, kind, options)


def read_map(
    path: Path | str,
    unit: DelayUnit | None = None,
    kind: DelayKind | None = None,
    asymmetry: Asymmetry | None = None,
    *,
    limits: MapLimits = DEFAULT_LIMITS,
) -> LatencyMap:
    """Read a file of any format as a map; doubts about its delays are logged.

    Parameters
    ----------
    path, unit, kind, limits
        As in `read_survey`.
    asymmetry
        Treatment of pairs whose two directions differ; see `Survey.asymmetry_rule`.

    Raises
    ------
    LatencyMapError
        The file is invalid, or its survey is not a valid map.
    """
    imported = read_survey(path, unit=unit, kind=kind, limits=limits)
    for warning in imported.warnings:
        log_problem(_LOG, logging.WARNING, warning.code, source=str(path), **warning.fields)
    try:
        return imported.survey.to_map(asymmetry)
    except LatencyMapError as error:
        raise error_of(*error.problems, source=str(path)) from None


def _import(
    source: MapSource,
    map_format: MapFormat | None,
    unit: DelayUnit | None,
    kind: DelayKind | None,
    given: ImportOptions,
) -> Imported:
    reason = "the caller chose it"
    map_format, unit = member_or_none(MapFormat, map_format), member_or_none(DelayUnit, unit)
    kind = member_or_none(DelayKind, kind)
    if map_format is None:
        map_format, reason = recognise(source, given)
    _check_options(source.name, map_format, given)
    if map_format is not MapFormat.DOCUMENT:
        readings = FORMATS[map_format].read(source, given)
        return collect(source, readings, unit, kind, given.links, (map_format, reason))
    survey = read_document(source)
    if unit not in (None, DelayUnit.MS):
        raise LatencyMapError("map-unit-conflict", source=source.name, stated="ms", given=str(unit), option="--unit")
    if kind not in (None, DelayKind.RTT):
        raise LatencyMapError("map-kind-conflict", source=source.name, stated="rtt", given=str(kind), option="--kind")
    doubts = find_implausible(survey, unit=DelayUnit.MS)
    return Imported(
        survey=survey, map_format=map_format, reason=reason, unit=DelayUnit.MS, kind=DelayKind.RTT, warnings=doubts
    )


_OPTIONS = {"names": "--names", "probed_from": "--source", "from_column": "--from", "to_column": "--to-node"}
_OPTIONS |= {"delay_column": "--delay", "unit_column": "--unit-column", "links": "--links"}


def _check_options(source: str, map_format: MapFormat, given: ImportOptions) -> None:
    for name, option in _OPTIONS.items():
        formats = [each for each, reader in FORMATS.items() if name in reader.options]
        if getattr(given, name) is not None and map_format not in formats:
            fields = {"option": option, "format": map_format.value, "formats": sorted(formats)}
            raise LatencyMapError("map-option-inapplicable", source=source, **fields)
