"""Where nodes stand on the page: clusters by the delays between them, and in each its nodes by theirs.

Both steps are Kamada and Kawai's springs (networkx) on the square roots of the delays, since delays span more
than a page can show; in maps of more than `SPRINGS_UP_TO` nodes, those of a cluster are placed by Fruchterman and
Reingold's forces, which are quicker. Then boxes that overlap are moved apart. Places are in points, 1/72 inch.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from latency_map.delays import Delays

SPRINGS_UP_TO = 600
"""Most nodes of a map that springs are let loose on: their time grows with the square, and more."""

APART_UP_TO = 600
"""Most nodes of a cluster that are moved apart; more are dots that may cover each other."""

_ROUNDS = 400
_WIDEN_EVERY = 40
_WIDEN_BY = 1.08
_OVERLAP_PT = 0.05
_NEAREST_SHARE = 0.02
_EXTENT = 0.38


@dataclass(frozen=True, slots=True, kw_only=True)
class Spacing:
    """How much room things keep, in points.

    Attributes
    ----------
    node_pt, cluster_pt
        Between the boxes of nodes, and between clusters.
    padding_pt
        Between the boxes of a cluster and its outline.
    caption_pt
        Height of the line over a cluster.
    """

    node_pt: float
    cluster_pt: float
    padding_pt: float = 8.0
    caption_pt: float = 16.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Layout:
    """Where everything is.

    Attributes
    ----------
    places_pt
        Shape ``(n, 2)``: middles of the nodes.
    centres_pt, radii_pt
        Shapes ``(k, 2)`` and ``(k,)``: circles round the clusters.
    """

    places_pt: Delays
    centres_pt: Delays
    radii_pt: Delays


def arrange(rtt_ms: Delays, groups: Sequence[Sequence[int]], boxes_pt: Delays, spacing: Spacing) -> Layout:
    """Find places for nodes and clusters.

    Parameters
    ----------
    rtt_ms
        Shape ``(n, n)``: symmetric, zero diagonal, NaN where missing.
    groups
        The clusters, by position; every node is in one.
    boxes_pt
        Shape ``(n, 2)``: widths and heights of the nodes.
    spacing
        How much room to leave.

    Returns
    -------
    Layout
        No two circles overlap, nor two boxes in a cluster of up to `APART_UP_TO` nodes.
    """
    places = np.zeros((len(rtt_ms), 2))
    radii = np.zeros(len(groups))
    for index, group in enumerate(groups):
        rows = list(group)
        own = boxes_pt[rows] + spacing.node_pt
        local = _spread(rtt_ms[np.ix_(rows, rows)], own, springs=len(rtt_ms) <= SPRINGS_UP_TO)
        local -= (local.max(axis=0) + local.min(axis=0)) / 2
        reach = np.hypot(*(np.abs(local) + boxes_pt[rows] / 2).T).max()
        radii[index] = reach + (spacing.padding_pt if len(rows) > 1 else 0.0)
        places[rows] = local
    sides = 2 * radii + spacing.cluster_pt
    discs = np.column_stack([sides, sides + spacing.caption_pt])
    centres = _spread(_between(rtt_ms, groups), discs, springs=True)
    for index, group in enumerate(groups):
        places[list(group)] += centres[index]
    return Layout(places_pt=places, centres_pt=centres, radii_pt=radii)


def _between(rtt_ms: Delays, groups: Sequence[Sequence[int]]) -> Delays:
    result = np.zeros((len(groups), len(groups)))
    for first, second in combinations(range(len(groups)), 2):
        block = rtt_ms[np.ix_(list(groups[first]), list(groups[second]))]
        known = block[~np.isnan(block)]
        result[first, second] = result[second, first] = known.mean() if len(known) else np.nan
    return result


def _spread(rtt_ms: Delays, boxes_pt: Delays, *, springs: bool) -> Delays:
    count = len(rtt_ms)
    if count == 1:
        return np.zeros((1, 2))
    extent_pt = _EXTENT * float(np.sqrt((boxes_pt**2).sum(axis=1).sum()))
    places = extent_pt * (_springs if springs else _forces)(_lengths(rtt_ms))
    return _push_apart(places, boxes_pt) if count <= APART_UP_TO else places


def _lengths(rtt_ms: Delays) -> Delays:
    known = rtt_ms[~np.isnan(rtt_ms)]
    top = float(known.max()) if len(known) and known.max() > 0 else 1.0
    lengths: Delays = np.sqrt(np.maximum(np.nan_to_num(rtt_ms, nan=top) / top, _NEAREST_SHARE))
    return lengths


def _springs(lengths: Delays) -> Delays:
    count = len(lengths)
    table = {row: {column: float(lengths[row, column]) for column in range(count)} for row in range(count)}
    places = nx.kamada_kawai_layout(nx.empty_graph(count), dist=table)
    return np.array([places[row] for row in range(count)])


def _forces(lengths: Delays) -> Delays:
    """Let nodes attract each other the more the nearer they are: rougher than springs, and quick."""
    places = nx.spring_layout(nx.from_numpy_array(1 / lengths), seed=0)
    return np.array([places[row] for row in range(len(lengths))])


def _push_apart(places: Delays, boxes: Delays) -> Delays:
    needed = (boxes[:, None] + boxes) / 2
    for round_ in range(_ROUNDS):
        step = _shove(places, needed)
        if step is None:
            break
        places = places + step
        if round_ % _WIDEN_EVERY == _WIDEN_EVERY - 1:
            places = _WIDEN_BY * places
    return places


def _shove(places: Delays, needed: Delays) -> Delays | None:
    apart = places[:, None] - places
    overlap = needed - np.abs(apart)
    touching: NDArray[np.bool_] = np.min(overlap, axis=2) > _OVERLAP_PT
    np.fill_diagonal(touching, False)
    if not touching.any():
        return None
    along_x = overlap[..., 0] <= overlap[..., 1]
    axis: NDArray[np.bool_] = np.stack([along_x, ~along_x], axis=2) & touching[..., None]
    order = np.arange(len(places))
    tie = np.sign(order[:, None] - order)[..., None]
    direction = np.where(apart == 0, tie, np.sign(apart))
    step: Delays = (np.where(axis, overlap, 0.0) * direction).sum(axis=1) * 0.5
    return step
