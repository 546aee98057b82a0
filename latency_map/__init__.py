"""Network delays between edge nodes: one map, round trips in milliseconds, and the nodes that it calls for.

Knows nodes and delays and nothing of Spark or of auto-scaling. Probing is in `latency_map.probe`.
"""

from latency_map.choice import Choice, greedy_nd_max_subset, least_nd_max_subset
from latency_map.delays import Asymmetry, DelayKind, DelayUnit
from latency_map.errors import LatencyMapError, MissingDelayError, NoChoiceError, UnknownNodeError
from latency_map.formats import (
    LoadedMap,
    MapForm,
    parse_map,
    read_edges_csv,
    read_map,
    read_matrix_csv,
    write_csv,
)
from latency_map.matrix import LatencyMap
from latency_map.ranking import Ranked, Ranking, Unreachable, farthest, nearest

__all__ = [
    "Asymmetry",
    "Choice",
    "DelayKind",
    "DelayUnit",
    "LatencyMap",
    "LatencyMapError",
    "LoadedMap",
    "MapForm",
    "MissingDelayError",
    "NoChoiceError",
    "Ranked",
    "Ranking",
    "UnknownNodeError",
    "Unreachable",
    "farthest",
    "greedy_nd_max_subset",
    "least_nd_max_subset",
    "nearest",
    "parse_map",
    "read_edges_csv",
    "read_map",
    "read_matrix_csv",
    "write_csv",
]
