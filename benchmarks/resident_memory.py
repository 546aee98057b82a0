"""What a small node must hold: resident memory of the agent and of a controller, against a bare interpreter.

Run ``python benchmarks/resident_memory.py [--runs 3]``. Each case is a process of its own that imports what the program
imports, does what is said, and tells its VmRSS. It prints JSON: per case MiB (median, least, greatest) and the ratio to
``python -c pass`` in the same run. The controllers take two steps over 20 operators of `fleet_step` on 20 nodes, by
which time models are fitted and bills made; watches and connections are left out: `controller_footprint` measures these
on a real API server.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

SAID = "print(open('/proc/self/status').read().split('VmRSS:')[1].split()[0])"
STEPS = """
import sys; sys.path.insert(0, {folder!r})
import gesscale.kubernetes.controller.controller
import fleet_step
fleet_step.steps_s(fleet_step.Fleet(20, 20, 0.33), {policy!r}, 1)
"""
FOLDER = Path(__file__).parent
CASES = {
    "nothing": "pass",
    "agent": "import latency_map.measure.agent",
    "controller, imported": "import gesscale.kubernetes.controller.controller",
    **{
        f"controller, 20 operators, {policy}": STEPS.format(folder=str(FOLDER), policy=policy)
        for policy in ("ds2", "gesscale", "gesscale2")
    },
}


def resident_mib(code: str) -> float:
    """Return the resident memory of a process that has run some code."""
    environment = os.environ | {"PYTHONPATH": str(FOLDER.parent)}
    command = (sys.executable, "-c", f"{code}\n{SAID}")
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return int(done.stdout) / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=3)
    runs = parser.parse_args().runs
    found = {case: [resident_mib(code) for _ in range(runs)] for case, code in CASES.items()}
    base = statistics.median(found["nothing"])
    result = {
        case: {
            "mib": [round(figure, 1) for figure in (statistics.median(each), min(each), max(each))],
            "ratio": round(statistics.median(each) / base, 2),
        }
        for case, each in found.items()
    }
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
