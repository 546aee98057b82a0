"""Runs the live loop for a day over a simulated cluster with faults, and for the same day without any.

Run ``PYTHONPATH=tests:. python benchmarks/day_of_faults.py [--hours 24] [--seed 1] [--policy gesscale]``. Three
operators on eight nodes, all defaults of the settings, a change budget of one operator, knowledge in a SQLite file.
Faults occur one after the other, about every ten minutes, for one to fifteen minutes, each kind in turn: metrics
missing, wrong, hanging; a stale map; an unreadable cluster, rejected orders; a clock an hour ahead or behind; a restart
of the process from its knowledge file.

It prints JSON: the reports of both runs (see `LongRunReport`), the resident memory of this process after each hour with
faults, the size of the knowledge file, and the number of additional changes due to faults. Exit status 1 if a step had
no decision for an operator, rows were lost, a replica was removed on doubtful metrics, or more operators were in change
than the budget allows.
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
_GAP_S, _MIN_S, _MAX_S = 600.0, 60.0, 900.0


def resident_mib() -> float:
    """Return the resident memory of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def document(report: LongRunReport) -> dict[str, object]:
    """Return a report as JSON."""
    figures = {each.name: getattr(report, each.name) for each in dataclasses.fields(report)}
    removals = [decision.sentence for decision in report.doubtful_removals]
    return {**figures, "doubtful_removals": removals, "reasons": dict(report.reasons)}


def is_sound(report: LongRunReport) -> bool:
    """Return whether a run met its guarantees."""
    return (
        report.decisions == report.steps * report.operators
        and report.rows_offered == report.rows_processed
        and not report.doubtful_removals
        and report.max_changing <= _BUDGET
    )


def main() -> None:
    """Run both days and print their reports."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hours", type=float, default=24.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--policy", default="gesscale")
    given = parser.parse_args()
    duration_s = 3600.0 * given.hours
    scene = long_run_scene(duration_s, given.seed)
    faults = Faults.drawn(given.seed, duration_s, mean_gap_s=_GAP_S, min_s=_MIN_S, max_s=_MAX_S)
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
    if not (is_sound(faulty) and is_sound(calm)):
        sys.exit(1)


if __name__ == "__main__":
    main()
