"""Heat map of the round trips, with clusters as blocks along the diagonal."""

import math
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import numpy as np

from latency_map.delays import Delays
from latency_map.pictures.figure import MEMBER_COLOUR, blank_figure, count_noun, format_ms, node_labels, wrap_line
from latency_map.summary import clusters, reading_order
from latency_map.survey import Survey

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colorbar import Colorbar
    from matplotlib.colors import Normalize
    from matplotlib.figure import Figure

#: Largest number of nodes for which the cells show their values.
VALUES_UP_TO = 16

#: Ratio of the 95th to the 5th percentile from which the colour scale is logarithmic.
WIDE_RANGE_RATIO = 10.0

_SHADES_RATIO = 1000.0
_LIGHT_FROM = 0.55
_PT_PER_IN = 72.0
_LABEL_PT = 7.5


def draw_heat_map(survey: Survey, *, title: str, members: Collection[str] = ()) -> "Figure":
    """Draw the heat map of a survey, valid as a map or not.

    Raises
    ------
    LatencyMapError
        Matplotlib is not installed.
    """
    order, found = reading_order(survey), clusters(survey)
    rows = [survey.names.index(name) for name in order]
    rtt_ms = survey.rtt_ms[np.ix_(rows, rows)].copy()
    np.fill_diagonal(rtt_ms, np.nan_to_num(rtt_ms.diagonal()))
    side_in = min(max((0.42 if len(order) <= VALUES_UP_TO else 0.24) * len(order), 3.2), 11.0)
    figure = blank_figure(side_in + 2.6, side_in + 1.6)
    figure.set_layout_engine("constrained")
    ax = figure.add_subplot()
    norm, cut_off = _norm(rtt_ms)
    ax.patch.set(facecolor="#dddddd", hatch="////", edgecolor="#999999")  # visible in missing cells
    cells = np.ma.masked_invalid(np.maximum(rtt_ms, norm.vmin or 0.0))
    image = ax.imshow(cells, cmap="viridis", norm=norm, interpolation="nearest")
    _name_axes(ax, order, side_in * _PT_PER_IN / len(order), members)
    _frame_clusters(ax, order, found)
    if len(order) <= VALUES_UP_TO:
        estimated = survey.estimated[np.ix_(rows, rows)]
        for (row, column), delay_ms in np.ndenumerate(rtt_ms):
            if not math.isnan(delay_ms) and (row != column or delay_ms):
                text = f"{'~' if estimated[row, column] else ''}{format_ms(float(delay_ms))}"
                colour = "black" if norm(max(delay_ms, norm.vmin or 0.0)) > _LIGHT_FROM else "white"
                ax.text(column, row, text, ha="center", va="center", fontsize=8, color=colour)
    is_log = bool(norm.vmin)
    bar = figure.colorbar(image, ax=ax, extend="min" if cut_off else "neither", shrink=0.85)
    bar.set_label("round trip, ms" + (" (logarithmic)" if is_log else ""))
    if is_log:
        _mark_decades(bar)
    facts = [count_noun(len(order), "node"), count_noun(len(found), "cluster")]
    if missing := int(np.isnan(rtt_ms).sum()):
        facts.append(f"{missing} of {len(order) * (len(order) - 1)} round trips missing (hatched)")
    width = round((side_in + 1.6) * _PT_PER_IN / 6.2)
    ax.set_title(f"{wrap_line(title, width)}\n{wrap_line(', '.join(facts), width)}", fontsize=11)
    return figure


def _norm(rtt_ms: Delays) -> "tuple[Normalize, bool]":
    """Return the colour scale of delays, and whether some are below its lower end."""
    from matplotlib.colors import LogNorm, Normalize

    between_ms = rtt_ms[~np.eye(len(rtt_ms), dtype=bool) & ~np.isnan(rtt_ms)]
    positive_ms = between_ms[between_ms > 0]
    if not len(positive_ms):
        return Normalize(0.0, 1.0), False
    high_ms = float(positive_ms.max())
    p5_ms, p95_ms = np.percentile(positive_ms, [5, 95])
    if p95_ms < WIDE_RANGE_RATIO * p5_ms:
        return Normalize(0.0, high_ms), False
    low_ms = max(float(positive_ms.min()), high_ms / _SHADES_RATIO)
    return LogNorm(low_ms, high_ms), bool((between_ms < low_ms).any())


def _name_axes(ax: "Axes", order: tuple[str, ...], cell_pt: float, members: Collection[str]) -> None:
    """Write the names of members, and of as many others as fit."""
    every = math.ceil(_LABEL_PT / cell_pt)
    stand_out = [index for index, name in enumerate(order) if name in members]
    others = range(0, len(order), every)
    clear = [index for index in others if all(abs(index - other) >= every for other in stand_out)]
    shown = sorted({*stand_out, *clear})
    written = node_labels(order)
    labels = [written[order[index]] for index in shown]
    font_pt = min(9.0, max(6.0, 0.8 * cell_pt))
    ax.set_xticks(shown, labels, rotation=90, fontsize=font_pt)
    ax.set_yticks(shown, labels, fontsize=font_pt)
    ax.tick_params(length=2)
    ax.set_xlabel("to" if every == 1 else f"to (a name for every {every} nodes)")
    ax.set_ylabel("from")
    for axis in (ax.xaxis, ax.yaxis):
        for label, index in zip(axis.get_ticklabels(), shown, strict=True):
            if order[index] in members:
                label.set(color=MEMBER_COLOUR, fontweight="bold")


def _frame_clusters(ax: "Axes", order: tuple[str, ...], found: tuple[tuple[str, ...], ...]) -> None:
    from matplotlib.patches import Rectangle

    for cluster in found if len(found) > 1 else ():
        first, size = min(map(order.index, cluster)) - 0.5, len(cluster)
        frame: dict[str, Any] = {"fill": False, "edgecolor": "white", "linewidth": 2, "clip_on": False}
        ax.add_patch(Rectangle((first, first), size, size, **frame))


def _mark_decades(bar: "Colorbar") -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    bar.locator = LogLocator(subs=(1, 2, 5))
    bar.formatter = FuncFormatter(lambda value, _: f"{value:g}")
    bar.minorlocator = NullLocator()
    bar.update_ticks()
