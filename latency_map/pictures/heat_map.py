"""The heat map: every round trip a cell, clusters as blocks along the diagonal."""

import math
from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from latency_map.clusters import clusters, reading_order
from latency_map.delays import Delays
from latency_map.pictures.canvas import MEMBER_COLOUR, blank_figure, counted, in_ms, label_of, wrapped
from latency_map.survey import Mask, Survey

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage

VALUES_UP_TO = 16
"""Most nodes of a map whose cells have their figures written in them."""

WIDE_RANGE_RATIO = 10.0
"""The colours go by the logarithm from this ratio of the 95th to the 5th percentile."""

_SHADES_RATIO = 1000.0
_LIGHT_FROM = 0.55
_PT_PER_IN = 72.0
_LABEL_PT = 7.5


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sheet:
    side_in: float
    cell_pt: float
    every: int
    font_pt: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scale:
    low_ms: float
    high_ms: float
    logarithmic: bool
    below: bool

    def share(self, delay_ms: float) -> float:
        """Return where a delay is from the lowest colour, 0, to the highest, 1."""
        if self.logarithmic:
            return math.log(max(delay_ms, self.low_ms) / self.low_ms) / math.log(self.high_ms / self.low_ms)
        return (delay_ms - self.low_ms) / (self.high_ms - self.low_ms)


def draw_heat_map(survey: Survey, *, title: str, members: Collection[str] = ()) -> "Figure":
    """Draw the heat map of a survey, faults and all.

    Parameters
    ----------
    survey
        Any survey; from the node of the row to the node of the column.
    title
        The line above: where the survey is from.
    members
        Nodes whose names stand out.

    Returns
    -------
    matplotlib.figure.Figure
        One image in the order of `latency_map.clusters.reading_order`, clusters framed, missing cells
        hatched, colours of the palette viridis; names are thinned where all would not fit.

    Raises
    ------
    LatencyMapError
        Matplotlib is not installed.
    """
    order = reading_order(survey)
    position = {name: row for row, name in enumerate(survey.names)}
    rows = [position[name] for name in order]
    rtt_ms = survey.rtt_ms[np.ix_(rows, rows)].copy()
    diagonal = rtt_ms.diagonal()
    np.fill_diagonal(rtt_ms, np.nan_to_num(diagonal))
    found = clusters(survey)
    sheet = _sheet(len(order))
    figure = blank_figure(sheet.side_in + 2.6, sheet.side_in + 1.6)
    figure.set_layout_engine("constrained")
    ax = figure.add_subplot()
    scale = _scale(rtt_ms)
    image = _paint(ax, rtt_ms, scale)
    _name_axes(ax, order, sheet, members)
    _frame_clusters(ax, order, found)
    if len(order) <= VALUES_UP_TO:
        _write_values(ax, rtt_ms, scale, survey.estimated[np.ix_(rows, rows)])
    missing = int(np.isnan(rtt_ms).sum())
    _colour_bar(figure, ax, image, scale)
    facts = [counted(len(order), "node"), counted(len(found), "cluster")]
    if missing:
        cells = len(order) * (len(order) - 1)
        facts.append(f"{missing} of {cells} round trips missing (hatched)")
    width = round((sheet.side_in + 1.6) * _PT_PER_IN / 6.2)
    ax.set_title(f"{wrapped(title, width)}\n{wrapped(', '.join(facts), width)}", fontsize=11)
    return figure


def _sheet(nodes: int) -> _Sheet:
    side_in = min(max(0.42 * nodes if nodes <= VALUES_UP_TO else 0.24 * nodes, 3.2), 11.0)
    cell_pt = side_in * _PT_PER_IN / nodes
    return _Sheet(
        side_in=side_in,
        cell_pt=cell_pt,
        every=math.ceil(_LABEL_PT / cell_pt),
        font_pt=min(9.0, max(6.0, 0.8 * cell_pt)),
    )


def _scale(rtt_ms: Delays) -> _Scale:
    between_ms = rtt_ms[~np.eye(len(rtt_ms), dtype=bool) & ~np.isnan(rtt_ms)]
    positive_ms = between_ms[between_ms > 0]
    if not len(positive_ms):
        return _Scale(low_ms=0.0, high_ms=1.0, logarithmic=False, below=False)
    low_ms, high_ms = float(positive_ms.min()), float(positive_ms.max())
    p5_ms, p95_ms = np.percentile(positive_ms, [5, 95])
    if p95_ms < WIDE_RANGE_RATIO * p5_ms:
        return _Scale(low_ms=0.0, high_ms=high_ms, logarithmic=False, below=False)
    low_ms = max(low_ms, high_ms / _SHADES_RATIO)
    return _Scale(low_ms=low_ms, high_ms=high_ms, logarithmic=True, below=bool((between_ms < low_ms).any()))


def _paint(ax: "Axes", rtt_ms: Delays, scale: _Scale) -> "AxesImage":
    from matplotlib.colors import LogNorm, Normalize

    ax.patch.set(facecolor="#dddddd", hatch="////", edgecolor="#999999")  # seen where a cell is missing
    norm = (LogNorm if scale.logarithmic else Normalize)(vmin=scale.low_ms, vmax=scale.high_ms)
    cells = np.ma.masked_invalid(np.maximum(rtt_ms, scale.low_ms))
    return ax.imshow(cells, cmap="viridis", norm=norm, interpolation="nearest")


def _name_axes(ax: "Axes", order: tuple[str, ...], sheet: _Sheet, members: Collection[str]) -> None:
    stand_out = [index for index, name in enumerate(order) if name in members]
    others = range(0, len(order), sheet.every)
    clear = [index for index in others if all(abs(index - other) >= sheet.every for other in stand_out)]
    shown = sorted({*stand_out, *clear})
    written = label_of(order)
    labels = [written[order[index]] for index in shown]
    ax.set_xticks(shown, labels, rotation=90, fontsize=sheet.font_pt)
    ax.set_yticks(shown, labels, fontsize=sheet.font_pt)
    ax.tick_params(length=2)
    ax.set_xlabel("to" if sheet.every == 1 else f"to (a name for every {sheet.every} nodes)")
    ax.set_ylabel("from")
    for axis in (ax.xaxis, ax.yaxis):
        for label, index in zip(axis.get_ticklabels(), shown, strict=True):
            if order[index] in members:
                label.set(color=MEMBER_COLOUR, fontweight="bold")


def _frame_clusters(ax: "Axes", order: tuple[str, ...], found: tuple[tuple[str, ...], ...]) -> None:
    from matplotlib.patches import Rectangle

    if len(found) == 1:
        return
    position = {name: index for index, name in enumerate(order)}
    for cluster in found:
        places = [position[name] for name in cluster]
        corner = (min(places) - 0.5, min(places) - 0.5)
        frame = Rectangle(
            corner, len(places), len(places), fill=False, edgecolor="white", linewidth=2, clip_on=False
        )
        ax.add_patch(frame)


def _write_values(ax: "Axes", rtt_ms: Delays, scale: _Scale, estimated: Mask) -> None:
    for (row, column), delay_ms in np.ndenumerate(rtt_ms):
        if math.isnan(delay_ms) or (row == column and delay_ms == 0):
            continue
        text = f"{'~' if estimated[row, column] else ''}{in_ms(float(delay_ms))}"
        colour = "black" if scale.share(float(delay_ms)) > _LIGHT_FROM else "white"
        ax.text(column, row, text, ha="center", va="center", fontsize=8, color=colour)


def _colour_bar(figure: "Figure", ax: "Axes", image: "AxesImage", scale: _Scale) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    bar = figure.colorbar(image, ax=ax, extend="min" if scale.below else "neither", shrink=0.85)
    bar.set_label("round trip, ms" + (" (logarithmic)" if scale.logarithmic else ""))
    if scale.logarithmic:
        bar.locator = LogLocator(subs=(1, 2, 5))
        bar.formatter = FuncFormatter(lambda value, _: f"{value:g}")
        bar.minorlocator = NullLocator()
        bar.update_ticks()
