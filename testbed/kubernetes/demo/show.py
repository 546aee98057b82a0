"""The demo on Kubernetes from beginning to end."""

import math
import statistics
import time
from contextlib import ExitStack
from datetime import datetime
from itertools import pairwise
from pathlib import Path

from rich.console import Console

from gesscale.errors import ClusterError
from testbed.cluster.topology import read_topology
from testbed.demo.rides import prepare_rides
from testbed.demo.scenario import Scenario
from testbed.demo.verdict import Check, check_sink
from testbed.kubernetes import cluster as clusters
from testbed.kubernetes.demo.stage import Stage
from testbed.kubernetes.demo.watching import Witness
from testbed.pipeline.sink import verify_sink

KUBE3 = Scenario(
    topology="kube3", day_s=240.0, share=0.066, max_replicas=3, period_s=10.0, cap_rows_per_replica=1200
)
"""The day of `make demo`, with as much load as three nodes carry."""

FIRST_BATCH_S = 300.0
DRAIN_S = 180.0
QUIET_S = 120.0
"""When the day is over the load is none, and a replica is given up at the latest then."""
_LOOK_EVERY_S = 1.0
_AFTER_S = 60.0


def play(scenario: Scenario, folder: Path, console: Console) -> bool:
    """Run the demo on a Kubernetes of its own.

    Parameters
    ----------
    scenario
        What is played.
    folder
        Where sink, logs and the latency map go; empty.
    console
        Where the transcript goes.

    Returns
    -------
    bool
        Whether every promise was kept.

    Raises
    ------
    GesscaleError
        Where something cannot be started; nothing stays behind.
    """
    began_s = time.monotonic()

    def say(text: str) -> None:
        console.print(
            f"{time.monotonic() - began_s:6.1f} s  {text}", markup=False, highlight=False, soft_wrap=True
        )

    rides = prepare_rides(scenario.share, scenario.copies, say)
    with ExitStack() as stack:
        say("bringing a Kubernetes up: three kubelets, delays between them")
        cluster = stack.enter_context(
            clusters.kubernetes_up(read_topology(scenario.topology), source=scenario.topology)
        )
        say(f"nodes {', '.join(cluster.node_names)}; kubeconfig {cluster.kubeconfig}")
        stage = Stage(cluster=cluster, scenario=scenario, folder=folder.resolve())
        stage.set()
        say(
            f"StreamAutoscaler {scenario.operator} created, mode Act; the driver is to run on {stage.driver_node}"
        )
        stack.enter_context(stage.controller())
        witness = Witness(stage, say)
        stage.submit(rides.folder)
        say("driver submitted")
        _follow(witness, rides.rows, scenario.day_s + DRAIN_S)
        console.print(stage.kubectl("get", "streamautoscalers"), highlight=False)
        console.print(stage.kubectl("describe", "streamautoscaler", scenario.operator), highlight=False)
        return _report(witness, folder, rides.rows, console)


def _follow(witness: Witness, rows: int, day_s: float) -> None:
    """Look on until all rows are processed.

    Raises
    ------
    ClusterError
        Where the first batch or the last row does not come in time, or the driver ends.
    """
    deadline_s = time.monotonic() + FIRST_BATCH_S
    while witness.processed_rows < rows:
        if witness.driver_phase in {"Failed", "Succeeded"} or time.monotonic() > deadline_s:
            phase = witness.driver_phase or "not there"
            said = "" if witness.driver_phase in {"", "Pending"} else witness.stage.driver_log()
            message = (
                f"expected {rows} rows to be processed by now, got {witness.processed_rows}; the driver's pod is "
                f"{phase}:\n{said}"
            )
            raise ClusterError(message)
        seen = bool(witness.batches)
        witness.look()
        if witness.batches and not seen:
            deadline_s = time.monotonic() + day_s
        time.sleep(_LOOK_EVERY_S)
    witness.say("every row is processed; the stream idles now")
    deadline_s = time.monotonic() + QUIET_S
    while not _has_shrunk(witness) and time.monotonic() < deadline_s:
        witness.look()
        time.sleep(_LOOK_EVERY_S)


def _has_shrunk(witness: Witness) -> bool:
    """Say whether the last order gave a node up and its executor has gone."""
    orders = sorted(witness.orders.values(), key=lambda order: str(order["at"]))
    if len(orders) < 2 or len(orders[-1]["placement"]) >= len(orders[-2]["placement"]):
        return False
    return witness.replicas == len(orders[-1]["placement"])


def _report(witness: Witness, folder: Path, rows: int, console: Console) -> bool:
    orders = sorted(witness.orders.values(), key=lambda order: order["at"])
    for arrival in witness.arrivals():
        bound = "?" if arrival.bound_s is None else f"{arrival.bound_s:.0f}"
        worked = "none" if arrival.first_task_s is None else f"{arrival.first_task_s:.1f} s"
        console.print(
            f"order {arrival.order}, {arrival.node}: pod bound after {bound} s, registered after "
            f"{arrival.registered_s:.1f} s, first task after {worked}"
        )
    ends = sorted(batch.ended_at_s for batch in witness.batches.values())
    gaps = [later - earlier for earlier, later in pairwise(ends)]
    begins_s = [*(datetime.fromisoformat(order["at"]).timestamp() for order in orders), math.inf]
    for (before, after), (at_s, next_s) in zip(pairwise(orders), pairwise(begins_s[1:]), strict=True):
        until_s = min(at_s + _AFTER_S, next_s)
        around = [later - earlier for earlier, later in pairwise(ends) if at_s < later < until_s]
        console.print(
            f"order {after['id']}: {len(before['placement'])} -> {len(after['placement'])} executors, longest gap "
            f"between finished batches in the {until_s - at_s:.0f} s after it {max(around, default=0.0):.1f} s"
        )
    console.print(f"median gap between finished batches over the day: {statistics.median(gaps):.1f} s")
    sink = verify_sink(folder / "sink", rows)
    sizes = [len(order["placement"]) for order in orders]
    up = sum(after > before for before, after in pairwise(sizes))
    down = sum(after < before for before, after in pairwise(sizes))
    checks = (
        Check("it scaled up and down", up > 0 and down > 0, f"{up} times up, {down} times down"),
        _placed_check(witness),
        check_sink(rows, sink.rows, sink.distinct),
    )
    for check in checks:
        console.print(
            f"{'kept' if check.kept else 'BROKEN'}: {check.promise}: {check.detail}", highlight=False
        )
    return all(check.kept for check in checks)


def _placed_check(witness: Witness) -> Check:
    wrong = [
        f"executor {identity} on {each['node']} by order {each['order']}"
        for identity, each in witness.executors.items()
        if (order := witness.orders.get(each.get("order") or "")) is not None
        and each["node"] not in order["placement"]
    ]
    detail = f"{len(witness.executors)} executors" + (
        f", wrong: {'; '.join(wrong)}" if wrong else ", none elsewhere"
    )
    return Check("every executor ran on a node of its order", not wrong, detail)
