"""Measures latency maps: reading and checking one, choosing nodes, and the memory of a large one.

Run ``python benchmarks/map_speed.py MAP [--runs 15] [--unit ms] [--kind rtt]`` with a map of some hundred nodes, such
as PlanetLab's 490. It prints JSON: for each question the median, minimum and maximum of the runs in ms of wall time,
the median of the processor time, on which other work on the machine has little effect, and the ratio of the latter to
that of a named baseline in the same run. Each run has new pools of 40, by a fixed seed. Memory is the allocation of
NumPy and Python (tracemalloc), in MB of 10^6 bytes.

Baselines: the least NDmax of 8 of 490 against a greedy choice from every start in plain Python; that of 8 of
40 against NetworkX, asked for a maximal clique at each step of the same bisection over delays.
"""

import argparse
import json
import statistics
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Sequence
from pathlib import Path

import networkx as nx
import numpy as np

from latency_map import (
    LARGEST,
    DelayKind,
    DelayUnit,
    LatencyMap,
    Method,
    Survey,
    min_nd_max_subset,
    read_survey,
    write_survey,
)
from latency_map.quality.check import check

SEED = 20261121
SIZE = 8
POOL = 40
LARGE = 2000


def timed_ms(act: Callable[[], object]) -> tuple[float, float]:
    """Return the wall time and the processor time of a call."""
    began_s, cpu_began_s = time.perf_counter(), time.process_time()
    act()
    return (time.perf_counter() - began_s) * 1000, (time.process_time() - cpu_began_s) * 1000


def spread(timings: Sequence[tuple[float, float]]) -> dict[str, float]:
    wall = [each for each, _ in timings]
    summary = {"median": statistics.median(wall), "min": min(wall), "max": max(wall)}
    return {name: round(figure, 2) for name, figure in (*summary.items(), ("median_cpu", median_cpu(timings)))}


def median_cpu(timings: Sequence[tuple[float, float]]) -> float:
    return statistics.median(cpu for _, cpu in timings)


def plain_greedy(latencies: LatencyMap, size: int) -> float:
    """Return NDmax of the best greedy set over all starts; lists and loops only."""
    rows = latencies.rtt_ms.tolist()
    least = float("inf")
    for start in range(len(rows)):
        members, distance_ms = [start], list(rows[start])
        while len(members) < size:
            nearest = min((row for row in range(len(rows)) if row not in members), key=distance_ms.__getitem__)
            members.append(nearest)
            distance_ms = [max(pair) for pair in zip(distance_ms, rows[nearest], strict=True)]
        least = min(least, max(rows[a][b] for a in members for b in members))
    return least


def networkx_min(latencies: LatencyMap, size: int) -> float:
    """Return the minimum NDmax, by bisection over the delays and all maximal cliques of each graph."""
    levels = np.unique(latencies.rtt_ms)
    low, high = 0, len(levels) - 1
    while low < high:
        middle = (low + high) // 2
        graph = nx.from_numpy_array(latencies.rtt_ms <= levels[middle])
        enough = any(len(clique) >= size for clique in nx.find_cliques(graph))
        low, high = (low, middle) if enough else (middle + 1, high)
    return float(levels[low])


def choosing(latencies: LatencyMap, runs: int) -> dict[str, object]:
    rng = np.random.default_rng(SEED)
    greedy, exact, cliques, certain = [], [], [], 0
    for _ in range(runs):
        greedy.append(timed_ms(lambda: min_nd_max_subset(latencies, SIZE, method=Method.GREEDY)))
        pool = latencies.subset(rng.choice(latencies.names, POOL, replace=False).tolist())
        exact.append(timed_ms(lambda pool=pool: min_nd_max_subset(pool, SIZE, method=Method.EXACT)))
        cliques.append(timed_ms(lambda pool=pool: networkx_min(pool, SIZE)))
        choice = min_nd_max_subset(pool, SIZE)
        certain += choice.optimal
        assert choice.nd_max_ms == networkx_min(pool, SIZE)
    plain = [timed_ms(lambda: plain_greedy(latencies, SIZE)) for _ in range(3)]
    found = min_nd_max_subset(latencies, SIZE, method=Method.GREEDY)
    return {
        f"choose_{SIZE}_of_{len(latencies)}_greedy_ms": spread(greedy),
        "its_nd_max_ms": found.nd_max_ms,
        "its_gap_ms": found.gap_ms,
        "plain_python_greedy_ms": spread(plain),
        "plain_python_greedy_nd_max_ms": plain_greedy(latencies, SIZE),
        "ratio_to_plain_python": round(median_cpu(greedy) / median_cpu(plain), 4),
        f"choose_{SIZE}_of_{POOL}_exact_ms": spread(exact),
        "pools_solved_for_certain": f"{certain} of {runs}",
        "networkx_ms": spread(cliques),
        "ratio_to_networkx": round(median_cpu(exact) / median_cpu(cliques), 4),
    }


def greedy_by_structure(latencies: LatencyMap, runs: int) -> dict[str, object]:
    """Choose from unstructured delays, where no bound is tight: the worst case."""
    rng = np.random.default_rng(SEED)
    half = np.triu(rng.uniform(1, 300, latencies.rtt_ms.shape), 1)
    noise = LatencyMap(names=latencies.names, rtt_ms=half + half.T)
    took = [timed_ms(lambda: min_nd_max_subset(noise, SIZE, method=Method.GREEDY)) for _ in range(runs)]
    return {f"choose_{SIZE}_of_{len(latencies)}_greedy_random_delays_ms": spread(took)}


def importing(file: Path, unit: DelayUnit, kind: DelayKind, runs: int) -> dict[str, object]:
    def read() -> Survey:
        return read_survey(file, unit=unit, kind=kind, limits=LARGEST).survey

    survey = read()
    result: dict[str, object] = {"import_ms": spread([timed_ms(read) for _ in range(runs)])}
    result["check_ms"] = spread([timed_ms(lambda: check(survey)) for _ in range(runs)])
    result["import_and_check_ms"] = spread([timed_ms(lambda: check(read())) for _ in range(runs)])
    return result


def allocated_mb(build: Callable[[], object]) -> dict[str, float]:
    """Return the memory after a call, and its peak during the call."""
    tracemalloc.start()
    built = build()
    held, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert built is not None
    return {"held_mb": round(held / 1e6, 1), "peak_mb": round(peak / 1e6, 1)}


def holding() -> dict[str, object]:
    rng = np.random.default_rng(SEED)
    names = tuple(f"node-{index:04}" for index in range(LARGE))
    half = np.triu(rng.uniform(1, 300, (LARGE, LARGE)).round(3), 1)
    rtt_ms = half + half.T
    latencies = LatencyMap(names=names, rtt_ms=rtt_ms)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "large.json")
        write_survey(Survey(names=latencies.names, rtt_ms=latencies.rtt_ms), file)

        def read() -> LatencyMap:
            return read_survey(file, limits=LARGEST).survey.to_map()

        return {
            f"map_of_{LARGE}_nodes": allocated_mb(lambda: LatencyMap(names=names, rtt_ms=rtt_ms)),
            "read_from_our_json": allocated_mb(read),
            "its_file_mb": round(file.stat().st_size / 1e6, 1),
            f"choose_{SIZE}_of_it": allocated_mb(lambda: min_nd_max_subset(latencies, SIZE)),
            f"choose_{SIZE}_of_{LARGE}_ms": spread(
                [timed_ms(lambda: min_nd_max_subset(latencies, SIZE)) for _ in range(3)]
            ),
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("map", type=Path)
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--unit", type=DelayUnit, default=DelayUnit.MS)
    parser.add_argument("--kind", type=DelayKind, default=DelayKind.RTT)
    asked = parser.parse_args()
    latencies = read_survey(asked.map, unit=asked.unit, kind=asked.kind, limits=LARGEST).survey.to_map()
    result = {
        "nodes": len(latencies),
        "runs": asked.runs,
        **importing(asked.map, asked.unit, asked.kind, asked.runs),
        **choosing(latencies, asked.runs),
        **greedy_by_structure(latencies, asked.runs),
        **holding(),
    }
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
