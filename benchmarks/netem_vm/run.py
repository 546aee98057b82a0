"""Measures the delays of a map by the kernel's netem in a virtual machine, and by the relay on this system.

Run ``python benchmarks/netem_vm/run.py RESULTS [--map MAP] [--runs N] [--count N]`` as root on Debian; the README
in this directory describes it. It writes results.json, results.md and the machine's console.
"""

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from image import PROJECT
from machine import running_machine
from measure import Run, as_document, over_runs, ping_all
from report import markdown
from steps import relay_runs, try_inside, try_scripts

from latency_map import DelayKind, DelayUnit, LatencyMap, LatencyMapError, read_map

EDGE8 = PROJECT / "testbed/topologies/edge8.csv"


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """Measurements and checks by name, filled step by step."""

    runs: dict[str, list[Run]] = field(default_factory=dict)
    findings: dict[str, dict[str, object]] = field(default_factory=dict)

    @property
    def passed(self) -> bool:
        """Whether all checks pass."""
        return all(value is not False for found in self.findings.values() for value in found.values())


def main() -> int:
    options = _options()
    if os.geteuid():
        sys.exit("run this as root: it creates network namespaces and a tap device")
    try:
        latencies = read_map(options.map, unit=DelayUnit(options.unit), kind=DelayKind(options.kind))
    except (OSError, LatencyMapError) as error:
        sys.exit(f"{options.map}: {error}")
    options.results.mkdir(parents=True, exist_ok=True)
    results = Results()
    with tempfile.TemporaryDirectory(prefix="netem-vm-") as folder:
        try:
            _measure(latencies, Path(folder), options, results)
        except (SystemExit, LatencyMapError, subprocess.SubprocessError) as error:
            results.findings["not finished"] = {str(error): False}
            log_progress(str(error))
        finally:
            for console in Path(folder).glob("console.log"):
                shutil.copy(console, options.results)
    document = {
        "about": f"{len(latencies)} nodes, {options.count} echoes per pair and run. This system: Linux "
        f"{platform.release()}, {os.cpu_count()} CPUs. The machine: one CPU, emulated by qemu.",
        "series": {name: as_document(over_runs(each), each) for name, each in results.runs.items()},
        "findings": results.findings,
    }
    (options.results / "results.json").write_text(json.dumps(document, indent=2), encoding="utf-8")
    (options.results / "results.md").write_text(markdown(document), encoding="utf-8")
    log_progress(f"wrote {options.results / 'results.md'}")
    return 0 if results.passed else 3


def _measure(latencies: LatencyMap, scratch: Path, options: argparse.Namespace, results: Results) -> None:
    runs, count = options.runs, options.count
    log_progress("booting the machine")
    with running_machine(
        latencies.names, scratch, PROJECT / ".cache/netem-vm", python=options.inside, deadline_s=options.deadline
    ) as machine:
        results.findings["machine"] = {"reachable by ssh after s": round(machine.boot_s, 1)}
        log_progress("no delays")
        undelayed = [ping_all(machine, latencies, count=count, delayed=False) for _ in range(runs)]
        results.runs["no delays"] = undelayed
        log_progress("the scripts of gesscale latency-map plan")
        results.runs["netem, scripts of plan"], results.findings["scripts of plan"] = try_scripts(
            machine, latencies, scratch, runs=runs, count=count
        )
        if options.inside:
            log_progress("the project on this kernel")
            checked, results.findings["the project in the machine"] = try_inside(
                machine, latencies, scratch, count=count
            )
            results.runs["netem, testbed up"] = [checked]
    log_progress("the relay, on this system")
    results.runs["relay"] = relay_runs(latencies, scratch, runs=runs, count=count)


def log_progress(text: str) -> None:
    sys.stderr.write(f"{text}\n")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path, help="folder for results.json, results.md and console.log")
    parser.add_argument("--map", type=Path, default=EDGE8, help="a latency map (default: edge8)")
    parser.add_argument("--unit", default="ms", choices=list(DelayUnit), help="unit of the map (default ms)")
    parser.add_argument(
        "--kind", default="rtt", choices=list(DelayKind), help="kind of the delays in the map (default rtt)"
    )
    parser.add_argument("--runs", type=int, default=3, help="measurements of every pair (default 3)")
    parser.add_argument("--count", type=int, default=10, help="echoes per pair and run (default 10)")
    parser.add_argument("--deadline", type=int, default=3600, help="seconds after which the machine shuts down")
    parser.add_argument("--inside", action="store_true", help="also run the project's test on the machine's kernel")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
