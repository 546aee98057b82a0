"""Measures the start-up time of gesscale (help, version, completion) relative to ``python -c pass``.

Run ``python benchmarks/start_up.py [--runs 9] [--checkout FOLDER]``, with another checkout for comparison. It
runs the help of every command and group of the checkout. It prints JSON: for each command line the median, minimum and
maximum of the runs in ms of wall time; the median of the processor time, on which other work on the machine has little
effect; and the ratio of the latter to that of the baseline in the same run. Commands run in turns.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

BASELINE = "python -c pass"
STARTED = "import sys; sys.argv[0] = 'gesscale'; from gesscale.cli.start import main; main()"
WALKED = """
from typer.main import get_command
from gesscale.cli.app import app
def walk(command, *words):
    print(*words)
    for name in command.list_commands(None) if hasattr(command, "list_commands") else ():
        walk(command.get_command(None, name), *words, name)
walk(get_command(app))
"""
COMPLETED = (
    "gesscale re",
    "gesscale recommend --policy d",
    "gesscale latency-map ch",
    "gesscale recommend --set mon",
    "gesscale arena run --workload ka",
)


def took_ms(words: list[str], environment: dict[str, str]) -> tuple[float, float]:
    """Return the wall time and the processor time of a process."""
    before, began_s = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(
        [sys.executable, *words],
        env={**os.environ, **environment},
        cwd=environment["PYTHONPATH"],  # searched first
        capture_output=True,
        check=True,
        timeout=120,
    )
    wall_s, after = time.perf_counter() - began_s, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return wall_s * 1000, cpu_s * 1000


def paths(checkout: Path) -> list[str]:
    """Return the words of every command and group after ``gesscale``."""
    done = subprocess.run(
        [sys.executable, "-c", WALKED],
        env={**os.environ, "PYTHONPATH": str(checkout)},
        cwd=checkout,
        capture_output=True,
        check=True,
        text=True,
        timeout=120,
    )
    return done.stdout.splitlines()


def commands(checkout: Path) -> dict[str, tuple[list[str], dict[str, str]]]:
    """Return words and environment of each process by its name."""
    path = {"PYTHONPATH": str(checkout)}
    found: dict[str, tuple[list[str], dict[str, str]]] = {BASELINE: (["-c", "pass"], path)}
    for line in ("--version", *(f"{words} --help".strip() for words in paths(checkout))):
        found[f"gesscale {line}"] = (["-c", STARTED, *line.split()], path)
    for line in COMPLETED:
        asked = {"_GESSCALE_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(line.count(" "))}
        found[f"{line}<TAB>"] = (["-c", STARTED], {**path, **asked})
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--checkout", type=Path, default=Path(__file__).parents[1])
    options = parser.parse_args()
    asked = commands(options.checkout)
    timings: dict[str, list[tuple[float, float]]] = {name: [] for name in asked}
    for _ in range(options.runs):
        for name, (words, environment) in asked.items():
            timings[name].append(took_ms(words, environment))
    base_ms = statistics.median(cpu for _, cpu in timings[BASELINE])
    report = {}
    for name, runs in timings.items():
        wall, cpu_ms = [wall for wall, _ in runs], statistics.median(cpu for _, cpu in runs)
        report[name] = {
            "median_ms": round(statistics.median(wall)),
            "least_ms": round(min(wall)),
            "greatest_ms": round(max(wall)),
            "median_cpu_ms": round(cpu_ms),
            "ratio_cpu": round(cpu_ms / base_ms, 1),
        }
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
