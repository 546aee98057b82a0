"""The demo on Kubernetes: what is seen of it from outside, its decisions and its report."""

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
from gesscale.common.yaml_text import parse_yaml
from gesscale.errors import ClusterError, MetricsUnavailableError
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
#: When the day is over the load is none, and a replica is given up at the latest then.
QUIET_S = 120.0
_LOOK_EVERY_S = 1.0
_TIMEOUT_S, _MOST_BYTES = 10.0, 16 << 20


@dataclass(slots=True)
class KubernetesObserver:
    """Asks the API server and the driver again and again, and says what is new.

    Attributes
    ----------
    application: what is watched
    log: prints a line for each thing that is new
    record: the batches that the driver has reported; it begins with the first
    orders, executors: all that there were, by id
    placement: nodes of the executors that live now; None before the driver reported
    driver_phase: of its pod; empty before there is one
    """

    application: KubernetesApplication
    log: Callable[[str], None]
    record: Record = field(default_factory=lambda: Record(began_at_s=0.0))
    orders: dict[str, dict[str, Any]] = field(default_factory=dict)
    executors: dict[str, dict[str, Any]] = field(default_factory=dict)
    placement: tuple[str, ...] | None = None
    driver_phase: str = ""

    def look(self) -> None:
        """Look once; whoever does not answer this time is asked again."""
        with suppress(ClusterError, MetricsUnavailableError):
            self._look_at_order()
            self.driver_phase = self.application.driver()["status"].get("phase", "")
            self._look_at_batches()
            self._look_at_executors()

    def ordered(self) -> list[dict[str, Any]]:
        """Return the orders, oldest first."""
        return sorted(self.orders.values(), key=lambda order: str(order["at"]))

    def rescales(self) -> list[Rescale]:
        """Return what each order changed, but for the first, which is where the executors began."""
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
            why=f"order {after['id']}",
        )

    def _look_at_order(self) -> None:
        found = self.application.document("streamautoscaler", self.application.operator.name)
        order = (found.get("status") or {}).get("order")
        if order and order["id"] not in self.orders:
            self.orders[order["id"]] = order
            self.log(f"order {order['id']}: executors on {', '.join(order['placement'])}")

    def _look_at_batches(self) -> None:
        newest = max(self.record.batches, default=-1)
        body = self.application.ask_driver(f"batches?after={newest}")
        batches = to_batches(parse_document(body, self.application.operator.name).batches, {}, ahead_s=0.0)[0]
        if batches and not self.record.batches:
            self.record.began_at_s = min(batch.ended_at_s - batch.seconds for batch in batches)
        self.record.see(tuple(batches))

    def _look_at_executors(self) -> None:
        replicas = json.loads(self.application.ask_driver("replicas"))
        for each in replicas["executors"]:
            known = self.executors.get(each["id"], {})
            self.executors[each["id"]] = {**each, "order": known.get("order") or each.get("order")}
        placement = tuple(replicas["hosts"] or ())
        if placement != self.placement:
            self.placement = placement
            self.log(f"executors live on {', '.join(placement) or 'no node'}")


def read_decisions(url: str) -> list[dict[str, Any]]:
    """Read all decisions that a scaler still keeps.

    Raises
    ------
    ClusterError
        It does not answer, or not as expected.
    """
    found = []
    for workflow in _asked(url, "run")["workflows"]:
        for point in _asked(url, "points", workflow=workflow["name"])["points"]:
            which = {"workflow": workflow["name"], "operator": point["operator"], "at_s": point["at_s"]}
            if (decision := _asked(url, "decision", **which)) is not None:
                found.append(decision)
    return sorted(found, key=lambda each: float(each["at_s"]))


def write_decisions(
    decisions: Sequence[Mapping[str, Any]], scenario: Scenario, topology: Topology, driver_node: str, folder: Path
) -> None:
    """Write what makes the demo's folder a record: the decisions, and the settings of a loop on its own."""
    settings = parse_yaml(scenario.settings(topology), "the settings of the demo")
    for operator in settings["workflow"]["operators"].values():
        operator["driver_node"] = driver_node
    settings["execute"] = {"mode": "recommend"}
    (folder / SETTINGS).write_text(yaml.safe_dump(settings, sort_keys=False))
    (folder / DECISIONS).write_text("".join(json.dumps(each) + "\n" for each in decisions))


def _asked(url: str, what: str, **parameters: object) -> Any:
    address = f"{url}/api/{what}?{urlencode(parameters)}"
    try:
        return json.loads(UNRESTRICTED_CLIENT.fetch(address, timeout_s=_TIMEOUT_S, max_bytes=_MOST_BYTES))
    except (FetchError, ValueError) as error:
        raise ClusterError(f"asked the controller's page {address}, but {error}; see controller.log") from error


def run_demo(scenario: Scenario, folder: Path, console: Console) -> bool:
    """Run the demo on a Kubernetes of its own.

    Raises
    ------
    GesscaleError
        If something cannot be started; nothing stays behind.
    """
    log = ProgressLog(console).log
    rides = prepare_rides(bundled_demand(), scenario.share, scenario.copies, log)
    with ExitStack() as stack:
        log("bringing a Kubernetes up: three kubelets, delays between them")
        cluster = stack.enter_context(clusters.kubernetes_up(read_topology(scenario.topology)))
        log(f"nodes {', '.join(cluster.node_names)}; kubeconfig {cluster.kubeconfig}")
        application = KubernetesApplication(cluster=cluster, scenario=scenario, folder=folder.resolve())
        application.create_resources()
        name = application.operator.name
        log(f"StreamAutoscaler {name} created, mode Act; the driver is to run on {application.driver_node}")
        stack.enter_context(application.controller())
        witness = KubernetesObserver(application, log)
        job = TaxiJob(scenario=scenario, rides=rides.folder)
        application.submit((*job.program(application.operator, application.folder), "--autoscaler", name))
        log(f"driver submitted; look at it: {application.page_url or folder / 'controller.log'}")
        _follow(witness, rides.rows, scenario.day_s + scenario.drain_s)
        console.print(application.kubectl("get", "streamautoscalers"), highlight=False)
        console.print(application.kubectl("describe", "streamautoscaler", name), highlight=False)
        decisions = _decisions(application, log)
    witness.record.rescales.extend(witness.rescales())
    sink = verify_sink(folder / "sink", rides.rows)
    day = DayResult(records={name: witness.record}, produced=rides.rows, sink=sink)
    checks = [check_both_directions(witness.record.rescales), _placed_check(witness), *check_rows(day)]
    title = f"policy {scenario.policy} on Kubernetes: {scenario.title}"
    more = {"policy": scenario.policy, "cleaning": rides.cleaning}
    kept = write_report(day, checks, title, folder, console, more=more)
    if decisions:
        write_decisions(decisions, scenario, cluster.topology, application.driver_node, folder)
        write_page(folder, folder / "page.html")
        console.print(f"the run to look at, with a slider over its time: {folder}/page.html", highlight=False)
    return kept


def _decisions(application: KubernetesApplication, log: Callable[[str], None]) -> list[dict[str, Any]]:
    """Return what the controller decided; none where it does not tell, which costs the page and not the report."""
    try:
        return read_decisions(application.page_url)
    except ClusterError as error:
        log(f"there will be no page of this run: {error}")
        return []


def _follow(witness: KubernetesObserver, rows: int, day_s: float) -> None:
    """Look on until all rows are processed."""
    deadline_s = time.monotonic() + FIRST_BATCH_S
    while witness.record.processed_rows < rows:
        if witness.driver_phase in {"Failed", "Succeeded"} or time.monotonic() > deadline_s:
            phase = witness.driver_phase or "not there"
            ending = "" if witness.driver_phase in {"", "Pending"} else witness.application.driver_log()
            raise ClusterError(
                f"expected {rows} rows to be processed by now, got {witness.record.processed_rows}; "
                f"the driver's pod is {phase}:\n{ending}"
            )
        seen = bool(witness.record.batches)
        witness.look()
        if witness.record.batches and not seen:
            deadline_s = time.monotonic() + day_s
        time.sleep(_LOOK_EVERY_S)
    witness.log("every row is processed; the stream idles now")
    deadline_s = time.monotonic() + QUIET_S
    while not _has_shrunk(witness) and time.monotonic() < deadline_s:
        witness.look()
        time.sleep(_LOOK_EVERY_S)


def _has_shrunk(witness: KubernetesObserver) -> bool:
    """Return whether the last order gave a node up and its executor has gone."""
    orders = witness.ordered()
    if len(orders) < 2 or len(orders[-1]["placement"]) >= len(orders[-2]["placement"]):
        return False
    return len(witness.placement or ()) == len(orders[-1]["placement"])


def _placed_check(witness: KubernetesObserver) -> PromiseCheck:
    wrong = [
        f"executor {identity} on {each['node']} by order {each['order']}"
        for identity, each in witness.executors.items()
        if (order := witness.orders.get(each.get("order") or "")) is not None and each["node"] not in order["placement"]
    ]
    detail = f"{len(witness.executors)} executors" + (f", wrong: {'; '.join(wrong)}" if wrong else ", none elsewhere")
    return PromiseCheck("every executor ran on a node of its order", not wrong, detail)
