"""The demo on Kubernetes from beginning to end."""

import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from rich.console import Console

from gesscale.errors import ClusterError
from gesscale.service.recorded import write_page
from testbed.cluster.topology import read_topology
from testbed.demo.kubernetes.decisions import read_decisions, write_decisions
from testbed.demo.kubernetes.stage import KubernetesStage
from testbed.demo.kubernetes.watching import Witness
from testbed.demo.record import Day
from testbed.demo.report import write_report
from testbed.demo.rides import prepare_rides
from testbed.demo.scenario import Scenario
from testbed.demo.stage import Stage
from testbed.demo.verdict import PromiseCheck, check_both_directions, check_rows
from testbed.kubernetes import cluster as clusters
from testbed.pipeline.rides import bundled_demand
from testbed.pipeline.sink import verify_sink

FIRST_BATCH_S = 300.0
QUIET_S = 120.0
"""When the day is over the load is none, and a replica is given up at the latest then."""
_LOOK_EVERY_S = 1.0


def play(scenario: Scenario, folder: Path, console: Console) -> bool:
    """Run the demo on a Kubernetes of its own.

    Parameters
    ----------
    scenario
        What is played.
    folder
        Where sink, logs, the latency map and the report go; empty.
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
    say = Stage(console).say
    rides = prepare_rides(bundled_demand(), scenario.share, scenario.copies, say)
    with ExitStack() as stack:
        say("bringing a Kubernetes up: three kubelets, delays between them")
        cluster = stack.enter_context(
            clusters.kubernetes_up(read_topology(scenario.topology), source=scenario.topology)
        )
        say(f"nodes {', '.join(cluster.node_names)}; kubeconfig {cluster.kubeconfig}")
        stage = KubernetesStage(cluster=cluster, scenario=scenario, folder=folder.resolve())
        stage.set()
        name = stage.operator.name
        say(f"StreamAutoscaler {name} created, mode Act; the driver is to run on {stage.driver_node}")
        stack.enter_context(stage.controller())
        witness = Witness(stage, say)
        stage.submit(stage.replay(rides.folder))
        say(f"driver submitted; look at it: {stage.page_url or folder / 'controller.log'}")
        _follow(witness, rides.rows, scenario.day_s + scenario.drain_s)
        console.print(stage.kubectl("get", "streamautoscalers"), highlight=False)
        console.print(stage.kubectl("describe", "streamautoscaler", name), highlight=False)
        decisions = _decisions(stage, say)
    witness.record.rescales.extend(witness.rescales())
    arrivals = tuple(witness.arrivals())
    for arrival in arrivals:
        bound = "?" if arrival.bound_s is None else f"{arrival.bound_s:.0f}"
        worked = "none" if arrival.first_task_s is None else f"{arrival.first_task_s:.1f} s"
        console.print(
            f"order {arrival.order}, {arrival.node}: pod bound after {bound} s, registered after "
            f"{arrival.registered_s:.1f} s, first task after {worked}"
        )
    sink = verify_sink(folder / "sink", rides.rows)
    day = Day(records={name: witness.record}, produced=rides.rows, sink=sink)
    checks = [check_both_directions(witness.record.rescales), _placed_check(witness), *check_rows(day)]
    title = f"policy {scenario.policy} on Kubernetes: {scenario.title}"
    more = {"policy": scenario.policy, "cleaning": rides.cleaning, "arrivals": arrivals}
    kept = write_report(day, checks, title, folder, console, more=more)
    if decisions:
        write_decisions(decisions, scenario, cluster.topology, stage.driver_node, folder)
        write_page(folder, folder / "page.html")
        console.print(f"the run to look at, with a slider over its time: {folder}/page.html", highlight=False)
    return kept


def _decisions(stage: KubernetesStage, say: Callable[[str], None]) -> list[dict[str, Any]]:
    """Return what the controller decided; none where it does not tell, which costs the page and not the report."""
    try:
        return read_decisions(stage.page_url)
    except ClusterError as error:
        say(f"there will be no page of this run: {error}")
        return []


def _follow(witness: Witness, rows: int, day_s: float) -> None:
    """Look on until all rows are processed.

    Raises
    ------
    ClusterError
        Where the first batch or the last row does not come in time, or the driver ends.
    """
    deadline_s = time.monotonic() + FIRST_BATCH_S
    while witness.record.processed_rows < rows:
        if witness.driver_phase in {"Failed", "Succeeded"} or time.monotonic() > deadline_s:
            phase = witness.driver_phase or "not there"
            ending = "" if witness.driver_phase in {"", "Pending"} else witness.stage.driver_log()
            message = (
                f"expected {rows} rows to be processed by now, got {witness.record.processed_rows}; "
                f"the driver's pod is {phase}:\n{ending}"
            )
            raise ClusterError(message)
        seen = bool(witness.record.batches)
        witness.look()
        if witness.record.batches and not seen:
            deadline_s = time.monotonic() + day_s
        time.sleep(_LOOK_EVERY_S)
    witness.say("every row is processed; the stream idles now")
    deadline_s = time.monotonic() + QUIET_S
    while not _has_shrunk(witness) and time.monotonic() < deadline_s:
        witness.look()
        time.sleep(_LOOK_EVERY_S)


def _has_shrunk(witness: Witness) -> bool:
    """Say whether the last order gave a node up and its executor has gone."""
    orders = witness.ordered()
    if len(orders) < 2 or len(orders[-1]["placement"]) >= len(orders[-2]["placement"]):
        return False
    return len(witness.placement or ()) == len(orders[-1]["placement"])


def _placed_check(witness: Witness) -> PromiseCheck:
    wrong = [
        f"executor {identity} on {each['node']} by order {each['order']}"
        for identity, each in witness.executors.items()
        if (order := witness.orders.get(each.get("order") or "")) is not None
        and each["node"] not in order["placement"]
    ]
    detail = f"{len(witness.executors)} executors" + (
        f", wrong: {'; '.join(wrong)}" if wrong else ", none elsewhere"
    )
    return PromiseCheck("every executor ran on a node of its order", not wrong, detail)
