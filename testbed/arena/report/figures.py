"""Draws the pictures of the report with matplotlib, as images inside the page."""

import base64
import io
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from testbed.arena.report.formatting import short

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Trajectory = Mapping[str, Sequence[float | None]]

_POLICY_COLOURS = ("#0072b2", "#b84a00", "#007a5a", "#a83a82", "#7d6200", "#3d4852", "#0b7a8c", "#5b4bb5")
_POLICY_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "h")
_INK, _MUTED = "#1b2129", "#59636e"  # also in figures.mplstyle
_PROCESSED, _SUPPLY, _SERVING = "#1f86c9", "#00805e", "#c4ebde"
_OVER, _UNDER, _BACKLOG = "#56b4e9", "#d55e00", "#b8468f"
_MAX_NAME_CHARACTERS = 20
_HOURS_FROM_S = 8 * 3600.0
_LOGARITHMIC_FROM_S = 100.0
_MIN_LATENCY_S = 1e-3


class Drawing(NamedTuple):
    """A ``data:`` address of an image, and its width in CSS pixels."""

    source: str
    width: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyFigures:
    """Data of a policy on a workload for the pictures."""

    policy: str
    #: Position in the experiment, which determines colour and marker.
    index: int
    #: Means of replica-minutes, and of seconds above the objective (cost, lag_s).
    cost: float
    lag_s: float

    @property
    def colour(self) -> str:
        """Colour of its marks."""
        return _POLICY_COLOURS[self.index % len(_POLICY_COLOURS)]

    @property
    def marker(self) -> str:
        """Marker, as matplotlib names it."""
        return _POLICY_MARKERS[self.index % len(_POLICY_MARKERS)]

    @property
    def label(self) -> str:
        """Name that fits into a figure: shortened in the middle, without unprintable characters."""
        shown = "".join(sign if sign.isprintable() else "�" for sign in self.policy)
        half = _MAX_NAME_CHARACTERS // 2
        return shown if len(shown) <= _MAX_NAME_CHARACTERS else f"{shown[: half - 1]}…{shown[-half:]}"


def draw_tradeoffs(workloads: Mapping[str, Sequence[PolicyFigures]]) -> Drawing:
    """Draw each policy's mean cost and mean lag, a panel for each workload, all with the same scale of lag."""
    columns = min(4, len(workloads))
    rows = math.ceil(len(workloads) / columns)
    max_lag_s = max(each.lag_s for policies in workloads.values() for each in policies)

    def fill(figure: "Figure") -> None:
        axes = list(figure.subplots(rows, columns, squeeze=False).flat)
        named: dict[str, Any] = {}
        for ax, (workload, policies) in zip(axes, workloads.items(), strict=False):
            ax.set_title(workload)
            ax.set_xscale("symlog", linthresh=_LOGARITHMIC_FROM_S, linscale=0.5)
            ax.set_xlim(-0.15 * _LOGARITHMIC_FROM_S, 1.5 * max(max_lag_s, _LOGARITHMIC_FROM_S))
            ax.set_ylim(0, 1.12 * max(1.0, *(each.cost for each in policies)))
            ax.xaxis.set_major_formatter(short)
            ax.yaxis.set_major_formatter(short)
            for each in policies:
                named[each.label] = _mark(ax, each.lag_s, each.cost, each)
        for ax in axes[len(workloads) :]:
            ax.remove()
        figure.supxlabel("lag, s", fontsize=11)
        figure.supylabel("cost, replica-minutes", fontsize=11)
        figure.legend(named.values(), named.keys(), loc="outside right upper")

    return _drawn(150 + 220 * columns, 60 + 200 * rows, fill)


def draw_latencies(quantiles_s: Mapping[str, Sequence[float | None]], index: Mapping[str, int]) -> Drawing:
    """Draw the empirical distribution function of the latency of each policy.

    Parameters
    ----------
    quantiles_s
        Latencies at equal steps of the share of the rows, from 0 to 1, by policy.
    index
        Position of each policy in the experiment.
    """

    def fill(figure: "Figure") -> None:
        ax = figure.subplots()
        for policy, found in quantiles_s.items():
            drawn = PolicyFigures(policy=policy, index=index[policy], cost=0.0, lag_s=0.0)
            known = [max(_MIN_LATENCY_S, value or 0.0) for value in found]
            shares = [at / (len(known) - 1) for at in range(len(known))]
            ax.plot(known, shares, color=drawn.colour, label=drawn.label, linewidth=1.6)
        ax.set_xscale("log")
        ax.xaxis.set_major_formatter(lambda seconds, _: f"{seconds:g}")
        ax.set_ylim(0, 1.02)
        ax.set_xlabel("latency, s")
        ax.set_ylabel("share of the rows")
        figure.legend(loc="outside right upper")

    return _drawn(560, 300, fill)


def draw_trajectories(trajectories: Mapping[str, Trajectory]) -> Mapping[str, Drawing]:
    """Draw runs over time, like Fig. 7 of the Gesscale paper: one picture each, all with the same axes.

    A trajectory has the columns ``t_s``, ``input_rows_per_s``, ``processed_rows_per_s``, ``demand_replicas``,
    ``supply_replicas``, ``serving_replicas`` and ``backlog_rows``, of equal length; an unknown value is None.
    """

    def most(*columns: str) -> float:
        return max(
            (v for c in trajectories.values() for name in columns for v in c.get(name, ()) if v is not None),
            default=0.0,
        )

    errors = [e for trajectory in trajectories.values() for e in provisioning_errors(trajectory) if not math.isnan(e)]
    end_s = most("t_s") or 1.0
    limits = (
        (0.0, 1.05 * (most("input_rows_per_s", "processed_rows_per_s") or 1.0)),
        (0.0, most("supply_replicas", "demand_replicas") + 0.6),
        (min([-1.0, *errors]) - 0.4, 1.2 * max([1.0, *errors]) + 0.9),
        (0.0, 1.05 * (most("backlog_rows") or 1.0)),
    )
    unit, unit_s = ("hours", 3600.0) if end_s >= _HOURS_FROM_S else ("minutes", 60.0)

    def drawn(trajectory: Trajectory) -> Drawing:
        def fill(figure: "Figure") -> None:
            axes = figure.subplots(4, sharex=True, height_ratios=(5, 4, 4, 3))
            for ax, limit in zip(axes, limits, strict=True):
                ax.set_ylim(*limit)
                ax.yaxis.set_major_formatter(short)
            axes[-1].set_xlim(0, end_s / unit_s)
            axes[-1].set_xlabel(unit)
            _fill_trajectory(axes, [t / unit_s for t in _column(trajectory, "t_s")], trajectory)
            figure.legend(loc="outside lower center", ncols=3, fontsize=9)

        return _drawn(400, 540, fill)

    return {name: drawn(trajectory) for name, trajectory in trajectories.items()}


def provisioning_errors(trajectory: Trajectory) -> list[float]:
    """Return supply − demand of each sample, replicas; NaN if either is unknown."""
    pairs = zip(_column(trajectory, "supply_replicas"), _column(trajectory, "demand_replicas"), strict=True)
    return [supply - demand for supply, demand in pairs]


def _fill_trajectory(axes: Sequence["Axes"], at: Sequence[float], trajectory: Trajectory) -> None:
    rates, replicas, error, queued = axes

    def line(ax: "Axes", name: str, colour: str, label: str, **look: Any) -> None:
        ax.step(at, _column(trajectory, name), where="post", color=colour, label=label, **look)

    def area(ax: "Axes", values: Sequence[float], colour: str, label: str) -> None:
        ax.fill_between(at, values, step="post", color=colour, linewidth=0, label=label)

    rates.set_title("input and processed, rows/s")
    line(rates, "processed_rows_per_s", _PROCESSED, "processed", linewidth=1.1)
    line(rates, "input_rows_per_s", _MUTED, "input", linewidth=1.4)
    replicas.set_title("replicas")
    area(replicas, _column(trajectory, "serving_replicas"), _SERVING, "serving")
    line(replicas, "supply_replicas", _SUPPLY, "supply", linewidth=1.6)
    line(replicas, "demand_replicas", _INK, "demand (ideal)", linewidth=1.2, linestyle="--")
    error.set_title("provisioning error: supply − demand, replicas; ▾ change")
    errors = provisioning_errors(trajectory)
    area(error, [max(0.0, e) for e in errors], _OVER, "too many")
    area(error, [min(0.0, e) for e in errors], _UNDER, "too few")
    supply = _column(trajectory, "supply_replicas")
    changed = [t for t, before, now in zip(at[1:], supply, supply[1:], strict=False) if now != before]
    error.plot(changed, [0.93] * len(changed), "v", markersize=4, color=_INK, transform=error.get_xaxis_transform())
    queued.set_title("backlog, rows")
    queued.fill_between(at, _column(trajectory, "backlog_rows"), color=_BACKLOG, alpha=0.55, label="backlog")


def _mark(ax: "Axes", x: float, y: float, each: PolicyFigures) -> Any:
    """Draw the mean of a policy; the mark may cross the edge of the axes."""
    (mark,) = ax.plot(
        x,
        y,
        each.marker,
        color=each.colour,
        markersize=8,
        markeredgecolor="white",
        clip_on=False,
        zorder=5,
        label=each.label,
        linestyle="none",
    )
    return mark


def _column(trajectory: Trajectory, name: str) -> list[float]:
    values = trajectory.get(name) or (None,) * len(trajectory.get("t_s", ()))
    return [math.nan if value is None else float(value) for value in values]


def _drawn(width: int, height: int, fill: Callable[["Figure"], None]) -> Drawing:
    """Return an image of a given size in CSS pixels; the same figure gives the same bytes."""
    from matplotlib import style
    from matplotlib.figure import Figure

    stream = io.BytesIO()
    with style.context(Path(__file__).with_name("figures.mplstyle")):
        figure = Figure(figsize=(width / 72, height / 72), layout="constrained")
        fill(figure)
        figure.savefig(stream, format="png", dpi=2 * 72, metadata={"Software": None})
    return Drawing(f"data:image/png;base64,{base64.b64encode(stream.getvalue()).decode()}", width)
