"""Recorded runs and the same runs acted again, drawn over time."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gesscale.model.observation import Batch
from latency_map.pictures import canvas
from testbed.simulator.validation.recorded_run import RecordedRun
from testbed.simulator.validation.timelines import Series, backlog_rows, batch_time_s, replicas, rows_per_s

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_RECORDED, _SIMULATED = "#1a1a1a", "#0072B2"
_BIN_S = 10.0
_WIDTH_IN, _HEIGHT_IN = 6.5, 9.0

Read = Callable[[Sequence[Batch], Series], Series]


@dataclass(frozen=True, slots=True, kw_only=True)
class ActedRun:
    """A recorded run, and the batches of each seed with which it was acted again."""

    run: RecordedRun
    simulated: tuple[tuple[Batch, ...], ...]


def draw(acted: Sequence[ActedRun], file: Path) -> None:
    """Draw runs side by side: throughput, backlog, batch time and replicas over time.

    Parameters
    ----------
    acted
        At least one.
    file
        A .png or .svg file; one that exists is replaced.

    Raises
    ------
    LatencyMapError
        Matplotlib is not installed, or the file has another suffix or cannot be written.
    """
    figure = canvas.blank_figure(_WIDTH_IN * len(acted), _HEIGHT_IN)
    _fill(figure, acted)
    canvas.save(figure, file)


def _fill(figure: "Figure", acted: Sequence[ActedRun]) -> None:
    panels: tuple[tuple[str, Read, float], ...] = (
        ("throughput, rows/s", rows_per_s, _BIN_S),
        ("backlog, rows", backlog_rows, 1.0),
        ("batch time, s", batch_time_s, 0.25),
        ("replicas", replicas, 0.25),
    )
    figure.set_layout_engine("constrained")
    axes = figure.subplots(len(panels), len(acted), squeeze=False, sharex="col", sharey="row")
    for column, each in enumerate(acted):
        for row, (label, read, step_s) in enumerate(panels):
            ax = axes[row][column]
            _panel(ax, each, read, step_s)
            if not column:
                ax.set_ylabel(label)
        axes[0][column].set_title(each.run.name)
        axes[-1][column].set_xlabel("time, s")
    axes[-1][0].yaxis.get_major_locator().set_params(integer=True)
    for row in axes:
        row[0].set_ylim(bottom=0)
    figure.legend(*axes[0][0].get_legend_handles_labels(), loc="outside upper center", ncols=3, frameon=False)


def _panel(ax: "Axes", acted: ActedRun, read: Read, step_s: float) -> None:
    edges = np.arange(0.0, acted.run.duration_s, step_s)
    at_s = (edges[:-1] + edges[1:]) / 2 if read is rows_per_s else edges
    simulated = np.array([read(batches, edges) for batches in acted.simulated])
    least, median, greatest = (reduce(simulated, axis=0) for reduce in (np.min, np.median, np.max))
    count = len(simulated)
    if count > 1:
        ax.fill_between(
            at_s, least, greatest, color=_SIMULATED, alpha=0.2, linewidth=0, label=f"range of {count} seeds"
        )
    ax.plot(
        at_s, median, color=_SIMULATED, linewidth=1.2, label="simulated, median" if count > 1 else "simulated"
    )
    ax.plot(at_s, read(acted.run.batches, edges), color=_RECORDED, linewidth=1.2, label="recorded")
    ax.grid(visible=True, axis="y", color="#dddddd", linewidth=0.8)
    ax.spines[["top", "right"]].set_visible(False)
