"""Network delays between edge nodes: one map, round trips in milliseconds, and the nodes that it calls for.

Knows nodes and delays and nothing of Spark or of auto-scaling. A file or a measurement gives a `Survey`, which
is checked and repaired; decisions are made by the `LatencyMap` that it amounts to. Probing is in
`latency_map.measure`.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from latency_map.choose.candidates import Candidate, CandidateRejection, Needs, Unfit, screen
    from latency_map.choose.choice import Choice, least_nd_max_subset
    from latency_map.choose.ranking import (
        Distances,
        RankedNode,
        Ranking,
        UnreachableNode,
        by_distance,
        farthest,
        nearest,
    )
    from latency_map.errors import LatencyMapError, MissingDelayError, NoChoiceError, UnknownNodeError
    from latency_map.formats.loading import (
        Imported,
        LoadedMap,
        parse_map,
        parse_survey,
        read_map,
        read_survey,
        write_csv,
        write_survey,
    )
    from latency_map.formats.raw import NO_SIDE_FILES, SideFiles, read_side_files
    from latency_map.kinds import Asymmetry, DelayKind, DelayUnit, MapForm, Method
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

_MODULES = {
    "LARGEST": "latency_map.limits",
    "NO_SIDE_FILES": "latency_map.formats.raw",
    "Asymmetry": "latency_map.kinds",
    "Candidate": "latency_map.choose.candidates",
    "CandidateRejection": "latency_map.choose.candidates",
    "Choice": "latency_map.choose.choice",
    "DelayKind": "latency_map.kinds",
    "DelayUnit": "latency_map.kinds",
    "Distances": "latency_map.choose.ranking",
    "Imported": "latency_map.formats.loading",
    "LatencyMap": "latency_map.matrix",
    "LatencyMapError": "latency_map.errors",
    "LoadedMap": "latency_map.formats.loading",
    "MapForm": "latency_map.kinds",
    "MapLimits": "latency_map.limits",
    "Method": "latency_map.kinds",
    "MissingDelayError": "latency_map.errors",
    "Needs": "latency_map.choose.candidates",
    "NoChoiceError": "latency_map.errors",
    "RankedNode": "latency_map.choose.ranking",
    "Ranking": "latency_map.choose.ranking",
    "SideFiles": "latency_map.formats.raw",
    "Spread": "latency_map.survey",
    "Survey": "latency_map.survey",
    "Unfit": "latency_map.choose.candidates",
    "UnknownNodeError": "latency_map.errors",
    "UnreachableNode": "latency_map.choose.ranking",
    "by_distance": "latency_map.choose.ranking",
    "farthest": "latency_map.choose.ranking",
    "least_nd_max_subset": "latency_map.choose.choice",
    "nearest": "latency_map.choose.ranking",
    "parse_map": "latency_map.formats.loading",
    "parse_survey": "latency_map.formats.loading",
    "read_map": "latency_map.formats.loading",
    "read_side_files": "latency_map.formats.raw",
    "read_survey": "latency_map.formats.loading",
    "screen": "latency_map.choose.candidates",
    "write_csv": "latency_map.formats.loading",
    "write_survey": "latency_map.formats.loading",
}
"""Where each name is: the agent on a small node needs none of them, nor NumPy, on which they rest."""


def __getattr__(name: str) -> object:
    """Import what is asked for."""
    if name not in _MODULES:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    found = getattr(import_module(_MODULES[name]), name)
    globals()[name] = found
    return found
