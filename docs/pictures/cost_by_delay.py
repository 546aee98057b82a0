"""Draws the cost of each policy by the delay between the nodes, from data that it can read from results.

gesscale arena run --experiment edge-delays --results delays
python docs/pictures/cost_by_delay.py --results delays
"""

import argparse
import csv
from collections import defaultdict
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

from testbed.arena.evaluation.standings import standings
from testbed.arena.names import ORACLE, PRICES, UNRANKED
from testbed.arena.runs.results import read_results

FOLDER = Path(__file__).parent
DATA = FOLDER.parent / "evidence/data/edge_by_delay.csv"
COLUMNS = ("policy", "delay_ms", "cost_ratio", "low", "high")
OURS = "gesscale"


def write_data(results: Path) -> None:
    """Write the cost with changes at the middle price, as a ratio to that of `oracle`, by policy and delay."""
    experiment, found = read_results(results)
    generated = {name: experiment.variant(name).nodes.generated for name in experiment.variant_names}
    delays_ms = {name: each.low_ms for name, each in generated.items() if each is not None}
    with DATA.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(COLUMNS)
        for standing in standings(experiment, found, baseline=ORACLE):
            cost = standing.with_changes.total_costs[len(PRICES) // 2]
            if cost is not None:
                ends = ("" if end is None else f"{end:.4g}" for end in (cost.low, cost.high))
                rows.writerow((standing.policy, f"{delays_ms[standing.variant]:g}", f"{cost.mean:.4g}", *ends))


def draw() -> Figure:
    """Draw a line for each policy, in the legend by the cost at the longest delay."""
    costs: dict[str, dict[float, tuple[float, float, float]]] = defaultdict(dict)
    with DATA.open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            mean = float(row["cost_ratio"])
            ends = float(row["low"] or mean), float(row["high"] or mean)
            if row["policy"] not in UNRANKED - {ORACLE}:
                costs[row["policy"]][float(row["delay_ms"])] = mean, *ends
    figure = Figure(figsize=(9, 4.2), layout="constrained")
    at = figure.subplots()
    colours = mpl.color_sequences["tab20"]
    for index, (policy, by_delay) in enumerate(sorted(costs.items(), key=lambda item: -item[1][max(item[1])][0])):
        delays = sorted(by_delay)
        means, lows, highs = zip(*(by_delay[each] for each in delays), strict=True)
        is_ours = policy == OURS
        colour = "#0b6e8a" if is_ours else "#777777" if policy in UNRANKED else colours[index % len(colours)]
        at.plot(
            delays, means, marker="o", markersize=3, color=colour, label=policy, zorder=3 if is_ours else 2,
            linewidth=3 if is_ours else 1.3, linestyle="--" if policy in UNRANKED else "-",
        )  # fmt: skip
        at.fill_between(delays, lows, highs, color=colour, alpha=0.12, linewidth=0)
    at.set_yscale("log", base=2)
    at.yaxis.set_major_formatter("{x:g}")
    at.set_title("Cost of a windowed query relative to perfect foresight of the load", fontsize=10, loc="left")
    at.set_xlabel("round trip between the nodes, ms")
    at.set_ylabel("cost with changes, as a ratio")
    at.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside right upper", frameon=False)
    return figure


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--results", type=Path, help="results of the experiment edge-delays; default: the data as it is"
    )
    given = parser.parse_args()
    if given.results is not None:
        write_data(given.results)
    mpl.rcParams["font.size"] = 9
    draw().savefig(FOLDER / "cost_by_delay.png", dpi=120, metadata={"Software": None})
