"""A day of the live loop over a simulated cluster while faults strike, against the same day without any.

Run ``PYTHONPATH=tests:. python benchmarks/long_run.py [--hours 24] [--seed 1] [--policy gesscale2]``. Three operators
on eight nodes, all defaults of the settings, a change budget of one operator, knowledge in a SQLite file. Faults come
one after the other, every ten minutes or so, for one to fifteen minutes, each kind in turn: metrics gone, lying,
hanging; the map stale; the cluster unreadable, orders refused; the clock an hour ahead or behind; the process restarted
from its knowledge file.

It prints JSON: what both runs came to (see `LongRunReport`), the resident memory of this process after each hour with
faults, the size of the knowledge file, and how many changes the faults added. Exit status 1 where a step brought no
decision for an operator, rows were lost, a replica was removed on doubt, or more operators than the budget allows were
in change at once.
"""

import argparse
import dataclasses
import json
import os
import sys
import tempfile
from collections import Counter
from pathlib import Path

from faulty_ports import Faults
from long_run import LongRunReport, long_run, long_run_scene

_BUDGET = 1
_GAP_S, _LEAST_S, _MOST_S = 600.0, 60.0, 900.0


def resident_mib() -> float:
    """Return the resident memory of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def document(report: LongRunReport) -> dict[str, object]:
    """Return a report as JSON."""
    figures = {each.name: getattr(report, each.name) for each in dataclasses.fields(report)}
    removals = [decision.sentence for decision in report.doubtful_removals]
    return {**figures, "doubtful_removals": removals, "reasons": dict(report.reasons)}


def sound(report: LongRunReport) -> bool:
    """Return whether a run kept what it must."""
    return (
        report.decisions == report.steps * report.operators
        and report.rows_offered == report.rows_processed
        and not report.doubtful_removals
        and report.most_changing <= _BUDGET
    )


def main() -> None:
    """Run both days and print what they came to."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hours", type=float, default=24.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--policy", default="gesscale2")
    given = parser.parse_args()
    duration_s = 3600.0 * given.hours
    scene = long_run_scene(duration_s, given.seed)
    faults = Faults.drawn(given.seed, duration_s, mean_gap_s=_GAP_S, least_s=_LEAST_S, most_s=_MOST_S)
    resident: list[float] = []

    def note(at_s: float) -> None:
        resident.append(round(resident_mib(), 1))
        sys.stderr.write(f"{at_s / 3600:.0f} h: {resident[-1]} MiB\n")

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "faulty.sqlite"
        faulty = long_run(
            scene, faults, file, policy=given.policy, max_changing_operators=_BUDGET, seed=given.seed, hourly=note
        )
        size = file.stat().st_size
        calm = long_run(
            scene,
            Faults(),
            Path(folder) / "calm.sqlite",
            policy=given.policy,
            max_changing_operators=_BUDGET,
            seed=given.seed,
        )
    result = {
        "faults": Counter(each.fault for each in faults.windows),
        "with_faults": document(faulty),
        "without": document(calm),
        "resident_mib_by_hour": resident,
        "knowledge_mib": round(size / 2**20, 1),
        "changes_with_to_without": round(faulty.changes / max(calm.changes, 1), 2),
    }
    sys.stdout.write(json.dumps(result, indent=2) + "\n")
    if not (sound(faulty) and sound(calm)):
        sys.exit(1)


if __name__ == "__main__":
    main()
