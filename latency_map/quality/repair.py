"""Repair of a survey, with a list of the changes.

The steps have a fixed order, independent of that of the options: drop nodes, zero the diagonal, treat zeros between
nodes as missing, merge the two directions of each pair, fill gaps, drop nodes that still have gaps. So a false zero
does not distort a mean or a path, and estimates use all known pairs. A repair is idempotent.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from gesscale.common.text import format_list
from latency_map.delays import MAX_RTT_MS, Delays, round_trips_ms
from latency_map.errors import LatencyMapError, UnknownNodeError
from latency_map.kinds import Asymmetry, Fill, Symmetrise, member, member_or_none
from latency_map.paths import shortest_paths
from latency_map.quality.coordinates import DIMENSIONS, embed, held_out_error
from latency_map.quality.pairs import first_pair, missing_pairs
from latency_map.survey import Mask, Survey


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """Steps of a repair; none by default."""

    #: Nodes to drop.
    drop: tuple[str, ...] = ()
    #: Set the delay of each node to itself to 0.
    zero_diagonal: bool = False
    #: Treat 0 between two nodes as missing.
    drop_zeros: bool = False
    #: Merge the two directions of each pair; a missing one is taken from the other. None to keep them.
    symmetrise: Symmetrise | None = None
    #: Estimate pairs that are known in neither direction.
    fill: Fill = Fill.NONE
    #: Drop nodes until every pair is known: always the one with most gaps, and of equal ones the last by name.
    drop_incomplete: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "symmetrise", member_or_none(Symmetrise, self.symmetrise))
        object.__setattr__(self, "fill", member(Fill, self.fill))


@dataclass(frozen=True, slots=True, kw_only=True)
class AppliedRepair:
    """Change by one step of a repair."""

    #: The step, by the name of its option.
    step: str
    #: Number of cells of the matrix that it set or dropped.
    cells: int
    #: Description, with the largest change and the expected error of estimates.
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Repaired:
    """Result of a repair."""

    #: The repaired survey, with its list of changes and marks of estimates.
    survey: Survey
    #: The change by each step; steps that changed nothing are omitted.
    changes: tuple[AppliedRepair, ...]


def repair(survey: Survey, options: Repair) -> Repaired:
    """Repair a survey.

    Raises
    ------
    LatencyMapError
        A node to drop is not in the survey, or no node would be left.
    """
    steps: tuple[Callable[[Survey, Repair], tuple[Survey, AppliedRepair | None]], ...] = (
        _drop,
        _zero_diagonal,
        _drop_zeros,
        _symmetrise,
        _fill,
        _drop_incomplete,
    )
    changes = []
    for step in steps:
        survey, change = step(survey, options)
        if change:
            survey = replace(survey, changes=(*survey.changes, f"repair {change.step}: {change.text}"))
            changes.append(change)
    return Repaired(survey=survey, changes=tuple(changes))


def _drop(survey: Survey, options: Repair) -> tuple[Survey, AppliedRepair | None]:
    for node in options.drop:
        if node not in survey.names:
            raise UnknownNodeError(node, survey.names)
    if len(set(options.drop)) == len(survey):
        raise LatencyMapError("repair-drops-everything", count=len(survey))
    return _without(survey, set(options.drop), "drop")


def _zero_diagonal(survey: Survey, options: Repair) -> tuple[Survey, AppliedRepair | None]:
    rtt_ms = survey.rtt_ms
    if options.zero_diagonal:
        rtt_ms = rtt_ms.copy()
        np.fill_diagonal(rtt_ms, 0.0)
    return _with(survey, rtt_ms, "zero-diagonal", "nodes with a delay to themselves set to 0")


def _drop_zeros(survey: Survey, options: Repair) -> tuple[Survey, AppliedRepair | None]:
    rtt_ms = survey.rtt_ms
    if options.drop_zeros:
        zeros = rtt_ms == 0
        np.fill_diagonal(zeros, val=False)
        rtt_ms = np.where(zeros, np.nan, rtt_ms)
    return _with(survey, rtt_ms, "drop-zeros", "cells of 0 ms between two nodes treated as missing")


def _symmetrise(survey: Survey, options: Repair) -> tuple[Survey, AppliedRepair | None]:
    if options.symmetrise is None:
        return survey, None
    there_ms = survey.rtt_ms
    both_ms = round_trips_ms(there_ms, asymmetry=Asymmetry(options.symmetrise.value))
    np.fill_diagonal(both_ms, there_ms.diagonal())
    guessed = survey.estimated & ~np.isnan(there_ms)
    text = f"cells set to the {options.symmetrise} of both directions"
    return _with(survey, both_ms, "symmetrise", text, estimated=guessed | guessed.T)


def _fill(survey: Survey, options: Repair) -> tuple[Survey, AppliedRepair | None]:
    filled_ms, gaps, error = _fill_gaps(survey.rtt_ms, options.fill)
    text = f"cells estimated by {options.fill} ({error})"
    return _with(survey, filled_ms, "fill", text, estimated=survey.estimated | gaps)


def _drop_incomplete(survey: Survey, options: Repair) -> tuple[Survey, AppliedRepair | None]:
    gaps = missing_pairs(survey.rtt_ms) if options.drop_incomplete else np.zeros((0, 0), dtype=bool)
    dropped: set[str] = set()
    per_node = gaps.sum(axis=1)
    while per_node.any():
        row = max(np.flatnonzero(per_node == per_node.max()), key=lambda row: survey.names[row])
        dropped.add(survey.names[row])
        per_node -= gaps[row]
        gaps[row] = gaps[:, row] = False
        per_node[row] = 0
    return _without(survey, dropped, "drop-incomplete")


def _without(survey: Survey, dropped: set[str], step: str) -> tuple[Survey, AppliedRepair | None]:
    if not dropped:
        return survey, None
    kept = np.array([row for row, name in enumerate(survey.names) if name not in dropped])
    part = np.ix_(kept, kept)
    names = tuple(sorted(dropped))
    change = AppliedRepair(
        step=step,
        cells=len(survey) ** 2 - len(kept) ** 2,
        text=f"{len(names)} of {len(survey)} nodes left out: {format_list(names)}",
    )
    smaller = replace(
        survey,
        names=tuple(survey.names[row] for row in kept),
        rtt_ms=survey.rtt_ms[part],
        estimated=survey.estimated[part],
    )
    return smaller, change


def _with(
    survey: Survey, rtt_ms: Delays, step: str, text: str, *, estimated: Mask | None = None
) -> tuple[Survey, AppliedRepair | None]:
    """Replace the round trips of a survey, and describe the change by the cell that changed most."""
    before = survey.rtt_ms
    marks = (survey.estimated if estimated is None else estimated) & ~np.isnan(rtt_ms)
    cells, by_ms = _changed(before, rtt_ms)
    if not cells:
        return replace(survey, estimated=marks), None
    a, b = first_pair(survey.names, by_ms)
    nodes = (survey.names[a], survey.names[b]) if a != b else (survey.names[a],)
    old, new = float(before[a, b]), float(rtt_ms[a, b])
    change = AppliedRepair(
        step=step, cells=cells, text=f"{cells} {text}; largest: {' to '.join(nodes)} {_in_ms(old)} -> {_in_ms(new)}"
    )
    for matrix in (rtt_ms, marks):
        matrix.setflags(write=False)
    return replace(survey, rtt_ms=rtt_ms, estimated=marks), change


def _changed(before: Delays, after: Delays) -> tuple[int, Mask]:
    """Return the number of cells that differ, and a mask of those that differ most."""
    differ = (before != after) & ~(np.isnan(before) & np.isnan(after))
    by_ms = np.where(differ, np.abs(np.nan_to_num(after) - np.nan_to_num(before)), -1.0)
    return int(differ.sum()), differ & (by_ms == by_ms.max())


def _in_ms(rtt_ms: float) -> str:
    return "missing" if np.isnan(rtt_ms) else f"{rtt_ms:.4g} ms"


def _fill_gaps(rtt_ms: Delays, method: Fill) -> tuple[Delays, Mask, str]:
    """Estimate the pairs that are known in neither direction, except between islands.

    Returns the round trips, a mask of the estimates, and their expected error.
    """
    gaps = missing_pairs(rtt_ms)
    if method is Fill.NONE or not gaps.any():
        return rtt_ms, np.zeros_like(gaps), ""
    if method is Fill.PATH:
        combined = round_trips_ms(rtt_ms, asymmetry=Asymmetry.MAX)
        estimates, error = shortest_paths(combined), "upper bounds if the triangle inequality holds"
    else:
        estimates, error = _by_coordinates(rtt_ms)
    gaps &= np.isfinite(estimates)
    np.minimum(estimates, MAX_RTT_MS, out=estimates)
    np.copyto(estimates, rtt_ms, where=~gaps)
    return estimates, gaps, error


def _by_coordinates(rtt_ms: Delays) -> tuple[Delays, str]:
    """Estimate by coordinates; no estimate is below the least measured round trip."""
    error = held_out_error(rtt_ms)
    estimates = embed(rtt_ms).rtt_ms()
    measured = rtt_ms > 0
    min_ms = rtt_ms.min(where=measured, initial=MAX_RTT_MS) if measured.any() else 0.0
    space = f"{DIMENSIONS} dimensions and height"
    if error.pairs:
        expected = (
            f"{space}; relative error on {error.pairs} known pairs held out: median"
            f" {error.median_ratio:.1%}, 90th percentile {error.p90_ratio:.1%}"
        )
    else:
        expected = f"{space}; error unknown, too few known pairs to hold any out"
    return np.maximum(estimates, min_ms, out=estimates), expected
