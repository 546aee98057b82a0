"""Network delays between edge nodes: one map, round trips in milliseconds, and the nodes that it calls for.

Knows nodes and delays and nothing of Spark or of auto-scaling. A file or a measurement gives a `Survey`, which
is checked and repaired; decisions are made by the `LatencyMap` that it amounts to. Probing is in
`latency_map.measure`.
"""

from latency_map.choose.candidates import Candidate, CandidateRejection, Needs, Unfit, screen
from latency_map.choose.choice import Choice, Method, least_nd_max_subset
from latency_map.choose.ranking import (
    Distances,
    RankedNode,
    Ranking,
    UnreachableNode,
    by_distance,
    farthest,
    nearest,
)
from latency_map.delays import Asymmetry, DelayKind, DelayUnit
from latency_map.errors import LatencyMapError, MissingDelayError, NoChoiceError, UnknownNodeError
from latency_map.formats.importing import Imported
from latency_map.formats.loading import (
    LoadedMap,
    parse_map,
    parse_survey,
    read_map,
    read_side_files,
    read_survey,
    write_csv,
    write_survey,
)
from latency_map.formats.raw import NO_SIDE_FILES, SideFiles
from latency_map.formats.recognise import MapForm
from latency_map.limits import LARGEST, MapLimits
from latency_map.matrix import LatencyMap
from latency_map.survey import Spread, Survey

__all__ = [
    "LARGEST",
    "NO_SIDE_FILES",
    "Asymmetry",
    "Candidate",
    "CandidateRejection",
    "Choice",
    "DelayKind",
    "DelayUnit",
    "Distances",
    "Imported",
    "LatencyMap",
    "LatencyMapError",
    "LoadedMap",
    "MapForm",
    "MapLimits",
    "Method",
    "MissingDelayError",
    "Needs",
    "NoChoiceError",
    "RankedNode",
    "Ranking",
    "SideFiles",
    "Spread",
    "Survey",
    "Unfit",
    "UnknownNodeError",
    "UnreachableNode",
    "by_distance",
    "farthest",
    "least_nd_max_subset",
    "nearest",
    "parse_map",
    "parse_survey",
    "read_map",
    "read_side_files",
    "read_survey",
    "screen",
    "write_csv",
    "write_survey",
]
