"""What a scale-up costs the output on Kubernetes, with and without a warm-up: the map of `scale_up_gaps.py` in pods.

Orders are written as a controller would write them; the figures are those of `scale_up_gaps.py`. It needs root and the
built Kubernetes (`testbed kubernetes build`). The image is on every node.

    python benchmarks/scale_up_gaps_kubernetes.py --measures none,both --rounds 3
"""

import argparse
import contextlib
import json
import signal
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from scale_up_gaps import batches, scale_up, summary

from gesscale.spark.warm_up import DAEMON
from testbed.cluster.topology import read_topology
from testbed.demo.kubernetes.stage import KubernetesStage
from testbed.demo.rides import prepare_rides
from testbed.demo.scenario import DEMO, KUBE3
from testbed.kubernetes.cluster import kubernetes_up
from testbed.pipeline.rides import bundled_demand

MEASURES: Mapping[str, Mapping[str, str]] = {
    "none": {"spark.gesscale.warmUp": "false"},
    "daemon": {"spark.gesscale.warmUp": "false", "spark.python.daemon.module": DAEMON},
    "plugin": {"spark.python.daemon.module": "pyspark.daemon"},
    "both": {},  # as the demo has it
}
START_S = 240.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SaturatedStage(KubernetesStage):
    """The demo's stage without its controller, and more rows than it can process."""

    measure: str

    def _stream_options(self, rides: Path) -> Mapping[str, object]:
        return {**super()._stream_options(rides), "copies": 200, "start-at-s": 0}

    def _settings(self) -> Mapping[str, str]:
        return {**super()._settings(), **MEASURES[self.measure]}

    def order(self, number: int, nodes: list[str]) -> None:
        """Order executors on nodes."""
        at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        order = {"id": f"1-{number}", "term": 1, "placement": sorted(nodes), "at": at, "strategy": "Live"}
        patch = json.dumps({"status": {"order": order}})
        name = self.operator.name
        self.kubectl("patch", "streamautoscaler", name, "--subresource=status", "--type=merge", "-p", patch)

    def address(self) -> str:
        """Return the driver's address; empty where it has none yet."""
        with contextlib.suppress(Exception):
            return str(self.document("pod", f"{self.operator.name}-driver")["status"].get("podIP") or "")
        return ""


def measured(stage: SaturatedStage, rounds: int, rides: Path) -> list[dict[str, Any]]:
    """Add and remove the replica, several times."""
    first, new = list(stage.cluster.node_names[:2]), stage.cluster.node_names[2]
    stage.set()
    stage.order(1, first)
    stage.submit(rides)
    deadline_s, address = time.monotonic() + START_S, ""
    while time.monotonic() < deadline_s and not (address and batches(address)):
        address = stage.address()
        time.sleep(1.0)
    settled_after_s, found = time.time() + 15.0, []
    for number in range(rounds):
        with_new = 2 * number + 2
        found.append(
            scale_up(
                address, new, partial(stage.order, with_new, [*first, new]), settled_after_s=settled_after_s
            )
        )
        stage.order(2 * number + 3, first)
        deadline_s = time.monotonic() + START_S
        while time.monotonic() < deadline_s and new in batches(address)[-1]["hosts"]:
            time.sleep(1.0)
        settled_after_s = time.time() + 5.0
    return found


def main() -> None:
    """Measure the cases, each on a Kubernetes that stands."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--measures", required=True, help=", ".join(MEASURES))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--output", type=Path)
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # the nodes are taken down then, too
    rides = prepare_rides(bundled_demand(), DEMO.share, DEMO.copies, lambda _: None).folder.resolve()
    with kubernetes_up(read_topology(KUBE3.topology), source=KUBE3.topology) as cluster:
        for measure in given.measures.split(","):
            with tempfile.TemporaryDirectory() as name:
                stage = SaturatedStage(
                    cluster=cluster, scenario=KUBE3, folder=Path(name).resolve(), measure=measure
                )
                try:
                    rounds = measured(stage, given.rounds, rides)
                except BaseException:
                    with contextlib.suppress(Exception):
                        sys.stderr.write(stage.driver_log())
                    raise
            summary("map on Kubernetes", measure, rounds, given.output)


if __name__ == "__main__":
    main()
