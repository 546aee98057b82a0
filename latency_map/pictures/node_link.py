"""The node-link picture: clusters as discs, the links that hold them together, a placement and its NDmax.

Clusters stand by the delays between them, and in each its nodes by theirs: by Kamada and Kawai's springs (networkx)
on the square roots of the delays, since delays span more than a page can show. In maps of more than `SPRINGS_UP_TO`
nodes those of a cluster are placed by Fruchterman and Reingold's forces, which are quicker. Then what overlaps is moved
apart. Places are in points, 1/72 inch.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np

from latency_map.clusters import clusters, symmetric_map
from latency_map.delays import Delays
from latency_map.matrix import LatencyMap
from latency_map.pictures.figure import (
    CLUSTER_COLOURS,
    MEMBER_COLOUR,
    blank_figure,
    counted,
    in_ms,
    label_of,
    wrapped,
)
from latency_map.summary import PlacementSummary, place
from latency_map.survey import Survey

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NAMES_UP_TO = 64
"""Most nodes of a map whose nodes are drawn with their names; beyond, as dots."""

LABELS_UP_TO = 16
"""Most nodes of a map whose links inside clusters have their delay written on them."""

SPRINGS_UP_TO = 600
"""Most nodes of a map that springs are let loose on, and that are moved apart."""

_NAME_PT, _DOT_PT, _CHARACTER_PT = 9.0, 7.0, 5.6
_PADDING_PT, _CAPTION_PT, _MARGIN_PT, _HEAD_PT, _FOOT_PT = 8.0, 16.0, 30.0, 46.0, 44.0
_LEAST_WIDTH_PT, _LABELLED_FROM_PT = 430.0, 120.0
_MANY_CLUSTERS = 12
_BEND = 0.16
_EXTENT, _NEAREST_SHARE = 0.38, 0.02
_ROUNDS, _WIDEN_EVERY, _WIDEN_BY, _OVERLAP_PT = 400, 40, 1.08, 0.05
_NOTE = (
    "Figures: round trip, ms. Lines: the shortest links that join a cluster (grey) and the clusters (black)."
    " The farther apart on the page, the longer the round trip, roughly by its square root."
)
_NOTE_ON_MEMBERS = " Filled: members of the placement; dashed: its largest round trip."


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NodeLinkLayout:
    """What is drawn, and where.

    Attributes
    ----------
    latencies
        The survey with its nodes by name and the larger direction of each pair.
    groups
        The clusters, by position.
    boxes_pt, places_pt
        Shapes ``(n, 2)``: widths and heights of the nodes, and their middles.
    centres_pt, radii_pt
        Shapes ``(k, 2)`` and ``(k,)``: discs round the clusters; no two overlap.
    """

    latencies: LatencyMap
    groups: tuple[tuple[int, ...], ...]
    boxes_pt: Delays
    places_pt: Delays
    centres_pt: Delays
    radii_pt: Delays


def lay_out(survey: Survey) -> NodeLinkLayout:
    """Find places for nodes and clusters: the same for the same nodes and delays, whatever their order."""
    names = tuple(sorted(survey.names))
    latencies = symmetric_map(survey).subset(names)
    rtt_ms = latencies.rtt_ms
    groups = tuple(tuple(latencies.positions(cluster)) for cluster in clusters(survey))
    if len(names) <= NAMES_UP_TO:
        widths = [_CHARACTER_PT * len(label) + 12 for label in label_of(names).values()]
        boxes, gap_pt = np.array([(width, 2 * _NAME_PT) for width in widths]), 8.0
    else:
        boxes, gap_pt = np.full((len(names), 2), _DOT_PT), 3.0
    if len(names) <= LABELS_UP_TO:
        gap_pt = 30.0
    places, radii = np.zeros((len(names), 2)), np.zeros(len(groups))
    for number, group in enumerate(groups):
        rows = list(group)
        local = _spread(rtt_ms[np.ix_(rows, rows)], boxes[rows] + gap_pt, len(names))
        local -= (local.max(axis=0) + local.min(axis=0)) / 2
        reach = np.hypot(*(np.abs(local) + boxes[rows] / 2).T).max()
        radii[number] = reach + (_PADDING_PT if len(rows) > 1 else 0.0)
        places[rows] = local
    sides = 2 * radii + (64.0 if len(groups) <= _MANY_CLUSTERS else 24.0)
    apart_ms = np.array([[_mean(rtt_ms[np.ix_(one, other)]) for other in groups] for one in groups])
    centres = _spread(apart_ms, np.column_stack([sides, sides + _CAPTION_PT]), len(groups))
    for number, group in enumerate(groups):
        places[list(group)] += centres[number]
    return NodeLinkLayout(
        latencies=latencies,
        groups=groups,
        boxes_pt=boxes,
        places_pt=places,
        centres_pt=centres,
        radii_pt=radii,
    )


def draw_node_link(survey: Survey, *, title: str, members: Collection[str] = ()) -> "Figure":
    """Draw nodes and links of a survey.

    Parameters
    ----------
    survey
        Any survey; the larger direction counts.
    title
        The line above: where the survey is from.
    members
        A placement to highlight, with its NDmax.

    Returns
    -------
    matplotlib.figure.Figure
        Nodes in discs, one for each cluster; inside a disc its minimum spanning tree, between discs the
        shortest links that join them all, with round trips in ms. Up to `NAMES_UP_TO` nodes have their names on them.

    Raises
    ------
    LatencyMapError
        Matplotlib is not installed.
    UnknownNodeError
        A member is not in the survey.
    """
    layout = lay_out(survey)
    placement = place(layout.latencies, members) if members else None
    facts = [counted(len(survey), "node"), counted(len(layout.groups), "cluster")]
    if placement:
        facts.append(_in_words(placement))
    note = _NOTE + (_NOTE_ON_MEMBERS if placement else "")
    figure, ax = _page(layout, title, ", ".join(facts), note)
    _draw_links_between(ax, layout)
    labels = label_of(layout.latencies.names)
    for number, group in enumerate(layout.groups):
        colour = CLUSTER_COLOURS[number % len(CLUSTER_COLOURS)]
        _draw_disc(ax, layout, number, colour)
        for row in group:
            name = layout.latencies.names[row]
            _draw_node(
                ax, layout, row, labels[name], MEMBER_COLOUR if name in members else colour, name in members
            )
    if placement and placement.widest is not None and placement.nd_max_ms is not None:
        _draw_nd_max(ax, layout, layout.latencies.positions(placement.widest), placement.nd_max_ms)
    return figure


def _mean(block: Delays) -> float:
    known = block[~np.isnan(block)]
    return float(known.mean()) if len(known) else np.nan


def _spread(rtt_ms: Delays, boxes_pt: Delays, nodes: int) -> Delays:
    """Place things by the delays between them, so that no boxes overlap."""
    count = len(rtt_ms)
    if count == 1:
        return np.zeros((1, 2))
    top = max(float(np.nanmax(rtt_ms, initial=0.0)), 0.0) or 1.0
    lengths = np.sqrt(np.maximum(np.nan_to_num(rtt_ms, nan=top) / top, _NEAREST_SHARE))
    if nodes <= SPRINGS_UP_TO:
        found = nx.kamada_kawai_layout(
            nx.empty_graph(count), dist=dict(enumerate(map(dict, map(enumerate, lengths))))
        )
    else:
        found = nx.spring_layout(nx.from_numpy_array(1 / lengths), seed=0)
    extent_pt = _EXTENT * float(np.sqrt((boxes_pt**2).sum()))
    places: Delays = extent_pt * np.array([found[row] for row in range(count)])
    return _push_apart(places, boxes_pt) if count <= SPRINGS_UP_TO else places


def _push_apart(places: Delays, boxes: Delays) -> Delays:
    """Move boxes that overlap apart, along the axis where less is needed; widen the whole where that takes long."""
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
        places = (
            places
            + (np.where(axis, overlap, 0.0) * np.where(apart == 0, tie, np.sign(apart))).sum(axis=1) / 2
        )
        if number % _WIDEN_EVERY == 0:
            places = _WIDEN_BY * places
    return places


def _page(layout: NodeLinkLayout, title: str, facts: str, note: str) -> tuple["Figure", "Axes"]:
    """Return a figure with title and note, and axes in points that hold everything."""
    radii = layout.radii_pt[:, None]
    low = np.vstack([layout.places_pt - layout.boxes_pt / 2, layout.centres_pt - radii]).min(axis=0)
    high = np.vstack([layout.places_pt + layout.boxes_pt / 2, layout.centres_pt + radii]).max(axis=0)
    spare = max(0.0, _LEAST_WIDTH_PT - float(high[0] - low[0]) - 2 * _MARGIN_PT) / 2
    low, high = low - _MARGIN_PT - (spare, 0), high + _MARGIN_PT + (spare, 0)
    width, height = (float(side) for side in high - low)
    whole = height + _HEAD_PT + _FOOT_PT
    figure = blank_figure(width / 72, whole / 72)
    ax = figure.add_axes((0.0, _FOOT_PT / whole, 1.0, height / whole))
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), aspect="equal")
    ax.set_axis_off()
    lines = [wrapped(line, round(width / 6.4)) for line in (title, facts)]
    figure.text(0.5, 1 - 8 / whole, "\n".join(lines), ha="center", va="top", fontsize=11)
    text = wrapped(note, round(width / 4.4))
    figure.text(0.5, 6 / whole, text, ha="center", va="bottom", fontsize=8, color="#444444")
    return figure, ax


def _in_words(placement: PlacementSummary) -> str:
    count = counted(len(placement.members), "member")
    if placement.nd_max_ms is None:
        return f"{count}: NDmax unknown, {counted(len(placement.missing), 'delay')} missing"
    return f"{count}: NDmax {in_ms(placement.nd_max_ms)} ms"


def _tree(lengths_ms: Delays) -> list[tuple[int, int]]:
    """Return the links that join everything and are as short as can be; NaN where there is none."""
    graph: nx.Graph[int] = nx.Graph()
    pairs = combinations(range(len(lengths_ms)), 2)
    graph.add_weighted_edges_from(
        (a, b, float(lengths_ms[a, b])) for a, b in pairs if not np.isnan(lengths_ms[a, b])
    )
    return [(a, b) for a, b in nx.minimum_spanning_edges(graph, data=False)]


def _draw_links_between(ax: "Axes", layout: NodeLinkLayout) -> None:
    """Draw a line from disc to disc for the nearest pair of nodes of each two that are neighbours."""
    rtt_ms, groups = layout.latencies.rtt_ms, layout.groups
    nearest = np.full((len(groups), len(groups)), np.nan)
    for one, other in combinations(range(len(groups)), 2):
        block = rtt_ms[np.ix_(groups[one], groups[other])]
        if not np.isnan(block).all():
            nearest[one, other] = np.nanmin(block)
    for one, other in _tree(nearest):
        start, end = layout.centres_pt[[one, other]]
        way = (end - start) / np.hypot(*(end - start))
        ax.plot(*zip(start, end, strict=True), color="black", linewidth=1.2, zorder=1)
        middle = (start + way * layout.radii_pt[one] + end - way * layout.radii_pt[other]) / 2
        _write(ax, middle, in_ms(float(nearest[one, other])), colour="black", zorder=7.5)


def _draw_disc(ax: "Axes", layout: NodeLinkLayout, number: int, colour: str) -> None:
    """Draw the disc of a cluster of several nodes, and the links that hold it together."""
    from matplotlib.patches import Circle

    rows = list(layout.groups[number])
    if len(rows) == 1:
        return
    (x, y), radius = layout.centres_pt[number], float(layout.radii_pt[number])
    for face, zorder in (("white", 2.0), (f"{colour}1c", 2.1)):
        ax.add_patch(Circle((x, y), radius, facecolor=face, edgecolor=colour, linewidth=1.2, zorder=zorder))
    among_ms = layout.latencies.rtt_ms[np.ix_(rows, rows)]
    caption = f"{counted(len(rows), 'node')}, up to {in_ms(float(np.nanmax(among_ms)))} ms"
    _write(ax, (x, y + radius + 8), caption, size=8.5, colour=colour, zorder=7, bold=True)
    for one, other in _tree(among_ms):
        ends = layout.places_pt[[rows[one], rows[other]]]
        ax.plot(*ends.T, color="#777777", linewidth=0.9, zorder=3)
        if len(layout.latencies) <= LABELS_UP_TO:
            _write(ax, ends.mean(axis=0), in_ms(float(among_ms[one, other])), colour="#555555", zorder=4.5)


def _draw_node(ax: "Axes", layout: NodeLinkLayout, row: int, label: str, colour: str, member: bool) -> None:
    x, y = layout.places_pt[row]
    if len(layout.latencies) > NAMES_UP_TO:
        ax.plot(
            x,
            y,
            "o",
            markersize=_DOT_PT * (1.6 if member else 1.0),
            color=colour,
            markeredgecolor="white",
            zorder=5,
        )
        if member:
            _write(ax, (x, y + 13), label, size=_NAME_PT, colour=colour, zorder=8, bold=True)
        return
    from matplotlib.patches import FancyBboxPatch

    width, height = layout.boxes_pt[row]
    box = FancyBboxPatch(
        (x - width / 2, y - height / 2), width, height, boxstyle="round,pad=0,rounding_size=6", zorder=5
    )
    box.set(facecolor=colour if member else "white", edgecolor=colour, linewidth=1.4)
    ax.add_patch(box)
    style: dict[str, Any] = {"color": "white", "fontweight": "bold"} if member else {}
    ax.text(x, y, label, ha="center", va="center", fontsize=_NAME_PT, zorder=6, **style)


def _draw_nd_max(ax: "Axes", layout: NodeLinkLayout, rows: Sequence[int], nd_max_ms: float) -> None:
    """Draw the largest round trip of a placement as an arc that is bent towards the middle of the page."""
    from matplotlib.patches import FancyArrowPatch

    a, b = layout.places_pt[list(rows)]
    across, middle = np.array([b[1] - a[1], a[0] - b[0]]), (a + b) / 2
    inwards = layout.places_pt.max(axis=0) + layout.places_pt.min(axis=0) - 2 * middle
    bend = _BEND if across @ inwards >= 0 else -_BEND
    line: dict[str, Any] = {"color": MEMBER_COLOUR, "linewidth": 1.8, "linestyle": (0, (4, 2)), "zorder": 4}
    ends: dict[str, Any] = {"arrowstyle": "-", "shrinkA": 0, "shrinkB": 0}
    ax.add_patch(FancyArrowPatch(tuple(a), tuple(b), connectionstyle=f"arc3,rad={bend}", **ends, **line))
    if np.hypot(*(a - b)) >= _LABELLED_FROM_PT:  # else it would hide the names; the title has the figure
        text = f"NDmax {in_ms(nd_max_ms)}"
        _write(ax, middle + across * bend / 2, text, size=9, colour=MEMBER_COLOUR, zorder=9, bold=True)


def _write(
    ax: "Axes",
    at: "Delays | tuple[float, float]",
    text: str,
    *,
    colour: str,
    zorder: float,
    size: float = 8.0,
    bold: bool = False,
) -> None:
    weight = "bold" if bold else "normal"
    box = {"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": "none", "alpha": 0.85}
    middle: dict[str, Any] = {"ha": "center", "va": "center", "zorder": zorder}
    ax.text(
        float(at[0]), float(at[1]), text, fontsize=size, color=colour, fontweight=weight, bbox=box, **middle
    )
