"""From generated delays to a survey: flaws are added, and what they came to is measured."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from latency_map.delays import Delays
from latency_map.generate.flaws import drop_pairs, lean
from latency_map.generate.triangles import break_triangles
from latency_map.quality.triangles import BrokenTriangles, find_broken_triangles
from latency_map.survey import Survey

_DECIMALS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Flaws:
    """What is wrong with a generated map on purpose.

    Attributes
    ----------
    broken_triangles_ratio
        Share of the detours to be shorter than the direct way; None leaves them as they come.
    asymmetry_ratio
        By how much of a round trip each of its directions departs from it at most.
    missing_ratio
        Share of the pairs that are unknown.
    """

    broken_triangles_ratio: float | None = None
    asymmetry_ratio: float = 0.0
    missing_ratio: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Generated:
    """A generated survey, and its triangles as measured afterwards.

    Attributes
    ----------
    survey
        Delays in whole microseconds.
    triangles
        What a check says of them: of the survey as it is, directions that differ and gaps included.
    """

    survey: Survey
    triangles: BrokenTriangles

    @property
    def broken_triangles_ratio(self) -> float | None:
        """Share of the detours that are shorter than the direct way; None where there are no detours."""
        return self.triangles.broken / self.triangles.judged if self.triangles.judged else None


def node_names(nodes: int) -> tuple[str, ...]:
    """Return names for so many nodes: ``node-01`` and on, with as many digits as the last one needs."""
    digits = max(2, len(str(nodes)))
    return tuple(f"node-{number:0{digits}d}" for number in range(1, nodes + 1))


def generate(
    rng: np.random.Generator, names: Sequence[str], rtt_ms: Delays, flaws: Flaws, *, origin: str
) -> Generated:
    """Make a survey of generated delays.

    Parameters
    ----------
    rng
        Randomness; each flaw has its own share of it, so that one does not change another.
    names
        The n nodes.
    rtt_ms
        Shape ``(n, n)``, symmetric, zero diagonal, none missing: as of `latency_map.generate.topologies`.
    flaws
        What is to be wrong with it: triangles first, then directions, then missing pairs.
    origin
        How it was made.

    Returns
    -------
    Generated
        The survey, its triangles counted.

    Raises
    ------
    LatencyMapError
        A flaw is out of range or cannot be had.
    """
    for_triangles, for_directions, for_gaps = rng.spawn(3)
    result = np.round(rtt_ms, _DECIMALS)
    if flaws.broken_triangles_ratio is not None:
        result = break_triangles(for_triangles, result, flaws.broken_triangles_ratio)
    if flaws.asymmetry_ratio:
        result = lean(for_directions, result, flaws.asymmetry_ratio)
    result = np.round(result, _DECIMALS)
    if flaws.missing_ratio:
        result = drop_pairs(for_gaps, result, flaws.missing_ratio)
    survey = Survey(names=tuple(names), rtt_ms=result, origin=origin)
    return Generated(survey=survey, triangles=find_broken_triangles(result, survey.names))
