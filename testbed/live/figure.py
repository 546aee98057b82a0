"""The figure of a run, in the style of the paper's Fig. 7."""

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gesscale.model.decision import Decision
from testbed.live.record import Record

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MAX_SHOWN = 40


def draw(records: Mapping[str, Record], title: str, file: Path) -> None:
    """Draw load, replicas, nodes, backlog, and estimated costs if there are any, over time, one column per operator."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    has_costs = any(each.plan.costs for record in records.values() for each in record.decisions)
    panels = {**_PANELS, _draw_costs: 3} if has_costs else _PANELS
    figure, axes = plt.subplots(
        len(panels),
        len(records),
        figsize=(2 + 8 * len(records), 2.25 * len(panels)),
        sharex=True,
        squeeze=False,
        height_ratios=[*panels.values()],
        layout="constrained",
    )
    figure.suptitle(title)
    for (name, record), column in zip(records.items(), axes.T, strict=True):
        _draw_operator(record, [*panels], column)
        if len(records) > 1:
            column[0].set_title(name)
    figure.savefig(file, dpi=110)
    plt.close(figure)


def _draw_operator(record: Record, panels: Sequence[Callable[[Record, "Axes"], None]], axes: "Sequence[Axes]") -> None:
    for panel, ax in zip(panels, axes, strict=True):
        panel(record, ax)
        ax.grid(visible=True, alpha=0.25)
        for rescale in record.rescales:
            colour = "tab:red" if rescale.added else "tab:green"
            ax.axvline(record.since_start_s(rescale.at_s), color=colour, linewidth=0.8, alpha=0.5)
    axes[-1].set_xlabel("seconds since the start of the replay (red line: replica added, green: removed)")


def _series(record: Record, value: Callable[[Decision], Any]) -> tuple[list[float], list[Any]]:
    """Return times (s) and values of one figure of the decisions that have it."""
    known = [(each.at_s, value(each)) for each in record.decisions]
    known = [(at_s, figure) for at_s, figure in known if figure is not None]
    return [record.since_start_s(at_s) for at_s, _ in known], [figure for _, figure in known]


def _draw_load(record: Record, ax: "Axes") -> None:
    offered, processed = record.offered(), record.processed()
    ax.plot(*offered, color="tab:blue", label="offered load (IR)")
    ax.plot(*processed, color="tab:orange", label="throughput (CT)")
    at, msts = _series(record, lambda decision: decision.analysis.mst)
    ax.step(at, [mst.mid for mst in msts], where="post", color="black", label="MST of the model")
    low, high = [mst.low for mst in msts], [mst.high for mst in msts]
    ax.fill_between(at, low, high, step="post", color="black", alpha=0.12, label="interval of the MST")
    ax.set_ylim(0, 1.35 * max([*offered[1], *processed[1], *(mst.mid for mst in msts), 1.0]))
    ax.set_ylabel("rows/s")
    ax.legend(loc="upper left", fontsize="small", ncols=2)


def _draw_replicas(record: Record, ax: "Axes") -> None:
    replicas = [len(batch.nodes) for batch in record.ordered]
    at = [record.since_start_s(batch.ended_at_s) for batch in record.ordered]
    ax.step(at, replicas, where="post", color="tab:purple")
    ax.set_ylabel("replicas")
    ax.set_ylim(0, max(replicas, default=1) + 0.8)


def _draw_nodes(record: Record, ax: "Axes") -> None:
    nodes = sorted({node for batch in record.ordered for node in batch.nodes})
    for before, after in pairwise(record.ordered):
        for node in before.nodes:
            start = record.since_start_s(before.ended_at_s)
            width = after.ended_at_s - before.ended_at_s
            ax.barh(nodes.index(node), width, left=start, height=0.7, color="tab:cyan", edgecolor="none")
    ax.set_yticks(range(len(nodes)), nodes)
    ax.set_ylabel("nodes")


def _draw_nd_max(record: Record, ax: "Axes") -> None:
    known = _series(record, lambda decision: decision.analysis.nd_max_ms)
    ax.step(*known, where="post", color="tab:brown")
    ax.set_ylabel("NDmax, ms\n(round trip)")
    ax.set_ylim(bottom=0)


def _draw_backlog(record: Record, ax: "Axes") -> None:
    known = [batch for batch in record.ordered if batch.backlog_rows is not None]
    at = [record.since_start_s(batch.ended_at_s) for batch in known]
    ax.fill_between(at, [batch.backlog_rows or 0.0 for batch in known], color="tab:red", alpha=0.5)
    ax.set_ylabel("backlog, rows")
    ax.set_ylim(bottom=0)


#: Panels and their relative heights.
_PANELS: Mapping[Callable[[Record, "Axes"], None], int] = {
    _draw_load: 5,
    _draw_replicas: 2,
    _draw_nodes: 4,
    _draw_nd_max: 2,
    _draw_backlog: 2,
}


def _draw_costs(record: Record, ax: "Axes") -> None:
    """Draw the expected cost of each number of replicas above the minimum, for decisions that estimated costs."""
    at, costs = _series(record, lambda decision: decision.plan.costs or None)
    by_count = [{cost.replicas: cost.total for cost in sorted(step, key=lambda cost: -cost.total)} for step in costs]
    for count in sorted({count for totals in by_count for count in totals}):
        above = [totals.get(count, float("nan")) - min(totals.values()) for totals in by_count]
        ax.plot(at, above, marker=".", linewidth=0.8, label=f"{count}")
    ax.set_ylabel("cost above\nminimum, replica-min")
    ax.set_ylim(-1, _MAX_SHOWN)
    ax.legend(loc="upper left", fontsize="small", ncols=8, title="replicas", title_fontsize="small")
