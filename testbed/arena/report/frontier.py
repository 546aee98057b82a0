"""Cost against reconfigurations: where the policies are, and what was possible."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

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

WIDTH = 450
HEIGHT = 320

_LABEL_HEIGHT = 0.07


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyRuns:
    """The runs of a policy in the plane.

    Attributes
    ----------
    index
        Its position in the experiment; decides colour and marker.
    runs
        Reconfigurations and cost, replica-minutes, of each run.
    least_cost
        Mean of the frontier's cost at each run's own number of reconfigurations; None where unknown.
    """

    policy: str
    index: int
    runs: tuple[tuple[float, float], ...]
    least_cost: float | None = None

    @property
    def centre(self) -> tuple[float, float]:
        """The means of both."""
        moves, costs = zip(*self.runs, strict=True)
        return fmean(moves), fmean(costs)


def draw_frontier(frontier: Sequence[float], policies: Sequence[PolicyRuns], *, key: str, label: str) -> str:
    """Draw every run, each policy's mean, and the frontier.

    Parameters
    ----------
    frontier
        Least cost with at most 0, 1, 2 ... reconfigurations; may be empty.
    policies
        Those with a run at least.
    key, label
        As in `testbed.arena.report.svg.as_element`.

    Returns
    -------
    str
        An ``svg`` element.
    """
    with blank_figure(WIDTH, HEIGHT) as figure:
        ax = figure.add_axes((0.115, 0.14, 0.6, 0.77))
        quiet_axes(ax)
        ax.grid(visible=True, axis="x", color=colour("grid"), linewidth=0.8)
        _set_limits(ax, frontier, policies)
        ax.yaxis.set_major_formatter("{x:,.0f}")
        name_axes(ax, "cost, replica-minutes", x=-0.17)
        ax.set_xlabel("reconfigurations", color=colour("ink"), fontsize=11)
        _draw_frontier(ax, frontier)
        for at in policies:
            _mark(ax, at)
        _label(ax, policies)
        return as_element(figure, key, label)


def _mark(ax: "Axes", at: PolicyRuns) -> None:
    shown = policy_colour(at.index)
    dot_runs(ax, [moves for moves, _ in at.runs], [cost for _, cost in at.runs], at.index)
    moves, cost = at.centre
    if at.least_cost is not None:
        ax.plot([moves, moves], [cost, at.least_cost], ":", color=shown, linewidth=1.2)
        ax.plot(moves, at.least_cost, "_", color=shown, markersize=11, markeredgewidth=2.4)
    mark_policy(ax, moves, cost, at.index, size=11)


def _set_limits(ax: "Axes", frontier: Sequence[float], policies: Sequence[PolicyRuns]) -> None:
    """Make room for the policies; the frontier may leave at the top, where plans hardly change and cost too much."""
    costs = [cost for at in policies for _, cost in at.runs]
    costs += [at.least_cost for at in policies if at.least_cost is not None]
    low, high = min([*costs, *frontier]), max(costs)
    margin = 0.06 * (high - low) or 0.1 * high or 1.0
    ax.set_ylim(max(0.0, low - margin), high + margin)
    most = max(1.0, *(moves for at in policies for moves, _ in at.runs))
    ax.set_xlim(-0.03 * most, 1.04 * most)


def _draw_frontier(ax: "Axes", frontier: Sequence[float]) -> None:
    if not frontier:
        return
    x, y = range(len(frontier)), frontier
    low, high = ax.get_ylim()
    ax.fill_between(x, y, low, step="post", color=colour("muted"), alpha=0.14, linewidth=0)
    ax.step(x, y, where="post", color=colour("ink"), linewidth=1.6)
    shown = next((k for k, cost in enumerate(frontier) if cost < high), 0)
    place = (x[shown], min(y[shown], high))
    ax.annotate("frontier", place, (6, 2), textcoords="offset points", fontsize=11, color=colour("ink"))


def _label(ax: "Axes", policies: Sequence[PolicyRuns]) -> None:
    """Write the names to the right of the axes, in the order of the costs, each joined to its mean by a thin line."""
    low, high = ax.get_ylim()
    wanted = sorted(policies, key=lambda runs: runs.centre[1])
    heights = spread([(runs.centre[1] - low) / (high - low) for runs in wanted], _LABEL_HEIGHT)
    for runs, height in zip(wanted, heights, strict=True):
        ax.annotate(
            in_figure(runs.policy),
            xy=runs.centre,
            xytext=(1.03, height),
            textcoords="axes fraction",
            fontsize=11,
            color=policy_colour(runs.index),
            va="center",
            annotation_clip=False,
            parse_math=False,
            arrowprops={
                "arrowstyle": "-",
                "color": policy_colour(runs.index),
                "linewidth": 0.7,
                "alpha": 0.6,
            },
        )


def spread(heights: Sequence[float], apart: float) -> list[float]:
    """Move growing heights in 0..1 as little as need be for every two of them to be that far apart.

    Examples
    --------
    >>> [round(height, 2) for height in spread([0.5, 0.5, 0.95, 1.0], 0.1)]
    [0.5, 0.6, 0.9, 1.0]
    """
    placed: list[float] = []
    for height in heights:
        placed.append(max(height, placed[-1] + apart) if placed else height)
    ceiling = 1.0
    for index in range(len(placed) - 1, -1, -1):
        placed[index] = min(placed[index], ceiling)
        ceiling = placed[index] - apart
    return placed
