"""A run of chaos from beginning to end, on the local cluster or on Kubernetes; goes on where it was stopped."""

import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from testbed.chaos.local import local_query
from testbed.chaos.on_kubernetes import kubernetes_query
from testbed.chaos.plan import PlannedChange, draw_plan
from testbed.chaos.query import ChaosQuery
from testbed.chaos.results import ChaosVerdict, Results
from testbed.chaos.settings import ChaosSettings
from testbed.cluster import lifecycle, namespaces, processes
from testbed.cluster.delay_backend import DelayBackend
from testbed.cluster.state import state_directory
from testbed.cluster.topology import Topology, read_topology
from testbed.kubernetes import control_groups
from testbed.kubernetes.cluster import kubelet_nodes, kubernetes_up
from testbed.live.nodes import ProgressLog, edge_nodes

SPARE_S = 300.0
#: Has what a run of the query in a folder needs.
_Open = Callable[[Path], AbstractContextManager[ChaosQuery]]


def run_chaos(settings: ChaosSettings, changes: int, folder: Path, progress: ProgressLog) -> ChaosVerdict:
    """Play the changes that are missing, and write the report.

    Raises
    ------
    GesscaleError
        If the folder holds something else, or nodes or query cannot be started.
    """
    results = Results(folder=folder)
    results.claim(asdict(settings))
    topology = read_topology(settings.topology)
    names = kubelet_nodes(topology) if settings.kubernetes else [node.name for node in topology.nodes]
    plan = draw_plan(settings.seed, changes, names, settings.most_replicas, settings.faults)
    missing, part = results.missing(plan), results.next_part()
    left: list[str] = []
    if missing:
        try:
            with _cluster(settings, topology, progress) as opened:
                while missing:
                    run = _Part(settings=settings, opened=opened, number=part, results=results, progress=progress)
                    missing = run.run(missing, left)
                    part += 1
        finally:
            left += _left_behind(topology)
    where = "Kubernetes, " if settings.kubernetes else ""
    return results.report(f"seed {settings.seed} on {where}{Path(settings.topology).stem}", left)


@contextmanager
def _cluster(settings: ChaosSettings, topology: Topology, progress: ProgressLog) -> Iterator[_Open]:
    """Have a cluster; it gives what opens a query on it."""
    if settings.kubernetes:
        progress.log(f"bringing a Kubernetes up on {topology.name}")
        with kubernetes_up(topology) as cluster:
            yield lambda folder: kubernetes_query(settings, cluster, folder)
        return
    lifecycle.down(topology.name)
    with edge_nodes(topology, progress, DelayBackend.RELAY_C):  # it takes new delays
        yield lambda folder: local_query(settings, topology, folder)


def _left_behind(topology: Topology) -> list[str]:
    """Return what is still there of a cluster: processes, namespaces, control groups, its state."""
    directory = state_directory(topology.name)
    running = [f"process {each.pid} ({each.mark.role.value})" for each in processes.find(str(directory))]
    groups = map(str, control_groups.existing(topology.name))
    state = [str(directory)] if directory.exists() else []
    return [*running, *namespaces.existing(topology.name), *state, *groups]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """A run of the query, while its rows last."""

    settings: ChaosSettings
    opened: _Open
    number: int
    results: Results
    progress: ProgressLog

    def run(self, missing: Sequence[PlannedChange], left: list[str]) -> list[PlannedChange]:
        """Play changes; return those that are to do, and add what stays of the query to `left`."""
        began_s, to_do = time.monotonic(), list(missing)
        with self._running(left) as query:
            while to_do and time.monotonic() - began_s < self.settings.part_s - SPARE_S:
                record = query.run_change(to_do.pop(0), self.number, self.settings.within_s)
                self.results.keep(record, self.progress)
                if record.converged_s is None:
                    break  # a new query, so that one change does not spoil the next
        return to_do

    @contextmanager
    def _running(self, left: list[str]) -> Iterator[ChaosQuery]:
        folder = self.results.part(self.number).resolve()
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        with self.opened(folder) as query:
            try:
                self.progress.log(f"starting the query and its controller: {folder}")
                query.start()
                query.await_first_batch()
                yield query
            finally:
                left += query.stop()
                for bulky in ("sink", "rides", query.driver.checkpoint.name):
                    shutil.rmtree(folder / bulky, ignore_errors=True)
