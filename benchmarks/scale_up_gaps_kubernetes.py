"""Measures the output gap of a scale-up on a Kubernetes cluster of four emulated nodes; see ``scale_up_gaps.py``.

A replica is ordered by hand in the StreamAutoscaler; "full_rate_s" is measured from there, so it
includes the controller's step, the pod, its JVM and its warm-up. The image is on the nodes. Each round ends with the
removal of the replica.

Cases: map or a query of Nexmark : none, daemon, plugin or both [: grows or fixed, the cap].

    python benchmarks/scale_up_gaps_kubernetes.py --cases map:none,map:both,map:both:fixed,q5:both:fixed --rounds 3
"""

import argparse
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from emulated.nodes import end_in_order, written_topology
from scale_up_gaps import ADDED, FIRST, MEASURES, batches, program, scale_up, summary

from testbed.kubernetes.cluster import KubernetesTestBed, kubernetes_up
from testbed.live.kubernetes import KubernetesApplication
from testbed.live.scenario import KUBE5, LiveOperator

TOPOLOGY = "name: gaps\nlatency: {file: map.csv, unit: ms, kind: rtt}\ndriver_node: control\nsubnet: 10.77.218.0/24\n"
DELAYS = ",control,home,near,far\ncontrol,0,8,8,8\nhome,8,0,8,20\nnear,8,8,0,12\nfar,8,20,12,0\n"
OPERATOR = "gaps"
PERIOD_S, WITHIN_S = 5.0, 300.0


def until(what: str, is_so: Callable[[], bool]) -> None:
    """Wait until a condition is true."""
    deadline_s = time.monotonic() + WITHIN_S
    while not is_so():
        if time.monotonic() > deadline_s:
            sys.exit(f"expected {what} within {WITHIN_S:g} s: is this machine busy?")
        time.sleep(0.3)


def address_of(application: KubernetesApplication) -> str:
    """Return the address of the driver's pod; empty if it has none yet."""
    pods = [each["status"] for each in application.document("pods", "-l", "spark-role=driver")["items"]]
    if any(each.get("phase") == "Failed" for each in pods):
        sys.exit(f"the driver has failed: {application.driver_log()}")
    return str(pods[0].get("podIP", "")) if pods else ""


def rounds_on(application: KubernetesApplication, rounds: int) -> Iterator[dict[str, Any]]:
    """Add and remove the replica, several times."""

    def work_on(nodes: tuple[str, ...]) -> bool:
        seen = batches(address_of(application))
        return bool(seen) and sorted(seen[-1]["hosts"]) == sorted(nodes)

    application.override(FIRST)
    until("a driver", lambda: bool(address_of(application)))
    until(f"batches on {FIRST}", lambda: work_on(FIRST))
    for _ in range(rounds):
        yield scale_up(
            address_of(application),
            ADDED,
            lambda: application.override((*FIRST, ADDED)),
            settled_after_s=time.time() + 12.0,
        )
        application.override(FIRST)
        until(f"batches on {FIRST} again", lambda: work_on(FIRST))


def measure(cluster: KubernetesTestBed, case: str, rounds: int, output: Path | None) -> None:
    """Measure a case on a cluster."""
    query, measure, *more = case.split(":")
    cap_kind = more[0] if more else "grows"
    scenario = replace(
        KUBE5,
        topology="kube3",
        operators=(LiveOperator(name=OPERATOR),),
        period_s=PERIOD_S,
        max_replicas=len(FIRST) + 1,
    )
    with TemporaryDirectory() as name:
        folder = Path(name).resolve()
        application = KubernetesApplication(cluster=cluster, scenario=scenario, folder=folder)
        application.create_resources()
        with application.controller():
            application.submit(program(query, cap_kind, folder, autoscaler=OPERATOR), MEASURES[measure])
            try:
                found = list(rounds_on(application, rounds))
            finally:
                (folder / "driver.log").write_text(application.kubectl("logs", f"{OPERATOR}-driver", "--tail=-1"))
                if output is not None:
                    for log in ("driver.log", "controller.log"):
                        shutil.copy(folder / log, output.with_suffix(f".{log}"))
        summary({"query": query, "measure": measure, "cap": cap_kind}, found, output)


def main() -> None:
    """Measure the cases."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", required=True, help="separated by commas")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--output", type=Path, help="file to which results are appended")
    given = parser.parse_args()
    end_in_order()
    with TemporaryDirectory() as name:
        topology = written_topology(Path(name), TOPOLOGY, DELAYS)
        with kubernetes_up(topology) as cluster:
            for case in given.cases.split(","):
                measure(cluster, case, given.rounds, given.output)


if __name__ == "__main__":
    main()
