"""The course of a run over time, in the manner of Fig. 7 of the Gesscale paper."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from testbed.arena.report.numbers import short
from testbed.arena.report.svg import as_element, blank_figure, colour, quiet_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Series = Mapping[str, Sequence[float | None]]

WIDTH = 400
HEIGHT = 480
LEGEND = (
    ("input", "line", "input, rows/s"),
    ("processed", "line", "processed, rows/s"),
    ("supply", "line", "supply: replicas kept"),
    ("serving", "area", "of them at work"),
    ("demand", "dashes", "demand: the ideal’s replicas"),
    ("over", "area", "too many"),
    ("under", "area", "too few"),
    ("backlog", "area", "backlog, rows"),
)
"""Colour, kind of line, words: one legend serves all figures of a workload."""

_HOURS_FROM_S = 8 * 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class AxisRanges:
    """The ends of the axes that the figures of a workload share.

    Attributes
    ----------
    end_s
        Seconds since the measurement began.
    rows_per_s, replicas, backlog_rows
        Top of each panel; all begin at 0.
    too_few, too_many
        Lowest and highest provisioning error, replicas.
    """

    end_s: float
    rows_per_s: float
    replicas: float
    too_few: float
    too_many: float
    backlog_rows: float

    @staticmethod
    def covering(courses: Iterable[Series]) -> "AxisRanges":
        """Return scales in which every one of these series has room."""
        kept = list(courses)

        def most(*columns: str) -> float:
            return max(
                (v for c in kept for name in columns for v in c.get(name, ()) if v is not None), default=0.0
            )

        errors = [error for course in kept for error in provisioning_errors(course) if not math.isnan(error)]
        return AxisRanges(
            end_s=most("t_s") or 1.0,
            rows_per_s=most("input_rows_per_s", "processed_rows_per_s") or 1.0,
            replicas=most("supply_replicas", "demand_replicas") or 1.0,
            too_few=min([-1.0, *errors]),
            too_many=max([1.0, *errors]),
            backlog_rows=most("backlog_rows") or 1.0,
        )


def provisioning_errors(course: Series) -> list[float]:
    """Return supply − demand of each sample, replicas; NaN where either is unknown."""
    pairs = zip(_column(course, "supply_replicas"), _column(course, "demand_replicas"), strict=True)
    return [supply - demand for supply, demand in pairs]


def draw_course(course: Series, scales: AxisRanges, *, key: str, label: str) -> str:
    """Draw rates, replicas, provisioning error and backlog over time.

    Parameters
    ----------
    course
        Columns ``t_s``, ``input_rows_per_s``, ``processed_rows_per_s``, ``demand_replicas``, ``supply_replicas``,
        ``serving_replicas`` and ``backlog_rows``, equally long; a value that is unknown is None.
    scales
        The same for every policy on the workload.
    key, label
        As in `testbed.arena.report.svg.as_element`.

    Returns
    -------
    str
        An ``svg`` element.
    """
    hours = scales.end_s >= _HOURS_FROM_S
    unit_s = 3600.0 if hours else 60.0
    at = [t / unit_s for t in _column(course, "t_s")]
    with blank_figure(WIDTH, HEIGHT) as figure:
        grid = figure.add_gridspec(
            4, 1, height_ratios=(5, 4, 4, 3), hspace=0.44, left=0.105, right=0.985, top=0.955, bottom=0.085
        )
        panels = [figure.add_subplot(grid[row]) for row in range(4)]
        for ax in panels:
            quiet_axes(ax)
            ax.set_xlim(0, scales.end_s / unit_s)
            ax.yaxis.set_major_formatter(short)
            ax.tick_params(labelbottom=ax is panels[-1])
        _draw_rates(panels[0], at, course, scales)
        _draw_replicas(panels[1], at, course, scales)
        _draw_error(panels[2], at, course, scales)
        _draw_backlog(panels[3], at, course, scales)
        panels[-1].set_xlabel(
            "hours" if hours else "minutes", color=colour("muted"), labelpad=1, fontsize=10.5
        )
        return as_element(figure, key, label)


def _draw_rates(ax: "Axes", at: Sequence[float], course: Series, scales: AxisRanges) -> None:
    _titled(ax, "input and processed, rows/s")
    ax.set_ylim(0, 1.05 * scales.rows_per_s)
    ax.plot(*_steps(at, _column(course, "processed_rows_per_s")), color=colour("processed"), linewidth=1.1)
    ax.plot(*_steps(at, _column(course, "input_rows_per_s")), color=colour("input"), linewidth=1.4)


def _draw_replicas(ax: "Axes", at: Sequence[float], course: Series, scales: AxisRanges) -> None:
    _titled(ax, "replicas")
    ax.set_ylim(0, scales.replicas + 0.6)
    _whole_numbers(ax)
    serving = _steps(at, _column(course, "serving_replicas"))
    ax.fill_between(*serving, color=colour("serving"), linewidth=0)
    ax.plot(*_steps(at, _column(course, "supply_replicas")), color=colour("supply"), linewidth=1.6)
    demand = _steps(at, _column(course, "demand_replicas"))
    ax.plot(*demand, color=colour("demand"), linewidth=1.2, dashes=(4, 2))


def _draw_error(ax: "Axes", at: Sequence[float], course: Series, scales: AxisRanges) -> None:
    _titled(ax, "provisioning error: supply − demand, replicas; ▾ reconfigured")
    ax.set_ylim(scales.too_few - 0.4, 1.18 * scales.too_many + 0.9)
    _whole_numbers(ax)
    errors = provisioning_errors(course)
    for role, side in (("over", [max(0.0, e) for e in errors]), ("under", [min(0.0, e) for e in errors])):
        ax.fill_between(*_steps(at, side), color=colour(role), linewidth=0)
    ax.axhline(0, color=colour("ink"), linewidth=1)
    supply = _column(course, "supply_replicas")
    changed = [t for t, before, now in zip(at[1:], supply, supply[1:], strict=False) if now != before]
    for t in changed:
        ax.plot(t, 0.93, "v", markersize=4, color=colour("ink"), transform=ax.get_xaxis_transform())


def _draw_backlog(ax: "Axes", at: Sequence[float], course: Series, scales: AxisRanges) -> None:
    _titled(ax, "backlog, rows")
    ax.set_ylim(0, 1.05 * scales.backlog_rows)
    ax.locator_params(axis="y", nbins=3, min_n_ticks=3)
    backlog = _column(course, "backlog_rows")
    ax.fill_between(at, backlog, color=colour("backlog"), alpha=0.55, linewidth=0)
    ax.plot(at, backlog, color=colour("backlog"), linewidth=1)


def _titled(ax: "Axes", text: str) -> None:
    ax.set_title(text, loc="left", x=-0.1, fontsize=11.5, color=colour("ink"), pad=5)


def _whole_numbers(ax: "Axes") -> None:
    from matplotlib.ticker import MaxNLocator

    ax.yaxis.set_major_locator(MaxNLocator(nbins=4, integer=True, min_n_ticks=2))


def _column(course: Series, name: str) -> list[float]:
    values = course.get(name) or (None,) * len(course.get("t_s", ()))
    return [math.nan if value is None else float(value) for value in values]


def _steps(at: Sequence[float], values: Sequence[float]) -> tuple[list[float], list[float]]:
    """Return the corners of a staircase, those only where it changes, so that a long calm costs nothing."""
    x: list[float] = []
    y: list[float] = []
    for t, value in zip(at, values, strict=True):
        if y and (y[-1] == value or (math.isnan(y[-1]) and math.isnan(value))):
            continue
        if y:
            x.append(t)
            y.append(y[-1])
        x.append(t)
        y.append(value)
    if x and x[-1] < at[-1]:
        x.append(at[-1])
        y.append(y[-1])
    return x, y
