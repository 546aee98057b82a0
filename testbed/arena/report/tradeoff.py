"""Cost against lag: what a policy saves, and what the rows pay for it."""

from collections.abc import Sequence
from dataclasses import dataclass

from testbed.arena.report.numbers import short
from testbed.arena.report.svg import (
    as_element,
    blank_figure,
    colour,
    mark_policy,
    name_axes,
    quiet_axes,
)

WIDTH = 250
HEIGHT = 210

_LINEAR_UP_TO_S = 100.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyMeans:
    """Where a policy is.

    Attributes
    ----------
    index
        Its position in the experiment; decides colour and marker.
    lag_s, cost
        Means over the runs; seconds above the objective, and replica-minutes.
    """

    policy: str
    index: int
    lag_s: float
    cost: float


def draw_tradeoff(policies: Sequence[PolicyMeans], most_lag_s: float, *, key: str, label: str) -> str:
    """Draw each policy's mean cost and mean lag.

    Parameters
    ----------
    policies
        One at least.
    most_lag_s
        The end of the scale, which all workloads share; it is logarithmic from 100 s on.
    key, label
        As in `testbed.arena.report.svg.as_element`.

    Returns
    -------
    str
        An ``svg`` element.
    """
    with blank_figure(WIDTH, HEIGHT) as figure:
        ax = figure.add_axes((0.17, 0.2, 0.8, 0.68))
        quiet_axes(ax)
        ax.grid(visible=True, axis="x", color=colour("grid"), linewidth=0.8)
        ax.set_xscale("symlog", linthresh=_LINEAR_UP_TO_S, linscale=0.5)
        ax.set_xlim(-0.15 * _LINEAR_UP_TO_S, 1.5 * max(most_lag_s, _LINEAR_UP_TO_S))
        ax.set_ylim(0, 1.12 * max([1.0, *(means.cost for means in policies)]))
        ax.tick_params(which="minor", bottom=False)
        ax.locator_params(axis="y", nbins=4)
        ax.xaxis.set_major_formatter(short)
        ax.yaxis.set_major_formatter(short)
        ax.set_xlabel("lag, s", color=colour("ink"), labelpad=2)
        name_axes(ax, "cost, replica-min", x=-0.18)
        for means in policies:
            mark_policy(ax, means.lag_s, means.cost, means.index, size=9)
        return as_element(figure, key, label)
