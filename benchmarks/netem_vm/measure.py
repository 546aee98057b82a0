"""Expected and measured round trips of each pair of nodes over several runs."""

import os
import re
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from machine import Machine

from latency_map import LatencyMap
from testbed.cluster.check import PairCheck, evaluate_pair

INTERVAL_S = 0.2
NOT_DELAYED_MS = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One measurement of every pair.

    Attributes
    ----------
    load
        The host's load average over the last minute, before and after.
    """

    pairs: tuple[PairCheck, ...]
    load: tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class PairResult:
    """One pair over all runs; ms.

    Attributes
    ----------
    median_ms
        Median of the runs' medians.
    between_ms
        Range of the runs' medians.
    within_ms
        Range of the echoes of a run, median over the runs.
    lost
        Echoes lost, all runs.
    """

    first: str
    second: str
    expected_ms: float
    median_ms: float
    error_ms: float
    between_ms: float
    within_ms: float
    lost: int
    ok: bool


def ping_all(machine: Machine, latencies: LatencyMap, *, count: int, delayed: bool) -> Run:
    """Ping every pair once, one after another, from its first node.

    Parameters
    ----------
    count
        Echoes per pair.
    delayed
        Whether the map's delays are configured; otherwise the expected delay is 0.
    """
    load = os.getloadavg()[0]
    pairs = []
    for row, name in enumerate(latencies.names[:-1]):
        others = latencies.names[row + 1 :]
        commands = (f"ping -n -c {count} -i {INTERVAL_S} -W 5 {machine.addresses[other]} || true" for other in others)
        for other, command in zip(others, commands, strict=True):
            received = [
                float(time_ms)
                for time_ms in re.findall(r"time=([\d.]+) ms$", machine.must(name, command), re.MULTILINE)
            ]
            expected_ms = latencies.delay_ms(name, other) if delayed else NOT_DELAYED_MS
            lost = [None] * (count - len(received))
            pairs.append(evaluate_pair(expected_ms or 0.0, [*received, *lost], first=name, second=other))
    return Run(pairs=tuple(pairs), load=(load, os.getloadavg()[0]))


def read_checked(document: Mapping[str, list[dict]], load: float) -> Run:
    """Parse the output of ``testbed check --output json``."""
    pairs = (PairCheck(first=pair.pop("from"), second=pair.pop("to"), **pair) for pair in map(dict, document["pairs"]))
    return Run(pairs=tuple(pairs), load=(load, os.getloadavg()[0]))


def over_runs(runs: Sequence[Run]) -> tuple[PairResult, ...]:
    """Summarise runs of the same pairs."""
    return tuple(_over_runs(pairs) for pairs in zip(*(run.pairs for run in runs), strict=True))


def _over_runs(pairs: Sequence[PairCheck]) -> PairResult:
    first = pairs[0]
    medians = [pair.measured_ms for pair in pairs if pair.measured_ms is not None]
    if not medians:
        message = f"no echo came back between {first.first} and {first.second}"
        raise SystemExit(message)
    median_ms = statistics.median(medians)
    whole = evaluate_pair(first.expected_ms, [median_ms], first=first.first, second=first.second)
    return PairResult(
        first=first.first,
        second=first.second,
        expected_ms=first.expected_ms,
        median_ms=median_ms,
        error_ms=median_ms - first.expected_ms,
        between_ms=max(medians) - min(medians),
        within_ms=statistics.median(pair.spread_ms for pair in pairs if pair.spread_ms is not None),
        lost=sum(pair.lost for pair in pairs),
        ok=whole.ok,
    )


def summary(results: Sequence[PairResult], runs: Sequence[Run]) -> dict[str, object]:
    """Summarise the errors of the measured round trips."""
    errors = [result.error_ms for result in results]
    loads = [load for run in runs for load in run.load]
    return {
        "pairs": len(results),
        "pairs_within_tolerance": sum(result.ok for result in results),
        "runs": len(runs),
        "median_error_ms": statistics.median(errors),
        "min_error_ms": min(errors),
        "max_error_ms": max(errors),
        "median_spread_within_a_run_ms": statistics.median(result.within_ms for result in results),
        "median_spread_between_runs_ms": statistics.median(result.between_ms for result in results),
        "lost": sum(result.lost for result in results),
        "load_average": [min(loads), max(loads)],
    }


def as_document(results: Sequence[PairResult], runs: Sequence[Run]) -> dict[str, object]:
    """Return the JSON document of a series of runs."""
    return {"summary": summary(results, runs), "pairs": [asdict(result) for result in results]}
