"""What two surveys disagree about: nodes, pairs, and what a placement amounts to on either."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from latency_map.choose.ranking import nearest
from latency_map.clusters import symmetric_rtt_ms
from latency_map.delays import Delays
from latency_map.errors import LatencyMapError
from latency_map.matrix import LatencyMap
from latency_map.summary import PlacementSummary, place
from latency_map.survey import Mask, Survey


@dataclass(frozen=True, slots=True, kw_only=True)
class Tolerance:
    """How far two round trips may be apart and still be called equal: the larger of the two bounds.

    Attributes
    ----------
    ms
        Milliseconds.
    ratio
        Share of the first round trip.

    Raises
    ------
    LatencyMapError
        A bound is negative or no number.
    """

    ms: float = 0.0
    ratio: float = 0.0

    def __post_init__(self) -> None:
        for name, bound in (("ms", self.ms), ("ratio", self.ratio)):
            if not 0 <= bound < math.inf:
                message = f"tolerance_{name}: expected a number of at least 0, got {bound:g}"
                raise LatencyMapError(message)


@dataclass(frozen=True, slots=True, kw_only=True)
class DelayChange:
    """The round trip of a pair in both surveys; None where it is missing.

    Attributes
    ----------
    a, b
        From node to node; once for both directions where they agree in both surveys.
    before_ms, after_ms
        Round trips.
    """

    a: str
    b: str
    before_ms: float | None
    after_ms: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """What a second survey says otherwise than a first one.

    Attributes
    ----------
    added, removed
        Nodes that only the second, only the first has, in its order.
    compared
        How many round trips both know.
    changed
        Those that differ by more than the tolerance, the largest difference first.
    lost, found
        Pairs of common nodes that only the first, only the second knows.
    median_abs_ms, max_abs_ms
        Of the differences of all that are compared; None where there is none.
    """

    added: tuple[str, ...]
    removed: tuple[str, ...]
    compared: int
    changed: tuple[DelayChange, ...]
    lost: tuple[DelayChange, ...]
    found: tuple[DelayChange, ...]
    median_abs_ms: float | None
    max_abs_ms: float | None

    @property
    def equal(self) -> bool:
        """Whether both surveys say the same, within the tolerance."""
        return not (self.added or self.removed or self.changed or self.lost or self.found)


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """What a difference does to a placement.

    Attributes
    ----------
    before, after
        The placement on either map.
    nearest_before, nearest_after
        The node to add next, by `latency_map.choose.ranking.nearest`; None where there is none.
    """

    before: PlacementSummary
    after: PlacementSummary
    nearest_before: str | None
    nearest_after: str | None


def compare(before: Survey, after: Survey, tolerance: Tolerance | None = None) -> Difference:
    """Compare two surveys, round trip by round trip as measured.

    Parameters
    ----------
    before, after
        Any surveys.
    tolerance
        What counts as equal; exactly equal only by default.

    Returns
    -------
    Difference
        Of the second from the first.
    """
    tolerance = tolerance or Tolerance()
    common = [name for name in before.names if name in set(after.names)]
    old_ms, new_ms = _part(before, common), _part(after, common)
    once = ~(np.tri(len(common), k=-1, dtype=bool) & _mirrored(old_ms) & _mirrored(new_ms))
    both = once & ~np.isnan(old_ms) & ~np.isnan(new_ms)
    apart_ms = np.abs(new_ms - old_ms)
    beyond = both & (apart_ms > np.maximum(tolerance.ms, tolerance.ratio * old_ms))
    changed = np.argwhere(beyond)
    order = np.argsort(-apart_ms[beyond], kind="stable")
    compared_ms = apart_ms[both & ~np.eye(len(common), dtype=bool)]
    return Difference(
        added=tuple(name for name in after.names if name not in set(before.names)),
        removed=tuple(name for name in before.names if name not in set(after.names)),
        compared=len(compared_ms),
        changed=_changes(common, changed[order], old_ms, new_ms),
        lost=_changes(common, np.argwhere(once & ~np.isnan(old_ms) & np.isnan(new_ms)), old_ms, new_ms),
        found=_changes(common, np.argwhere(once & np.isnan(old_ms) & ~np.isnan(new_ms)), old_ms, new_ms),
        median_abs_ms=float(np.median(compared_ms)) if len(compared_ms) else None,
        max_abs_ms=float(compared_ms.max()) if len(compared_ms) else None,
    )


def effect_on(before: Survey, after: Survey, members: Iterable[str]) -> Effect:
    """Say what two surveys make of a placement; the larger direction counts.

    Parameters
    ----------
    before, after
        Any surveys.
    members
        The placement.

    Returns
    -------
    Effect
        NDmax and the nearest other node, on either.

    Raises
    ------
    UnknownNodeError
        A member is not in both surveys.
    """
    nodes = sorted(set(members))
    old, new = (LatencyMap(names=survey.names, rtt_ms=symmetric_rtt_ms(survey)) for survey in (before, after))
    return Effect(
        before=place(old, nodes),
        after=place(new, nodes),
        nearest_before=_nearest(old, nodes),
        nearest_after=_nearest(new, nodes),
    )


def _part(survey: Survey, names: Sequence[str]) -> Delays:
    position = {name: row for row, name in enumerate(survey.names)}
    rows = [position[name] for name in names]
    part: Delays = survey.rtt_ms[np.ix_(rows, rows)]
    return part


def _mirrored(rtt_ms: Delays) -> Mask:
    same: Mask = (rtt_ms == rtt_ms.T) | (np.isnan(rtt_ms) & np.isnan(rtt_ms.T))
    return same


def _changes(
    names: Sequence[str], cells: NDArray[np.intp], old_ms: Delays, new_ms: Delays
) -> tuple[DelayChange, ...]:
    return tuple(
        DelayChange(a=names[a], b=names[b], before_ms=_known(old_ms[a, b]), after_ms=_known(new_ms[a, b]))
        for a, b in cells.tolist()
    )


def _known(delay_ms: float) -> float | None:
    return None if math.isnan(delay_ms) else float(delay_ms)


def _nearest(latencies: LatencyMap, members: Sequence[str]) -> str | None:
    ranked = nearest(latencies, members, [name for name in latencies.names if name not in members]).ranked
    return ranked[0].node if ranked else None
