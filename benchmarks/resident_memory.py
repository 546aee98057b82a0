"""Measures the resident memory of the agent and of a controller relative to a bare interpreter.

Run ``python benchmarks/resident_memory.py [--runs 3] [--root FOLDER]``. Each case is a separate process that imports
the same as the program and does the stated work; then its resident memory is read. It prints JSON: MiB per case
(median, minimum, maximum) and the ratio to ``python -c pass`` in the same run. The controllers take two steps over 20
operators of `fleet_step` on 20 nodes, after which models are fitted and costs estimated. Watches and connections are
not included: `controller_footprint` measures these on a real API server.

With ``--root`` they run in a folder with the files of the controller's image, also of another processor: see
`controller_footprint`.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
from pathlib import Path

from footprint.image import program
from footprint.resident import resident_mib

READY = "import sys; print(flush=True); sys.stdin.read()"
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
        f"controller, 20 operators, {policy}": STEPS.replace("{policy!r}", repr(policy))
        for policy in ("ds2", "gesscale-2021", "gesscale")
    },
}


def resident_after(code: str, root: Path | None) -> float:
    """Return the resident memory of a process that has run some code, MiB."""
    folder, environment = FOLDER, os.environ | {"PYTHONPATH": str(FOLDER.parent)}
    if root is not None:
        folder, environment = Path("/tmp"), dict(os.environ)  # noqa: S108 - a folder of the image
        shutil.copy(FOLDER / "fleet_step.py", root / "tmp")
        shutil.copytree(FOLDER / "footprint", root / "tmp/footprint", dirs_exist_ok=True)
    command = (*program("python", root), "-c", f"{code.format(folder=str(folder))}\n{READY}")
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment) as process:
        assert process.stdout is not None  # it is a pipe
        if not process.stdout.readline():
            raise SystemExit(f"it ended early: {code}")
        found = resident_mib(process.pid)
        process.communicate()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--root", type=Path, help="a folder with the files of the controller's image")
    asked = parser.parse_args()
    found = {case: [resident_after(code, asked.root) for _ in range(asked.runs)] for case, code in CASES.items()}
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
