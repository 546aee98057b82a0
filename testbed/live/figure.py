"""The figure of a run, in the manner of the paper's Fig. 7."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from testbed.live.record import Record

_MOST_ABOVE_SHOWN = 40

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw(records: Mapping[str, Record], title: str, file: Path) -> None:
    """Draw load, replicas, nodes, backlog, and model or bills over time, a column for each operator.

    Parameters
    ----------
    records
        A finished run, by operator.
    title
        The line above.
    file
        The PNG to write.
    """
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(
        6,
        len(records),
        figsize=(2 + 8 * len(records), 13.5),
        sharex=True,
        squeeze=False,
        height_ratios=[5, 2, 4, 2, 2, 3],
        layout="constrained",
    )
    figure.suptitle(title)
    for (name, record), column in zip(records.items(), axes.T, strict=True):
        _draw_operator(record, column)
        if len(records) > 1:
            column[0].set_title(name)
    figure.savefig(file, dpi=110)
    plt.close(figure)


def _draw_operator(record: Record, axes: "Sequence[Axes]") -> None:
    _draw_load(record, axes[0])
    _draw_replicas(record, axes[1])
    _draw_nodes(record, axes[2])
    _draw_nd_max(record, axes[3])
    _draw_backlog(record, axes[4])
    if any(decision.plan.bills for decision in record.decisions):
        _draw_bills(record, axes[5])
    else:
        _draw_parameters(record, axes[5])
    for ax in axes:
        ax.grid(visible=True, alpha=0.25)
        for rescale in record.rescales:
            colour = "tab:red" if rescale.added else "tab:green"
            ax.axvline(record.since_start_s(rescale.at_s), color=colour, linewidth=0.8, alpha=0.5)
    axes[-1].set_xlabel("seconds since the replay began (red line: replica added, green: removed)")


def _draw_load(record: Record, ax: "Axes") -> None:
    offered, processed = record.offered(), record.processed()
    ax.plot(*offered, color="tab:blue", label="offered load (IR)")
    ax.plot(*processed, color="tab:orange", label="throughput (CT)")
    known = [(record.since_start_s(d.at_s), d.analysis.mst) for d in record.decisions if d.analysis.mst]
    at = [time for time, _ in known]
    ax.step(at, [mst.mid for _, mst in known], where="post", color="black", label="MST of the model")
    ax.fill_between(
        at,
        [mst.low for _, mst in known],
        [mst.high for _, mst in known],
        step="post",
        color="black",
        alpha=0.12,
        label="its interval",
    )
    top = max([*offered[1], *processed[1], *(mst.mid for _, mst in known), 1.0])
    ax.set_ylim(0, 1.35 * top)
    ax.set_ylabel("rows/s")
    ax.legend(loc="upper left", fontsize="small", ncols=2)


def _draw_replicas(record: Record, ax: "Axes") -> None:
    batches = record.ordered
    times = [record.since_start_s(batch.ended_at_s) for batch in batches]
    ax.step(times, [len(batch.nodes) for batch in batches], where="post", color="tab:purple")
    ax.set_ylabel("replicas")
    ax.set_ylim(0, max((len(batch.nodes) for batch in batches), default=1) + 0.8)


def _draw_nodes(record: Record, ax: "Axes") -> None:
    batches = record.ordered
    nodes = sorted({node for batch in batches for node in batch.nodes})
    for before, after in pairwise(batches):
        for node in before.nodes:
            start = record.since_start_s(before.ended_at_s)
            width = after.ended_at_s - before.ended_at_s
            ax.barh(nodes.index(node), width, left=start, height=0.7, color="tab:cyan", edgecolor="none")
    ax.set_yticks(range(len(nodes)), nodes)
    ax.set_ylabel("nodes")


def _draw_nd_max(record: Record, ax: "Axes") -> None:
    known = [
        (record.since_start_s(d.at_s), d.analysis.nd_max_ms)
        for d in record.decisions
        if d.analysis.nd_max_ms is not None
    ]
    ax.step([time for time, _ in known], [nd for _, nd in known], where="post", color="tab:brown")
    ax.set_ylabel("NDmax, ms\n(round trip)")
    ax.set_ylim(bottom=0)


def _draw_backlog(record: Record, ax: "Axes") -> None:
    known = [
        (record.since_start_s(batch.ended_at_s), batch.backlog_rows)
        for batch in record.ordered
        if batch.backlog_rows is not None
    ]
    ax.fill_between([time for time, _ in known], [rows for _, rows in known], color="tab:red", alpha=0.5)
    ax.set_ylabel("backlog, rows")
    ax.set_ylim(bottom=0)


def _draw_bills(record: Record, ax: "Axes") -> None:
    """Draw by how much the bill of each number of replicas exceeds the least, while decisions had bills."""
    known = [decision for decision in record.decisions if decision.plan.bills]
    at = [record.since_start_s(decision.at_s) for decision in known]
    by_count = [
        {bill.replicas: bill.total for bill in sorted(decision.plan.bills, key=lambda bill: -bill.total)}
        for decision in known
    ]
    for count in sorted({count for bills in by_count for count in bills}):
        above = [bills[count] - min(bills.values()) if count in bills else float("nan") for bills in by_count]
        ax.plot(at, above, marker=".", linewidth=0.8, label=f"{count}")
    ax.set_ylabel("bill above the\nleast, replica-min")
    ax.set_ylim(-1, _MOST_ABOVE_SHOWN)
    ax.legend(loc="upper left", fontsize="small", ncols=8, title="replicas", title_fontsize="small")


def _draw_parameters(record: Record, ax: "Axes") -> None:
    known = [
        (record.since_start_s(d.at_s), d.analysis.model.parameters)
        for d in record.decisions
        if d.analysis.model
    ]
    at = [time for time, _ in known]
    for name, scale, unit in (
        ("alpha", 1e-3, "1000 rows/s"),
        ("beta", 1.0, "1"),
        ("gamma", 1.0, "rows/s per ms"),
    ):
        values = [scale * parameters[name] for _, parameters in known if name in parameters]
        if values:
            ax.step(at, values, where="post", label=f"{name}, {unit}")
    ax.set_ylabel("model as\ncalibrated")
    ax.set_ylim(0, 1.5 * ax.get_ylim()[1])  # room for the legend
    if known:
        ax.legend(loc="upper left", fontsize="small", ncols=3)
