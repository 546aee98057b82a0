"""Picture of nodes and links: nodes by distance, the minimum spanning tree, and the NDmax of a placement.

Nodes are positioned by classical scaling of the square roots of the delays, since delays span a wider range than a page
can show. Small maps, which have labels, are refined by the spring layout of Kamada and Kawai (networkx). Overlapping
nodes are then moved apart. Positions are in points, 1/72 inch.
"""

from collections.abc import Collection
from itertools import combinations
from typing import TYPE_CHECKING

import networkx as nx
import numpy as np

from latency_map.delays import Delays
from latency_map.matrix import LatencyMap
from latency_map.pictures.figure import (
    CLUSTER_COLOURS,
    MEMBER_COLOUR,
    blank_figure,
    count_noun,
    format_ms,
    node_labels,
    wrap_line,
)
from latency_map.summary import PlacementSummary, clusters, summarise_placement, symmetric_map
from latency_map.survey import Survey

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Largest number of nodes that are drawn with their names; more are drawn as dots.
NAMES_UP_TO = 64

#: Largest number of nodes for which the links show their delay.
LABELS_UP_TO = 32

#: Largest number of nodes for which overlaps are removed.
APART_UP_TO = 300

_NAME_PT, _DOT_PT, _CHARACTER_PT = 9.0, 7.0, 5.6
_MARGIN_PT, _HEAD_PT, _FOOT_PT, _MIN_WIDTH_PT = 40.0, 46.0, 44.0, 430.0
_NEAREST_SHARE, _LABELLED_FROM_PT = 0.02, 120.0
_ROUNDS, _WIDEN_EVERY, _WIDEN_BY, _OVERLAP_PT = 400, 40, 1.08, 0.05
_NOTE = (
    "Figures: round trip, ms. Lines: minimum spanning tree. Colours: clusters."
    " Distances on the page grow roughly with the square root of the round trip."
)
_NOTE_ON_MEMBERS = " Filled: members of the placement; dashed: its largest round trip."


def draw_node_link(survey: Survey, *, title: str, members: Collection[str] = ()) -> "Figure":
    """Draw nodes and links of a survey.

    Raises
    ------
    LatencyMapError
        Matplotlib is not installed.
    UnknownNodeError
        A member is not in the survey.
    """
    latencies = symmetric_map(survey).subset(sorted(survey.names))
    groups = clusters(survey)
    placement = summarise_placement(latencies, members) if members else None
    places, boxes = compute_layout(latencies)
    facts = [count_noun(len(survey), "node"), count_noun(len(groups), "cluster")]
    if placement:
        facts.append(_format_placement(placement))
    note = _NOTE + (_NOTE_ON_MEMBERS if placement else "")
    figure, ax = _page(places, boxes, title, ", ".join(facts), note)
    for a, b in _tree(latencies.rtt_ms):
        ax.plot(*places[[a, b]].T, color="#777777", linewidth=0.9, zorder=1)
        if len(latencies) <= LABELS_UP_TO:
            _write(ax, places[[a, b]].mean(axis=0), format_ms(float(latencies.rtt_ms[a, b])), "#555555")
    if placement and placement.widest is not None and placement.nd_max_ms is not None:
        ends = places[latencies.positions(placement.widest)]
        ax.plot(*ends.T, color=MEMBER_COLOUR, linewidth=1.8, linestyle=(0, (4, 2)), zorder=2)
        if (
            np.hypot(*(ends[0] - ends[1])) >= _LABELLED_FROM_PT
        ):  # a shorter label would hide the names; the title has the figure
            _write(ax, ends.mean(axis=0), f"NDmax {format_ms(placement.nd_max_ms)}", MEMBER_COLOUR)
    labels = node_labels(latencies.names)
    colours = {
        name: CLUSTER_COLOURS[number % len(CLUSTER_COLOURS)] for number, group in enumerate(groups) for name in group
    }
    for (x, y), name in zip(places, latencies.names, strict=True):
        member = name in members
        colour = MEMBER_COLOUR if member else colours[name]
        if len(latencies) > NAMES_UP_TO and not member:
            ax.plot(x, y, "o", markersize=_DOT_PT, color=colour, markeredgecolor="white", zorder=4)
            continue
        box = {"boxstyle": "round", "facecolor": colour if member else "white", "edgecolor": colour}
        ax.text(
            x,
            y,
            labels[name],
            ha="center",
            va="center",
            fontsize=_NAME_PT,
            color="white" if member else "black",
            bbox=box,
            zorder=5,
        )
    return figure


def compute_layout(latencies: LatencyMap) -> tuple[Delays, Delays]:
    """Return the positions of nodes, and the width and height of each drawn node; shapes ``(n, 2)``."""
    count = len(latencies)
    boxes = np.full((count, 2), 2 * _DOT_PT)
    if count <= NAMES_UP_TO:
        labels = node_labels(latencies.names).values()
        boxes = np.array([(_CHARACTER_PT * len(label) + 24, 3 * _NAME_PT) for label in labels])
    if count <= LABELS_UP_TO:
        boxes += 24.0
    if count == 1:
        return np.zeros((1, 2)), boxes
    rtt_ms = latencies.rtt_ms
    top = float(np.nanmax(rtt_ms)) or 1.0
    lengths = np.sqrt(np.maximum(np.nan_to_num(rtt_ms, nan=top) / top, _NEAREST_SHARE))
    np.fill_diagonal(lengths, 0.0)
    places = _scaled(lengths)
    if count <= NAMES_UP_TO:
        found = nx.kamada_kawai_layout(
            nx.empty_graph(count), dist=dict(enumerate(map(dict, map(enumerate, lengths)))), pos=dict(enumerate(places))
        )
        places = np.array([found[row] for row in range(count)])
    places *= max(_MIN_WIDTH_PT / 2, float(np.sqrt((boxes**2).sum()))) / max(np.abs(places).max(), 1e-9)
    return (_push_apart(places, boxes) if count <= APART_UP_TO else places), boxes


def _scaled(lengths: Delays) -> Delays:
    """Position nodes by classical scaling of the lengths between them."""
    centred = lengths**2 - (lengths**2).mean(axis=0)
    values, vectors = np.linalg.eigh(-(centred - centred.mean(axis=1, keepdims=True)) / 2)
    places: Delays = vectors[:, :-3:-1] * np.sqrt(np.maximum(values[:-3:-1], 0.0))
    return places


def _push_apart(places: Delays, boxes: Delays) -> Delays:
    """Move overlapping boxes apart along the axis of the smaller overlap; widen the layout if that is slow."""
    needed = (boxes[:, None] + boxes) / 2
    order = np.arange(len(places))
    tie = np.sign(order[:, None] - order)[..., None]
    for number in range(1, _ROUNDS + 1):
        apart = places[:, None] - places
        overlap = needed - np.abs(apart)
        touching = (overlap.min(axis=2) > _OVERLAP_PT) & (tie[..., 0] != 0)
        if not touching.any():
            break
        along_x = overlap[..., 0] <= overlap[..., 1]
        axis = np.stack([along_x, ~along_x], axis=2) & touching[..., None]
        places = places + (np.where(axis, overlap, 0.0) * np.where(apart == 0, tie, np.sign(apart))).sum(axis=1) / 2
        if number % _WIDEN_EVERY == 0:
            places = _WIDEN_BY * places
    return places


def _page(places: Delays, boxes: Delays, title: str, facts: str, note: str) -> tuple["Figure", "Axes"]:
    """Return a figure with title and note, and axes in points around all nodes."""
    low, high = (places - boxes / 2).min(axis=0), (places + boxes / 2).max(axis=0)
    spare = max(0.0, _MIN_WIDTH_PT - float(high[0] - low[0]) - 2 * _MARGIN_PT) / 2
    low, high = low - _MARGIN_PT - (spare, 0), high + _MARGIN_PT + (spare, 0)
    width, height = (float(side) for side in high - low)
    whole = height + _HEAD_PT + _FOOT_PT
    figure = blank_figure(width / 72, whole / 72)
    ax = figure.add_axes((0.0, _FOOT_PT / whole, 1.0, height / whole))
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), aspect="equal")
    ax.set_axis_off()
    lines = [wrap_line(line, round(width / 6.4)) for line in (title, facts)]
    figure.text(0.5, 1 - 8 / whole, "\n".join(lines), ha="center", va="top", fontsize=11)
    text = wrap_line(note, round(width / 4.4))
    figure.text(0.5, 6 / whole, text, ha="center", va="bottom", fontsize=8, color="#444444")
    return figure, ax


def _format_placement(placement: PlacementSummary) -> str:
    count = count_noun(len(placement.members), "member")
    if placement.nd_max_ms is None:
        return f"{count}: NDmax unknown, {count_noun(len(placement.missing), 'delay')} missing"
    return f"{count}: NDmax {format_ms(placement.nd_max_ms)} ms"


def _tree(lengths_ms: Delays) -> list[tuple[int, int]]:
    """Return the links of the minimum spanning tree; NaN is no link."""
    graph: nx.Graph[int] = nx.Graph()
    pairs = combinations(range(len(lengths_ms)), 2)
    graph.add_weighted_edges_from((a, b, float(lengths_ms[a, b])) for a, b in pairs if not np.isnan(lengths_ms[a, b]))
    return [(a, b) for a, b in nx.minimum_spanning_edges(graph, data=False)]


def _write(ax: "Axes", at: Delays, text: str, colour: str) -> None:
    box = {"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": "none", "alpha": 0.85}
    ax.text(at[0], at[1], text, fontsize=8.0, color=colour, bbox=box, ha="center", va="center", zorder=3)
