"""Loses nodes of a Kubernetes cluster under a query that needs two replicas, and measures when it has them again."""

import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path

from gesscale.errors import ClusterError
from gesscale.model.observation import Batch
from testbed.chaos.loss_results import LossRecord, add_loss, first_end_s, longest_gap_s
from testbed.chaos.rows import NumberedRides
from testbed.cluster.topology import Topology
from testbed.demo.taxi import TaxiJob
from testbed.kubernetes.cluster import KubernetesTestBed, kubernetes_up
from testbed.live.kubernetes import SPACE, KubernetesApplication
from testbed.live.kubernetes_observer import KubernetesObserver
from testbed.live.node_losses import NodeLoss, bring_back, lose, prepare
from testbed.live.nodes import ProgressLog
from testbed.live.scenario import LiveOperator, Scenario
from testbed.pipeline.replay import write_steady_rides
from testbed.pipeline.sink import FileSink

#: One replica processes less than 20 of these rows per second, so the load needs two.
ROWS_PER_S = 20
_DAY_S = 7200.0
SCENARIO = Scenario(
    topology="kube5",
    operators=(LiveOperator(service_ms_per_row=50.0),),
    max_replicas=2,
    day_s=_DAY_S,
    demand_duration_s=_DAY_S,
    copies=1,
    cap_rows=100,
    period_s=5.0,
)
#: Reasons of the controller's events about a loss.
NOTICES = frozenset({"NodeLeft", "ReplicaLost"})
#: Losses after which no replica must move.
_NONE_LOST = frozenset({NodeLoss.API_AWAY, NodeLoss.DRIVER_DRAINED, NodeLoss.DRIVER_DELETED})
_START_S, _FULL_RATE_S, _RECOVERY_S, _SETTLED_S, _POLL_S = 480.0, 180.0, 240.0, 15.0, 2.0


@dataclass(slots=True)
class LossWatch:
    """Polls the query, and the reports of Kubernetes and the controller on its nodes."""

    observer: KubernetesObserver
    #: When the controller's events about losses were seen, and when nodes were not ready.
    notices_s: dict[tuple[str, int | None], float] = field(default_factory=dict)
    not_ready_s: set[float] = field(default_factory=set)

    @property
    def placement(self) -> tuple[str, ...]:
        """The nodes of the newest order."""
        orders = self.observer.ordered()
        return orders[-1].placement if orders else ()

    def is_full_since(self, at_s: float) -> bool:
        """Return whether two batches since then ran on as many replicas as possible, and the backlog falls."""
        newest, ordered = self.observer.record.ordered[-2:], self.placement
        if len(newest) < 2 or newest[0].began_s < at_s or len(ordered) < SCENARIO.max_replicas:
            return False
        falls = self.is_caught_up or (newest[1].backlog_rows or 0.0) < (newest[0].backlog_rows or 0.0)
        return falls and all(self.worked(each) == {*ordered} for each in newest)

    @property
    def is_caught_up(self) -> bool:
        """Whether the newest batch left no backlog."""
        return _is_caught_up(self.observer.record.ordered[-1])

    def worked(self, batch: Batch) -> frozenset[str]:
        """Return the nodes whose replicas read rows of a batch."""
        return self.observer.worked.get(batch.batch_id, frozenset())

    def wait(self, reached: Callable[[], bool], limit_s: float) -> bool:
        """Poll until something is reached; return whether it was in time."""
        deadline_s = time.monotonic() + limit_s
        while time.monotonic() < deadline_s:
            self.observer.poll()
            with suppress(OSError):
                self._poll_nodes(self.observer.application.cluster)
            if reached():
                return True
            time.sleep(_POLL_S)
        return False

    def _poll_nodes(self, cluster: KubernetesTestBed) -> None:
        if cluster.not_ready():
            self.not_ready_s.add(time.time())
        for event in cluster.api.document(f"/api/v1/namespaces/{SPACE}/events")["items"]:
            if event["reason"] in NOTICES:  # its own times are whole seconds
                self.notices_s.setdefault((event["metadata"]["uid"], event.get("count")), time.time())


def _lost(loss: NodeLoss, nodes: Sequence[str]) -> frozenset[str]:
    """Return the nodes whose replicas must move."""
    return frozenset() if loss in _NONE_LOST else frozenset(nodes)


def _is_caught_up(batch: Batch) -> bool:
    return batch.backlog_rows is not None and batch.backlog_rows < ROWS_PER_S * SCENARIO.trigger_s


@dataclass(frozen=True, slots=True, kw_only=True)
class LossTrial:
    """A running query whose nodes are lost one after the other."""

    application: KubernetesApplication
    program: tuple[str, ...]
    rows: NumberedRides
    watch: LossWatch
    #: How long the API server is away, and a drained node cordoned.
    away_s: float

    def run(self, loss: NodeLoss) -> LossRecord:
        """Lose nodes, bring them back, and wait until the query has recovered.

        Raises
        ------
        ClusterError
            If the loss cannot be injected or undone.
        """
        application, watch = self.application, self.watch
        nodes, at_s = self._victims(loss), time.time()
        lost = _lost(loss, nodes)
        lose(application, loss, nodes)
        match loss:
            case NodeLoss.API_AWAY | NodeLoss.DRAINED:
                watch.wait(lambda: False, at_s + self.away_s - time.time())
            case NodeLoss.DRIVER_DELETED:
                watch.wait(lambda: not application.document("pods", "-l", "spark-role=driver")["items"], _FULL_RATE_S)
            case _:
                watch.wait(lambda: self._full_s(at_s, lost) is not None, _FULL_RATE_S)
        bring_back(application, loss, nodes)
        back_s = time.time()
        if loss is NodeLoss.DRIVER_DELETED:
            application.submit(self.program)
        watch.wait(lambda: watch.is_full_since(back_s + _SETTLED_S) and watch.is_caught_up, _RECOVERY_S)
        full_s = self._full_s(back_s if loss is NodeLoss.DRIVER_DELETED else at_s, lost)
        return self._record(loss, nodes, at_s, full_s)

    def _victims(self, loss: NodeLoss) -> tuple[str, ...]:
        if loss in _NONE_LOST:
            return () if loss is NodeLoss.API_AWAY else (self.application.driver_node,)
        return self.watch.placement if loss is NodeLoss.TWO_DELETED else self.watch.placement[-1:]

    def _full_s(self, at_s: float, lost: frozenset[str]) -> float | None:
        def is_full(batch: Batch) -> bool:
            return batch.began_s >= at_s and len(self.watch.worked(batch) - lost) >= SCENARIO.max_replicas

        return first_end_s(self.watch.observer.record.ordered, is_full)

    def _record(self, loss: NodeLoss, nodes: tuple[str, ...], at_s: float, full_s: float | None) -> LossRecord:
        watch, count, lost = self.watch, self.rows.count(), _lost(loss, nodes)
        batches, orders = watch.observer.record.ordered, watch.observer.ordered()
        caught_s = full_s and first_end_s(batches, lambda each: each.ended_at_s >= full_s and _is_caught_up(each))
        without_s = [each.at_s for each in orders if lost and lost.isdisjoint(each.placement)]

        def after(*moments_s: float | None) -> float | None:
            return min((round(each - at_s, 2) for each in moments_s if each and each > at_s), default=None)

        return LossRecord(
            loss=loss,
            nodes=nodes,
            at_s=round(at_s, 3),
            not_ready_s=after(*watch.not_ready_s),
            noticed_s=after(*watch.notices_s.values()),
            ordered_s=after(*without_s),
            full_rate_s=after(full_s),
            caught_up_s=after(caught_s),
            longest_gap_s=round(longest_gap_s(batches, at_s, caught_s or time.time()), 2),
            recovered=watch.is_full_since(at_s),
            rows=count.distinct + count.missing,
            rows_lost=count.missing,
            rows_duplicated=count.duplicated,
        )


def run_losses(
    losses: Sequence[NodeLoss], topology: Topology, folder: Path, progress: ProgressLog, *, away_s: float
) -> tuple[LossRecord, ...]:
    """Run losses one after the other, with a new cluster after one that failed; records are appended.

    A loss that cannot be injected or undone has no record.

    Raises
    ------
    GesscaleError
        If cluster or query cannot be started; everything is cleaned up.
    """
    remaining, records = list(losses), []
    while remaining:
        query = folder.resolve() / f"query-{datetime.now().astimezone():%m%d-%H%M%S}"
        query.mkdir(parents=True)
        progress.log(f"starting a cluster on {topology.name} and a query: {query}")
        with kubernetes_up(topology) as cluster:
            application = KubernetesApplication(cluster=cluster, scenario=SCENARIO, folder=query)
            with _running(application, away_s, progress.log) as trial:
                while remaining:
                    try:
                        record = trial.run(remaining.pop(0))
                    except ClusterError as error:
                        progress.warn(error.problem)
                        break
                    records.append(record)
                    add_loss(record, folder)
                    progress.log(", ".join(f"{name} {value}" for name, value in asdict(record).items()))
                    if not record.kept:
                        break
        for bulky in ("sink", "rides", f"checkpoint-{application.operator.name}"):
            shutil.rmtree(query / bulky, ignore_errors=True)
    return tuple(records)


@contextmanager
def _running(application: KubernetesApplication, away_s: float, log: Callable[[str], None]) -> Iterator[LossTrial]:
    """Run query and controller within the context; it yields once the query has all replicas."""
    folder, name, scenario = application.folder, application.operator.name, application.scenario
    rides = write_steady_rides(folder / "rides", int(ROWS_PER_S * _DAY_S), interval_s=1 / ROWS_PER_S)
    job = TaxiJob(scenario=scenario, rides=rides)
    checkpoint = folder / f"checkpoint-{name}"
    trial = LossTrial(
        application=application,
        program=(*job.program(application.operator, folder), "--autoscaler", name),
        rows=NumberedRides(checkpoint=checkpoint, sink=FileSink(folder / "sink", ("ride",))),
        watch=LossWatch(KubernetesObserver(application, log)),
        away_s=away_s,
    )
    application.create_resources()
    prepare(application)
    application.patch({"minReplicas": scenario.max_replicas})  # the query starts with all replicas
    with application.controller():
        application.submit(trial.program)
        try:
            if not trial.watch.wait(lambda: trial.watch.is_full_since(0.0), _START_S):
                raise ClusterError("first-batch-timeout", timeout_s=_START_S, folder=str(folder))
            application.patch({"minReplicas": 1})
            yield trial
        finally:
            application.save_state()
