"""A query and its controller on emulated nodes, and the faults that are injected there."""

import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from gesscale.errors import ClusterError
from testbed.chaos.controller import unsafe_removals
from testbed.chaos.plan import ChaosFault, PlannedChange
from testbed.chaos.proxies import FaultyProxy, ProxyFault
from testbed.chaos.query import ChaosQuery
from testbed.chaos.rows import driver_of, event_topic
from testbed.chaos.settings import MAP_MAX_AGE_S, STEPS, ChaosSettings, write_map, write_order
from testbed.cluster import processes
from testbed.cluster.commands import run
from testbed.cluster.delays import set_delay
from testbed.cluster.namespaces import DEVICE, namespace
from testbed.cluster.processes import Role
from testbed.cluster.spark import LocalSpark, open_spark
from testbed.cluster.spark_command import NETWORK_TIMEOUT_S
from testbed.cluster.state import STATE_ROOT
from testbed.cluster.topology import Topology
from testbed.live.job_runner import DRIVER_S, await_query
from testbed.live.kafka import KafkaFeed
from testbed.pipeline.kafka_broker import KafkaBroker

SLOWER = 10
_PAGES: Mapping[ChaosFault, ProxyFault] = {
    ChaosFault.METRICS_HANG: ProxyFault.HANGING,
    ChaosFault.METRICS_LIE: ProxyFault.LYING,
    ChaosFault.METRICS_GONE: ProxyFault.CUT,
}


@dataclass(slots=True, kw_only=True)
class LocalQuery(ChaosQuery):
    """One run of the query on the local cluster.

    Attributes
    ----------
    spark: its application
    metrics_url: the driver's metrics
    page: the proxy through which the controller reads them
    topic: the source of its events; None if it generates its rows itself
    """

    spark: LocalSpark
    metrics_url: str
    page: FaultyProxy
    topic: KafkaFeed | None
    _logs: int = field(default=0, init=False)

    @property
    def cluster_name(self) -> str:
        """The name of the topology."""
        return self.spark.topology.name

    def start(self) -> None:
        """Start the query with a replica, and its controller."""
        self.start_driver()
        await_query(self.spark, self.metrics_url)
        self.order(self.nodes())
        self.start_controller()

    def start_driver(self) -> None:
        """Start the driver, from its checkpoint if it has one, and wait until executors can register."""
        self._keep_log()
        self.spark.start_driver(self.driver.program)
        self.spark.await_driver(DRIVER_S)

    def start_controller(self) -> None:
        """Start the controller, from its knowledge if it has any."""
        state_root = {STATE_ROOT: os.environ[STATE_ROOT]} if STATE_ROOT in os.environ else {}
        self.start_as_controller((sys.executable, "-m", "testbed.chaos.controller", str(self.folder)), state_root)

    def kill_driver(self) -> None:
        """Kill the driver with its JVM, and start it again."""
        processes.kill(self.running(Role.DRIVER))
        self.start_driver()

    def keep_running(self) -> None:
        """Restart processes that exited without a fault, and count them."""
        if self.topic is not None:
            self.topic.check()
        if self.spark.driver() is None:
            self.failed_batches += 1
            self.kill_driver()
        self.keep_controller_running()

    def order(self, placement: tuple[str, ...]) -> None:
        """Order a placement."""
        write_order(self.spark.operator, placement, self.folder)

    def nodes(self) -> tuple[str, ...]:
        """Return the nodes on which an executor's process runs, sorted."""
        return tuple(sorted(each.mark.node for each in self.spark.running(Role.EXECUTOR)))

    def is_on(self, placement: Sequence[str]) -> bool:
        """Return whether executors run on exactly these nodes and are registered with the driver."""
        running = self.spark.running(Role.EXECUTOR)
        if sorted(each.mark.node for each in running) != sorted(placement):
            return False
        try:
            return {each.mark.serial for each in running} <= self.spark.active_executors()
        except ClusterError:
            return False

    def driver_logs(self) -> str:
        """Return the output of all drivers of this run."""
        logs = [*self.folder.glob("driver-*.log"), self._log]
        return "".join(log.read_text(errors="replace") for log in logs if log.exists())

    def unsafe_removals(self) -> int:
        """Return the number of replicas that the loop has removed in untrusted steps."""
        steps = self.folder / STEPS
        return unsafe_removals(steps.read_text()) if steps.exists() else 0

    def stop(self) -> tuple[str, ...]:
        """End controller, driver and executors, and keep their logs; leftovers are found when the nodes are removed."""
        processes.stop(self.running(Role.CONTROLLER), grace_s=10.0)
        self.spark.stop_driver()
        self._keep_log()
        return ()

    @property
    def _log(self) -> Path:
        return self.spark.log(Role.DRIVER, self.spark.topology.driver_node)

    def _keep_log(self) -> None:
        if self._log.exists():
            self._log.rename(self.folder / f"driver-{self._logs}.log")
            self._logs += 1

    def inject(self, change: PlannedChange, before: tuple[str, ...]) -> str:
        """Inject a fault and revert it; return its target."""
        match change.fault:
            case ChaosFault.NONE:
                return ""
            case ChaosFault.DRIVER_KILLED:
                self.kill_driver()
                return "driver"
            case ChaosFault.CONTROLLER_KILLED:
                self.kill_controller()
                return "controller"
            case ChaosFault.EXECUTOR_KILLED:
                victim = change.victim(self.nodes())
                executors = self.spark.running(Role.EXECUTOR)
                processes.kill([each for each in executors if each.mark.node == victim])
                return victim or ""
        target, active = self._lasting_fault(change, before)
        # Spark checks for silent executors once per timeout, so it removes one after two of them at the latest.
        beyond_s = 2.0 * NETWORK_TIMEOUT_S if change.fault is ChaosFault.NODE_CUT_OFF_LONG else 0.0
        with active:
            time.sleep(beyond_s + change.lasts_s)
        return target

    def _lasting_fault(
        self, change: PlannedChange, before: tuple[str, ...]
    ) -> tuple[str, AbstractContextManager[None]]:
        topology = self.spark.topology
        if change.fault is ChaosFault.MAP_STALE:
            return "map", _stale(topology, self.folder)
        if change.fault in _PAGES:
            return "page", self.page.injecting(_PAGES[change.fault])
        if change.fault is ChaosFault.BROKER_KILLED and self.topic is not None:
            return "broker", _killed(self.topic.broker)
        involved = sorted({*before, *change.placement} - {topology.driver_node})
        victim = change.victim(involved or [each.name for each in topology.nodes if each is not topology.driver])
        if victim is None:
            return "", nullcontext()
        of_link = _slowed if change.fault is ChaosFault.LINK_SLOWED else _cut_off
        return victim, of_link(topology, victim)


@contextmanager
def _stale(topology: Topology, folder: Path) -> Iterator[None]:
    write_map(topology, time.time() - 2 * MAP_MAX_AGE_S, folder)
    try:
        yield
    finally:
        write_map(topology, time.time(), folder)


@contextmanager
def _killed(broker: KafkaBroker) -> Iterator[None]:
    broker.kill()
    try:
        yield
    finally:
        broker.start()


@contextmanager
def _cut_off(topology: Topology, node: str) -> Iterator[None]:
    device = ("ip", "-n", namespace(topology.name, node), "link", "set", DEVICE)
    run((*device, "down"))
    try:
        yield
    finally:
        run((*device, "up"))


@contextmanager
def _slowed(topology: Topology, node: str) -> Iterator[None]:
    ends = topology.node(node), topology.driver
    rtt_ms = topology.rtt_ms(node, topology.driver_node)
    set_delay(topology.name, *ends, rtt_ms=SLOWER * rtt_ms)
    try:
        yield
    finally:
        set_delay(topology.name, *ends, rtt_ms=rtt_ms)


@contextmanager
def local_query(settings: ChaosSettings, topology: Topology, folder: Path) -> Iterator[LocalQuery]:
    """Provide a run of the query with its page and its topic within the context; nothing runs yet on the nodes."""
    (operator,) = settings.scenario.operators
    metrics_url = operator.metrics_url(topology)
    with ExitStack() as stack:
        page = stack.enter_context(FaultyProxy(metrics_url).serving())
        topic = stack.enter_context(event_topic(settings, topology, folder)) if settings.kafka else None
        settings.write_loop(topology, page.url, folder)
        write_map(topology, time.time(), folder)
        yield LocalQuery(
            spark=open_spark(topology, operator.name),
            metrics_url=metrics_url,
            page=page,
            driver=driver_of(settings, folder, topic),
            topic=topic,
            folder=folder,
        )
