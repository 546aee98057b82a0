"""Seconds of lag and latency of rows, policy by policy."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from testbed.arena.report.numbers import short
from testbed.arena.report.svg import (
    as_element,
    blank_figure,
    colour,
    dot_runs,
    in_figure,
    mark_policy,
    name_axes,
    policy_colour,
    quiet_axes,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH = 450

_ROW_HEIGHT = 26
_AROUND = 62
_MOST_TICKS = 6
_WIDE_RANGE = 30.0
"""Lag goes by the logarithm where the most is so many times the least."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyLag:
    """What a policy made the rows wait.

    Attributes
    ----------
    index
        Its position in the experiment; decides colour and marker.
    lag_s
        Seconds above the objective, one value per run.
    mean, low, high
        Their mean with its interval; the ends are None where it has none.
    latency_s
        Mean over the runs of p50, p95 and p99, seconds; empty where unknown.
    """

    policy: str
    index: int
    lag_s: tuple[float, ...]
    mean: float
    low: float | None
    high: float | None
    latency_s: tuple[float, ...] = ()


def draw_lag(policies: Sequence[PolicyLag], *, key: str, label: str) -> str:
    """Draw the seconds of lag of every run, with each policy's mean and interval; returns an ``svg`` element."""
    with blank_figure(WIDTH, _AROUND + _ROW_HEIGHT * len(policies)) as figure:
        ax = _rows(figure, policies, "seconds of lag above the objective")
        most = max([1.0, *(value for lag in policies for value in lag.lag_s)])
        least = min((lag.mean for lag in policies if lag.mean > 0), default=most)
        if most > _WIDE_RANGE * least:
            ax.set_xscale("symlog", linthresh=least, linscale=0.6)
        ax.set_xlim(-0.02 * min(most, 5 * least), 1.15 * most)
        ax.xaxis.set_major_formatter(short)
        for row, lag in enumerate(policies):
            dot_runs(ax, lag.lag_s, [row] * len(lag.lag_s), lag.index)
            if lag.low is not None and lag.high is not None:
                shown = policy_colour(lag.index)
                ax.plot([lag.low, lag.high], [row, row], color=shown, linewidth=2.6, solid_capstyle="butt")
            mark_policy(ax, lag.mean, row, lag.index, size=10)
        return as_element(figure, key, label)


def draw_latency(policies: Sequence[PolicyLag], *, key: str, label: str) -> str:
    """Draw the median, p95 and p99 of the rows' latency for each policy; returns an ``svg`` element."""
    with blank_figure(WIDTH, _AROUND + _ROW_HEIGHT * len(policies)) as figure:
        ax = _rows(figure, policies, "latency of rows, s: median │ p95 │ p99")
        known = [value for lag in policies for value in lag.latency_s if value > 0]
        low, high = 0.7 * min(known, default=1.0), 1.4 * max(known, default=10.0)
        ax.set_xscale("log")
        ax.set_xlim(low, high)
        ax.set_xticks(log_ticks(low, high), minor=False)
        ax.set_xticks([], minor=True)
        ax.xaxis.set_major_formatter(short)
        for row, lag in enumerate(policies):
            if lag.latency_s:
                shown = policy_colour(lag.index)
                ax.plot([lag.latency_s[0], lag.latency_s[-1]], [row, row], color=shown, linewidth=2.6)
                ax.plot(
                    lag.latency_s,
                    [row] * len(lag.latency_s),
                    "|",
                    markersize=13,
                    markeredgewidth=2.4,
                    color=shown,
                )
        return as_element(figure, key, label)


def log_ticks(low: float, high: float) -> list[float]:
    """Return values for a logarithmic axis that has room for six: of 1, 2 and 5 times a power of ten, or of its powers.

    Examples
    --------
    >>> log_ticks(0.8, 30), log_ticks(0.5, 90_000), log_ticks(3.1, 4.4)
    ([1, 2, 5, 10, 20], [1, 10, 100, 1000, 10000], [3.1, 4.4])
    """
    powers = [10**power for power in range(-6, 13)]
    for factors, steps in (((1, 2, 5), 1), ((1,), 1), ((1,), 2), ((1,), 3)):
        found = [factor * power for power in powers[::steps] for factor in factors]
        shown = [value for value in found if low <= value <= high]
        if len(shown) < 2:
            return [low, high]
        if len(shown) <= _MOST_TICKS:
            return shown
    return shown


def _rows(figure: "Figure", policies: Sequence[PolicyLag], title: str) -> "Axes":
    height = _AROUND + _ROW_HEIGHT * len(policies)
    ax = figure.add_axes((0.30, 30 / height, 0.68, 1 - _AROUND / height))
    quiet_axes(ax)
    ax.grid(visible=False, axis="y")
    ax.grid(visible=True, axis="x", color=colour("grid"), linewidth=0.8)
    ax.set_ylim(len(policies) - 0.5, -0.5)
    ax.set_yticks(range(len(policies)), [in_figure(lag.policy) for lag in policies], parse_math=False)
    ax.tick_params(axis="y", labelcolor=colour("ink"), labelsize=11)
    name_axes(ax, title, x=0)
    return ax
