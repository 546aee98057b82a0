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

_NAMES = {
    "latency_map.choose.candidates": ("Candidate", "CandidateRejection", "Needs", "Unfit", "screen"),
    "latency_map.choose.choice": ("Choice", "least_nd_max_subset"),
    "latency_map.choose.ranking": (
        "Distances",
        "RankedNode",
        "Ranking",
        "UnreachableNode",
        "by_distance",
        "farthest",
        "nearest",
    ),
    "latency_map.errors": ("LatencyMapError", "MissingDelayError", "NoChoiceError", "UnknownNodeError"),
    "latency_map.formats.loading": (
        "Imported",
        "LoadedMap",
        "parse_map",
        "parse_survey",
        "read_map",
        "read_survey",
        "write_csv",
        "write_survey",
    ),
    "latency_map.formats.raw": ("NO_SIDE_FILES", "SideFiles", "read_side_files"),
    "latency_map.kinds": ("Asymmetry", "DelayKind", "DelayUnit", "MapForm", "Method"),
    "latency_map.limits": ("LARGEST", "MapLimits"),
    "latency_map.matrix": ("LatencyMap",),
    "latency_map.survey": ("Spread", "Survey"),
}
"""Where each name is: the agent on a small node needs none of them, nor NumPy, on which they rest."""

_MODULES = {name: module for module, names in _NAMES.items() for name in names}


def __getattr__(name: str) -> object:
    """Import what is asked for."""
    if name not in _MODULES:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    found = getattr(import_module(_MODULES[name]), name)
    globals()[name] = found
    return found
