"""The node-link picture: clusters as discs, the links that hold them together, a placement and its NDmax."""

from collections.abc import Collection
from typing import TYPE_CHECKING

import numpy as np

from latency_map.delays import Delays
from latency_map.pictures.canvas import (
    CLUSTER_COLOURS,
    MEMBER_COLOUR,
    blank_figure,
    counted,
    in_ms,
    wrapped,
)
from latency_map.pictures.links import Link, links_between, links_within
from latency_map.pictures.scene import (
    DOT_PT,
    LABELS_UP_TO,
    NAME_PT,
    NodeLinkLayout,
    bend,
    middle_between_discs,
    middle_between_nodes,
    set_scene,
)
from latency_map.summary import PlacementSummary, place
from latency_map.survey import Survey

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_PT_PER_IN = 72.0
_MARGIN_PT = 30.0
_LEAST_WIDTH_PT = 430.0
_LABELLED_FROM_PT = 120.0
_HEAD_PT, _FOOT_PT = 46.0, 44.0
_NOTE = (
    "Figures: round trip, ms. Lines: the shortest links that join a cluster (grey) and the clusters (black)."
    " The farther apart on the page, the longer the round trip, roughly by its square root."
)
_NOTE_ON_MEMBERS = " Filled: members of the placement; dashed: its largest round trip."


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
        shortest links that join them all, with round trips in ms. Up to
        `latency_map.pictures.scene.NAMES_UP_TO` nodes have their names on them; up to `LABELS_UP_TO`, links
        inside discs have their delay on them, and links between discs are drawn to their very nodes.

    Raises
    ------
    LatencyMapError
        Matplotlib is not installed.
    UnknownNodeError
        A member is not in the survey.
    """
    scene = set_scene(survey)
    placement = place(scene.latencies, members) if members else None
    facts = [counted(len(survey), "node"), counted(len(scene.groups), "cluster")]
    if placement:
        facts.append(_in_words(placement))
    note = _NOTE + (_NOTE_ON_MEMBERS if placement else "")
    figure, ax = _page(scene, title, ", ".join(facts), note)
    _draw_discs(ax, scene)
    _draw_links(ax, scene)
    _draw_nodes(ax, scene, frozenset(members))
    if placement:
        _draw_nd_max(ax, scene, placement)
    return figure


def _page(scene: NodeLinkLayout, title: str, facts: str, note: str) -> tuple["Figure", "Axes"]:
    low, high = scene.bounds_pt
    spare = max(0.0, _LEAST_WIDTH_PT - float(high[0] - low[0]) - 2 * _MARGIN_PT) / 2
    low, high = low - _MARGIN_PT - (spare, 0), high + _MARGIN_PT + (spare, 0)
    width, height = (float(side) for side in high - low)
    whole = height + _HEAD_PT + _FOOT_PT
    figure = blank_figure(width / _PT_PER_IN, whole / _PT_PER_IN)
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


def _draw_discs(ax: "Axes", scene: NodeLinkLayout) -> None:
    from matplotlib.patches import Circle

    for number, group in enumerate(scene.groups):
        if len(group) == 1:
            continue
        x, y = (float(side) for side in scene.layout.centres_pt[number])
        radius, colour = float(scene.layout.radii_pt[number]), _colour(number)
        for face, zorder in (("white", 2.0), (f"{colour}1c", 2.1)):
            disc = Circle((x, y), radius, facecolor=face, edgecolor=colour, linewidth=1.2, zorder=zorder)
            ax.add_patch(disc)
        among_ms = scene.latencies.rtt_ms[np.ix_(group, group)]
        caption = f"{counted(len(group), 'node')}, up to {in_ms(float(np.nanmax(among_ms)))} ms"
        _write(ax, (x, y + radius + 8), caption, size=8.5, colour=colour, zorder=7, bold=True)


def _draw_links(ax: "Axes", scene: NodeLinkLayout) -> None:
    labelled = len(scene.latencies) <= LABELS_UP_TO
    for link in links_within(scene.latencies.rtt_ms, scene.groups):
        ends = scene.layout.places_pt[[link.a, link.b]]
        ax.plot(*ends.T, color="#777777", linewidth=0.9, zorder=3)
        if labelled:
            _write(ax, middle_between_nodes(scene, link), in_ms(link.rtt_ms), colour="#555555", zorder=4.5)
    for link in links_between(scene.latencies.rtt_ms, scene.groups):
        ends = scene.layout.places_pt[[link.a, link.b]]
        ax.plot(*ends.T, color="black", linewidth=1.2, zorder=3.1 if labelled else 1)
        _write(ax, middle_between_discs(scene, link), in_ms(link.rtt_ms), colour="black", zorder=7.5)


def _draw_nodes(ax: "Axes", scene: NodeLinkLayout, members: Collection[str]) -> None:
    for number, group in enumerate(scene.groups):
        for row in group:
            member = scene.latencies.names[row] in members
            colour = MEMBER_COLOUR if member else _colour(number)
            if scene.named:
                _draw_name(ax, scene, row, colour, member)
            else:
                _draw_dot(ax, scene, row, colour, member)


def _draw_name(ax: "Axes", scene: NodeLinkLayout, row: int, colour: str, member: bool) -> None:
    from matplotlib.patches import FancyBboxPatch

    (x, y), (width, height) = scene.layout.places_pt[row], scene.boxes_pt[row]
    box = FancyBboxPatch(
        (x - width / 2, y - height / 2), width, height, boxstyle="round,pad=0,rounding_size=6", zorder=5
    )
    box.set(facecolor=colour if member else "white", edgecolor=colour, linewidth=1.4)
    ax.add_patch(box)
    ax.text(
        x,
        y,
        scene.labels[row],
        ha="center",
        va="center",
        fontsize=NAME_PT,
        zorder=6,
        color="white" if member else "black",
        fontweight="bold" if member else "normal",
    )


def _draw_dot(ax: "Axes", scene: NodeLinkLayout, row: int, colour: str, member: bool) -> None:
    from matplotlib.patches import Circle

    x, y = (float(side) for side in scene.layout.places_pt[row])
    radius = DOT_PT * (0.8 if member else 0.5)
    ax.add_patch(Circle((x, y), radius, facecolor=colour, edgecolor="white", linewidth=0.5, zorder=5))
    if member:
        _write(ax, (x, y + 13), scene.labels[row], size=NAME_PT, colour=colour, zorder=8, bold=True)


def _draw_nd_max(ax: "Axes", scene: NodeLinkLayout, placement: PlacementSummary) -> None:
    from matplotlib.patches import FancyArrowPatch

    if placement.nd_max_ms is None or placement.widest is None:
        return
    a, b = scene.latencies.positions(placement.widest)
    rad, top = bend(scene, Link(a=a, b=b, rtt_ms=placement.nd_max_ms))
    arc = FancyArrowPatch(
        tuple(scene.layout.places_pt[a]),
        tuple(scene.layout.places_pt[b]),
        connectionstyle=f"arc3,rad={rad}",
        arrowstyle="-",
        shrinkA=0,
        shrinkB=0,
        color=MEMBER_COLOUR,
        linewidth=1.8,
        linestyle=(0, (4, 2)),
        zorder=4,
    )
    ax.add_patch(arc)
    if float(np.hypot(*(scene.layout.places_pt[a] - scene.layout.places_pt[b]))) < _LABELLED_FROM_PT:
        return  # it would hide the names; the title has the figure
    text = f"NDmax {in_ms(placement.nd_max_ms)}"
    _write(ax, top, text, size=9, colour=MEMBER_COLOUR, zorder=9, bold=True)


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
    ax.text(
        float(at[0]),
        float(at[1]),
        text,
        ha="center",
        va="center",
        fontsize=size,
        color=colour,
        fontweight="bold" if bold else "normal",
        zorder=zorder,
        bbox={"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": "none", "alpha": 0.85},
    )


def _colour(number: int) -> str:
    return CLUSTER_COLOURS[number % len(CLUSTER_COLOURS)]
