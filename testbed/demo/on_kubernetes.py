"""The demo on Kubernetes: runs it, observes it from outside, and reports on it."""

import time
from contextlib import ExitStack
from pathlib import Path

from rich.console import Console

from gesscale.common.text import format_list
from gesscale.errors import ClusterError
from gesscale.model.decision import Decision
from gesscale.model.document import codec
from gesscale.service.client import read_page
from gesscale.service.documents import RecordDocument
from gesscale.service.recorded import write_page, write_served
from testbed.cluster.topology import read_topology
from testbed.demo.node_losses import LATE_S, LOSSES, check_losses, losing_nodes
from testbed.demo.taxi import TaxiJob, prepare_rides
from testbed.kubernetes import cluster as clusters
from testbed.kubernetes.store import ETCD, Store
from testbed.live.kubernetes import SPACE, KubernetesApplication
from testbed.live.kubernetes_observer import KubernetesObserver
from testbed.live.node_losses import prepare
from testbed.live.nodes import ProgressLog
from testbed.live.record import DayResult
from testbed.live.report import (
    LATE_SHARE,
    PromiseCheck,
    check_both_directions,
    check_row_age,
    check_rows,
    row_counts,
    write_report,
)
from testbed.live.scenario import Scenario
from testbed.pipeline.rides import bundled_demand
from testbed.pipeline.sink import verify_sink

FIRST_BATCH_S = 300.0
#: After the day there is no load, so a replica should be removed within this time.
QUIET_S = 120.0
_POLL_S = 1.0


def read_served(url: str, workflow: str) -> RecordDocument:
    """Read the record of a workflow from the page of its controller.

    Raises
    ------
    ClusterError
        If the page does not respond, or does not have it.
    """
    record: RecordDocument | None = read_page(url, "record", workflow=workflow)
    if record is None:
        raise ClusterError("controller-page-unreadable", source=url, cause=f"it has no workflow {workflow}")
    return record


def run_demo(scenario: Scenario, folder: Path, console: Console, *, store: Store = ETCD, verbose: bool = False) -> bool:
    """Run the demo on a new Kubernetes cluster, report on it, and return whether it kept all promises.

    Raises
    ------
    GesscaleError
        If a component cannot be started, or the controller does not serve its record; everything is cleaned up.
    """
    log = ProgressLog(console).log
    rides = prepare_rides(bundled_demand(), scenario.share, scenario.copies, log)
    with ExitStack() as stack:
        log(f"starting a Kubernetes cluster on {scenario.topology}, with delays between its nodes")
        cluster = stack.enter_context(clusters.kubernetes_up(read_topology(scenario.topology), store))
        log(f"nodes {', '.join(cluster.node_names)}; objects in {store}; kubeconfig {cluster.kubeconfig}")
        application = KubernetesApplication(cluster=cluster, scenario=scenario, folder=folder.resolve())
        application.create_resources()
        prepare(application)
        name = application.operator.name
        log(f"created StreamAutoscaler {name}, mode Act; driver on {application.driver_node}")
        stack.enter_context(application.controller())
        observer = KubernetesObserver(application, log)
        job = TaxiJob(scenario=scenario, rides=rides.folder)
        application.submit((*job.program(application.operator, application.folder), "--autoscaler", name))
        log(f"submitted the driver; live page: {application.page_url or folder / 'controller.log'}")
        with losing_nodes(observer) as losses:
            _await_end(observer, rides.rows, scenario.day_s + scenario.drain_s)
        console.print(application.kubectl("get", "streamautoscalers"), highlight=False)
        if verbose:
            console.print(application.kubectl("describe", "streamautoscaler", name), highlight=False)
            console.print(application.kubectl("get", "events", "--sort-by=.lastTimestamp"), highlight=False)
        served = read_served(application.page_url, f"{SPACE}/{name}")
    record = observer.record
    record.decisions.extend(map(codec(Decision).validate_python, served["decisions"]))
    record.rescales.extend(observer.rescale_of(each) for each in record.acted if each.plan.before)
    sink = verify_sink(folder / "sink", rides.rows)
    day = DayResult(records={name: record}, produced=rides.rows, sink=sink)
    checks = [
        check_both_directions(record.rescales),
        _placed_check(observer),
        *check_losses(observer, losses),
        check_row_age(record, LATE_SHARE * scenario.day_s + LATE_S * len(LOSSES)),
        *check_rows(day),
    ]
    more = {"policy": scenario.policy, "cleaning": rides.cleaning}
    hints = {
        "page with a time slider": f"{folder}/page.html",
        "replay with another policy": f"gesscale replay {folder} --policy NAME",
    }
    kept = write_report(day.records, row_counts(day), checks, folder, console, more=more, hints=hints, verbose=verbose)
    write_served(served, folder)
    write_page(folder, folder / "page.html")
    return kept


def _await_end(observer: KubernetesObserver, rows: int, day_s: float) -> None:
    """Observe until all rows are processed and a replica is removed."""
    deadline_s = time.monotonic() + FIRST_BATCH_S
    while observer.record.processed_rows < rows:
        if observer.driver_phase in {"Failed", "Succeeded"} or time.monotonic() > deadline_s:
            has_log = observer.driver_phase not in {"", "Pending"}
            raise ClusterError(
                "rows-not-processed",
                expected=rows,
                processed=observer.record.processed_rows,
                phase=observer.driver_phase or "missing",
                end=observer.application.driver_log() if has_log else "empty",
            )
        had_batches = bool(observer.record.batches)
        observer.poll()
        if observer.record.batches and not had_batches:
            deadline_s = time.monotonic() + day_s
        time.sleep(_POLL_S)
    observer.log("every row is processed; waiting until a replica is removed")
    deadline_s = time.monotonic() + QUIET_S
    while not _has_shrunk(observer) and time.monotonic() < deadline_s:
        observer.poll()
        time.sleep(_POLL_S)


def _has_shrunk(observer: KubernetesObserver) -> bool:
    """Return whether the last order removed a node and its executor has ended."""
    orders = observer.ordered()
    if len(orders) < 2 or len(orders[-1].placement) >= len(orders[-2].placement):
        return False
    return len(observer.placement or ()) == len(orders[-1].placement)


def _placed_check(observer: KubernetesObserver) -> PromiseCheck:
    orders = observer.orders
    wrong = [
        f"executor {identity} on {each['node']} by order {each['order']}"
        for identity, each in observer.executors.items()
        if (order := orders.get(each.get("order") or "")) is not None and each["node"] not in order.placement
    ]
    detail = f"{len(observer.executors)} executors, {f'wrong: {format_list(wrong)}' if wrong else 'none wrong'}"
    return PromiseCheck("every executor ran on a node of its order", not wrong, detail)
