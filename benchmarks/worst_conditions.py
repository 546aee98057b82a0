"""Lists the worst load and metric of each policy under each condition of the experiment `adversity`.

Run ``gesscale arena run --experiment adversity --results FOLDER``, then
``python benchmarks/worst_conditions.py FOLDER``.

For each condition and policy it prints the largest ratio to the calm world, by the lower end of its 95 % interval over
the seeds: of the 95th percentile of the latency (``latency_p95_s``) or of the cost relative to `ideal` in the same
world (``cost_over_ideal``), and the number of lost runs. No ratio includes lost runs.
"""

import sys
from dataclasses import asdict
from pathlib import Path

import pandas as pd

from testbed.arena.evaluation.statistics import compare
from testbed.arena.runs.results import read_results

MIN_RATIO = 1.05
"""Intervals that begin below this count as no effect."""


def main(results: Path) -> None:
    """Print a line for each condition and policy."""
    _, kept = read_results(results)
    runs = pd.DataFrame([asdict(each.case) | {"was_lost": bool(each.lost)} | dict(each.metrics) for each in kept])
    runs["workload"] = runs["workload"].str.rsplit("/", n=1).str[-1]
    ideal = runs[runs["policy"] == "ideal"].set_index(["variant", "workload", "seed"])["cost"].rename("needed")
    runs = runs.join(ideal, on=["variant", "workload", "seed"])
    runs["cost_over_ideal"] = runs["cost"] / runs["needed"]
    groups = {key: rows.set_index("seed") for key, rows in runs.groupby(["variant", "policy", "workload"])}
    for variant in runs["variant"].unique()[1:]:
        for policy in (name for name in runs["policy"].unique() if name != "ideal"):
            effects = []
            for workload in runs["workload"].unique():
                under, calm = (groups[each, policy, workload] for each in (variant, "default"))
                for metric in ("latency_p95_s", "cost_over_ideal"):
                    ratio = compare(under[metric].dropna().to_dict(), calm[metric].dropna().to_dict()).ratio
                    if ratio is not None and ratio.low is not None and ratio.low > MIN_RATIO:
                        effects.append((ratio.low, ratio.mean, ratio.high, metric, workload))
            lost = runs.loc[(runs["variant"] == variant) & (runs["policy"] == policy), "was_lost"].sum()
            worst = "not worse"
            if effects:
                low, mean, high, metric, workload = max(effects)
                worst = f"{metric} x{mean:.3g} ({low:.3g} to {high:.3g}) on {workload}"
            print(f"{variant} {policy}: {worst}" + (f"; {lost} lost" if lost else ""))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
