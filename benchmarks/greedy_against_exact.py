"""Compares greedy choices of nodes with the exact one on random pools of a real latency map.

Run ``python benchmarks/greedy_against_exact.py MAP [--pools 200] [--of 40] [--unit ms] [--kind rtt]``. Draws
pools of nodes (seed fixed), chooses 2 to 12 nodes of each by the exact search and by three greedy methods, and
prints a table and a JSON document. The greedy methods repeatedly add the nearest node:

- nearest pair: from the two nodes with the smallest delay;
- best of all starts: from every node of the pool, the best result taken (`greedy_nd_max_subset`);
- fixed node: from one random node, such as the driver's; compared with the exact choice that includes this node.

The excess is the difference between both values of NDmax, in ms, and in per cent if the exact one is not 0.
"""

import argparse
import json
import statistics
import time
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from latency_map import LARGEST, DelayKind, DelayUnit, LatencyMap, Method, min_nd_max_subset, read_survey

greedy_nd_max_subset = partial(min_nd_max_subset, method=Method.GREEDY, max_steps=0)

SEED = 20261121
SIZES = range(2, 13)
WAYS = ("nearest pair", "best of all starts", "fixed node")


def nearest_pair(pool: LatencyMap) -> list[str]:
    apart = pool.rtt_ms + np.diag(np.full(len(pool), np.inf))
    row, column = np.unravel_index(np.argmin(apart), apart.shape)
    return [pool.names[row], pool.names[column]]


def excess(pool: LatencyMap, size: int) -> dict[str, tuple[float, float]]:
    """Return NDmax of the greedy and of the exact search for each method."""
    free = min_nd_max_subset(pool, size)
    fixed = pool.names[:1]
    kept = min_nd_max_subset(pool, size, keep=fixed)
    assert free.optimal, "the exact search stopped early"
    assert kept.optimal, "the exact search stopped early"
    greedy = {
        "nearest pair": (greedy_nd_max_subset(pool, size, keep=nearest_pair(pool)), free),
        "best of all starts": (greedy_nd_max_subset(pool, size), free),
        "fixed node": (greedy_nd_max_subset(pool, size, keep=fixed), kept),
    }
    return {way: (found.nd_max_ms, least.nd_max_ms) for way, (found, least) in greedy.items()}


def summary(pairs: Sequence[tuple[float, float]]) -> dict[str, float]:
    over_ms = [found - least for found, least in pairs]
    over_pct = [100 * (found - least) / least for found, least in pairs if least > 0]
    return {
        "worse_pct": 100 * statistics.mean(over > 0 for over in over_ms),
        "mean_pct": statistics.mean(over_pct),
        "median_pct": statistics.median(over_pct),
        "p90_pct": float(np.quantile(over_pct, 0.9)),
        "max_pct": max(over_pct),
        "mean_ms": statistics.mean(over_ms),
        "p90_ms": float(np.quantile(over_ms, 0.9)),
        "max_ms": max(over_ms),
    }


def percent(share: float) -> str:
    return f"{share:.0f} %" if share >= 10 or not share else f"{share:.1f} %"


def markdown(rows: Iterable[tuple[str, str, dict[str, float]]]) -> str:
    lines = [
        "| greedy from | m | worse in | excess mean | median | p90 | max | mean ms | p90 ms | max ms |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for way, size, of in rows:
        shares = [percent(of[key]) for key in ("worse_pct", "mean_pct", "median_pct", "p90_pct", "max_pct")]
        delays = [f"{of[key]:.1f}" for key in ("mean_ms", "p90_ms", "max_ms")]
        lines.append("| " + " | ".join([way, size, *shares, *delays]) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("map", type=Path)
    parser.add_argument("--pools", type=int, default=200)
    parser.add_argument("--of", type=int, default=40, help="nodes per pool")
    parser.add_argument("--unit", type=DelayUnit, default=DelayUnit.MS)
    parser.add_argument("--kind", type=DelayKind, default=DelayKind.RTT)
    asked = parser.parse_args()
    latencies = read_survey(asked.map, unit=asked.unit, kind=asked.kind, limits=LARGEST).survey.to_map()
    rng = np.random.default_rng(SEED)
    found: dict[tuple[str, int], list[tuple[float, float]]] = {(way, m): [] for way in WAYS for m in SIZES}
    began_s = time.perf_counter()
    for _ in range(asked.pools):
        pool = latencies.subset(rng.choice(latencies.names, asked.of, replace=False).tolist())
        for size in SIZES:
            for way, pair in excess(pool, size).items():
                found[way, size].append(pair)
    by_size = [(way, str(m), summary(found[way, m])) for way in WAYS for m in SIZES]
    overall = [(way, "all", summary([pair for m in SIZES for pair in found[way, m]])) for way in WAYS]
    print(markdown([*overall, *by_size]))
    document = {
        "map": asked.map.name,
        "pools": asked.pools,
        "of": asked.of,
        "seed": SEED,
        "seconds": round(time.perf_counter() - began_s, 1),
        "ways": [{"way": way, "m": m, **of} for way, m, of in (*overall, *by_size)],
    }
    print(json.dumps(document, indent=1))


if __name__ == "__main__":
    main()
