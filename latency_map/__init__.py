"""Network delays between edge nodes: one map, round trips in milliseconds, and the nodes that it calls for.

Knows nodes and delays and nothing of Spark or of auto-scaling. A file or a measurement gives a `Survey`, which
is checked and repaired; decisions are made by the `LatencyMap` that it amounts to. Probing is in
`latency_map.measure`.
"""

from latency_map.choose.choice import Choice, greedy_nd_max_subset, least_nd_max_subset
from latency_map.choose.ranking import Ranked, Ranking, Unreachable, farthest, nearest
from latency_map.delays import Asymmetry, DelayKind, DelayUnit
from latency_map.errors import LatencyMapError, MissingDelayError, NoChoiceError, UnknownNodeError
from latency_map.formats.loading import (
    Imported,
    LoadedMap,
    MapForm,
    parse_map,
    parse_survey,
    read_edges_csv,
    read_map,
    read_matrix_csv,
    read_survey,
    write_csv,
    write_survey,
)
from latency_map.matrix import LatencyMap
from latency_map.survey import Spread, Survey

__all__ = [
    "Asymmetry",
    "Choice",
    "DelayKind",
    "DelayUnit",
    "Imported",
    "LatencyMap",
    "LatencyMapError",
    "LoadedMap",
    "MapForm",
    "MissingDelayError",
    "NoChoiceError",
    "Ranked",
    "Ranking",
    "Spread",
    "Survey",
    "UnknownNodeError",
    "Unreachable",
    "farthest",
    "greedy_nd_max_subset",
    "least_nd_max_subset",
    "nearest",
    "parse_map",
    "parse_survey",
    "read_edges_csv",
    "read_map",
    "read_matrix_csv",
    "read_survey",
    "write_csv",
    "write_survey",
]
