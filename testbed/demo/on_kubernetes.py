"""The demo on Kubernetes: runs it, observes it from outside, and reports on it."""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import yaml
from rich.console import Console

from gesscale.common.http_client import UNRESTRICTED_CLIENT, FetchError
from gesscale.common.text import format_list
from gesscale.common.yaml_text import parse_yaml
from gesscale.errors import ClusterError, MetricsUnavailableError
from gesscale.model.decision import Decision
from gesscale.model.document import codec
from gesscale.monitor.record_files import DECISIONS, SETTINGS
from gesscale.monitor.records import parse_document, to_batches
from gesscale.service.recorded import write_page
from testbed.cluster.topology import Topology, read_topology
from testbed.demo.taxi import TaxiJob, prepare_rides
from testbed.kubernetes import cluster as clusters
from testbed.live.kubernetes import KubernetesApplication
from testbed.live.nodes import ProgressLog
from testbed.live.record import DayResult, Record, Rescale
from testbed.live.report import PromiseCheck, check_both_directions, check_rows, write_report
from testbed.live.scenario import Scenario
from testbed.pipeline.rides import bundled_demand
from testbed.pipeline.sink import verify_sink

FIRST_BATCH_S = 300.0
#: After the day there is no load, so a replica should be removed within this time.
QUIET_S = 120.0
_POLL_S = 1.0
_TIMEOUT_S, _MAX_BYTES = 10.0, 16 << 20


@dataclass(slots=True)
class KubernetesObserver:
    """Polls the API server and the driver, and logs news.

    Attributes
    ----------
    application: the observed application
    log: prints a line
    record: the batches that the driver has reported; its zero is the start of the first one
    orders, executors: everything observed so far, by id
    placement: nodes of the live executors; None before the driver's first report
    driver_phase: of its pod; empty before there is one
    """

    application: KubernetesApplication
    log: Callable[[str], None]
    record: Record = field(default_factory=lambda: Record(began_at_s=0.0))
    orders: dict[str, dict[str, Any]] = field(default_factory=dict)
    executors: dict[str, dict[str, Any]] = field(default_factory=dict)
    placement: tuple[str, ...] | None = None
    driver_phase: str = ""

    def poll(self) -> None:
        """Poll once; errors are ignored, as the next poll tries again."""
        with suppress(ClusterError, MetricsUnavailableError):
            self._poll_order()
            self.driver_phase = self.application.driver()["status"].get("phase", "")
            self._poll_batches()
            self._poll_executors()

    def ordered(self) -> list[dict[str, Any]]:
        """Return the orders, oldest first."""
        return sorted(self.orders.values(), key=lambda order: str(order["at"]))

    def rescales(self) -> list[Rescale]:
        """Return the change of each order except the first, which is the initial placement."""
        return [self._rescale(before, after) for before, after in pairwise(self.ordered())]

    def _rescale(self, before: Mapping[str, Any], after: Mapping[str, Any]) -> Rescale:
        at_s = datetime.fromisoformat(after["at"]).timestamp()
        first_tasks_at_s = [
            each["first_task_at_s"]
            for each in self.executors.values()
            if each.get("order") == after["id"] and each.get("first_task_at_s")
        ]
        return Rescale(
            at_s=at_s,
            added=tuple(node for node in after["placement"] if node not in before["placement"]),
            removed=tuple(node for node in before["placement"] if node not in after["placement"]),
            replicas=len(after["placement"]),
            first_task_s=tuple(first_at_s - at_s for first_at_s in first_tasks_at_s),
            reason=f"order {after['id']}",
        )

    def _poll_order(self) -> None:
        resource = self.application.document("streamautoscaler", self.application.operator.name)
        order = (resource.get("status") or {}).get("order")
        if order and order["id"] not in self.orders:
            self.orders[order["id"]] = order
            self.log(f"order {order['id']}: executors on {', '.join(order['placement'])}")

    def _poll_batches(self) -> None:
        newest = max(self.record.batches, default=-1)
        body = self.application.ask_driver(f"batches?after={newest}")
        batches = to_batches(parse_document(body, self.application.operator.name).batches, {}, ahead_s=0.0)[0]
        if batches and not self.record.batches:
            self.record.began_at_s = min(batch.began_s for batch in batches)
        self.record.add_batches(tuple(batches))

    def _poll_executors(self) -> None:
        replicas = json.loads(self.application.ask_driver("replicas"))
        for each in replicas["executors"]:
            known = self.executors.get(each["id"], {})
            self.executors[each["id"]] = {**each, "order": known.get("order") or each.get("order")}
        placement = tuple(replicas["hosts"] or ())
        if placement != self.placement:
            self.placement = placement
            self.log(f"live executors on {', '.join(placement) or 'no node'}")


def read_decisions(url: str) -> list[dict[str, Any]]:
    """Read all decisions that a controller still stores.

    Raises
    ------
    ClusterError
        If it does not respond, or not with JSON.
    """
    decisions = []
    for workflow in _get(url, "run")["workflows"]:
        for point in _get(url, "points", workflow=workflow["name"])["points"]:
            key = {"workflow": workflow["name"], "operator": point["operator"], "at_s": point["at_s"]}
            if (decision := _get(url, "decision", **key)) is not None:
                decisions.append(decision)
    return sorted(decisions, key=lambda each: float(each["at_s"]))


def write_decisions(
    decisions: Sequence[Mapping[str, Any]], scenario: Scenario, topology: Topology, driver_node: str, folder: Path
) -> None:
    """Write the decisions, and the settings of a standalone loop, which make the demo's folder a record."""
    settings = parse_yaml(scenario.settings(topology), "the settings of the demo")
    for operator in settings["workflow"]["operators"].values():
        operator["driver_node"] = driver_node
    settings["execute"] = {"mode": "recommend"}
    (folder / SETTINGS).write_text(yaml.safe_dump(settings, sort_keys=False))
    (folder / DECISIONS).write_text("".join(json.dumps(each) + "\n" for each in decisions))


def _get(url: str, resource: str, **parameters: object) -> Any:
    address = f"{url}/api/{resource}?{urlencode(parameters)}"
    try:
        return json.loads(UNRESTRICTED_CLIENT.fetch(address, timeout_s=_TIMEOUT_S, max_bytes=_MAX_BYTES))
    except (FetchError, ValueError) as error:
        raise ClusterError("controller-page-unreadable", source=address, cause=str(error)) from error


def run_demo(scenario: Scenario, folder: Path, console: Console, *, verbose: bool = False) -> bool:
    """Run the demo on a new Kubernetes cluster, report on it, and return whether it kept all promises.

    Raises
    ------
    GesscaleError
        If a component cannot be started; everything is cleaned up.
    """
    progress = ProgressLog(console)
    log = progress.log
    rides = prepare_rides(bundled_demand(), scenario.share, scenario.copies, log)
    with ExitStack() as stack:
        log("starting a Kubernetes cluster with three kubelets and delays between them")
        cluster = stack.enter_context(clusters.kubernetes_up(read_topology(scenario.topology)))
        log(f"nodes {', '.join(cluster.node_names)}; kubeconfig {cluster.kubeconfig}")
        application = KubernetesApplication(cluster=cluster, scenario=scenario, folder=folder.resolve())
        application.create_resources()
        name = application.operator.name
        log(f"created StreamAutoscaler {name}, mode Act; driver on {application.driver_node}")
        stack.enter_context(application.controller())
        observer = KubernetesObserver(application, log)
        job = TaxiJob(scenario=scenario, rides=rides.folder)
        application.submit((*job.program(application.operator, application.folder), "--autoscaler", name))
        log(f"submitted the driver; live page: {application.page_url or folder / 'controller.log'}")
        _await_end(observer, rides.rows, scenario.day_s + scenario.drain_s)
        console.print(application.kubectl("get", "streamautoscalers"), highlight=False)
        if verbose:
            console.print(application.kubectl("describe", "streamautoscaler", name), highlight=False)
        decisions = _decisions(application, progress)
    observer.record.rescales.extend(observer.rescales())
    observer.record.decisions.extend(map(codec(Decision).validate_python, decisions))
    sink = verify_sink(folder / "sink", rides.rows)
    day = DayResult(records={name: observer.record}, produced=rides.rows, sink=sink)
    checks = [check_both_directions(observer.record.rescales), _placed_check(observer), *check_rows(day)]
    more = {"policy": scenario.policy, "cleaning": rides.cleaning}
    hints = {"page with a time slider": f"{folder}/page.html"} if decisions else {}
    kept = write_report(day, checks, folder, console, more=more, hints=hints, verbose=verbose)
    if decisions:
        write_decisions(decisions, scenario, cluster.topology, application.driver_node, folder)
        write_page(folder, folder / "page.html")
    return kept


def _decisions(application: KubernetesApplication, progress: ProgressLog) -> list[dict[str, Any]]:
    """Return the controller's decisions; empty if it does not respond, which only costs the page of the run."""
    try:
        return read_decisions(application.page_url)
    except ClusterError as error:
        progress.warn(error.problem)
        return []


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
    if len(orders) < 2 or len(orders[-1]["placement"]) >= len(orders[-2]["placement"]):
        return False
    return len(observer.placement or ()) == len(orders[-1]["placement"])


def _placed_check(observer: KubernetesObserver) -> PromiseCheck:
    orders = observer.orders
    wrong = [
        f"executor {identity} on {each['node']} by order {each['order']}"
        for identity, each in observer.executors.items()
        if (order := orders.get(each.get("order") or "")) is not None and each["node"] not in order["placement"]
    ]
    detail = f"{len(observer.executors)} executors, {f'wrong: {format_list(wrong)}' if wrong else 'none wrong'}"
    return PromiseCheck("every executor ran on a node of its order", not wrong, detail)
