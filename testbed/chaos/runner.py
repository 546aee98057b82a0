"""Runs chaos on the local cluster or on Kubernetes; resumes an interrupted run."""

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
#: Provides a run of the query in a folder.
_Open = Callable[[Path], AbstractContextManager[ChaosQuery]]


def run_chaos(settings: ChaosSettings, changes: int, folder: Path, progress: ProgressLog) -> ChaosVerdict:
    """Run the missing changes, and write the report.

    Raises
    ------
    GesscaleError
        If the folder contains something else, or nodes or query cannot be started.
    """
    results = Results(folder=folder)
    results.claim(asdict(settings))
    topology = read_topology(settings.topology)
    names = kubelet_nodes(topology) if settings.kubernetes else [node.name for node in topology.nodes]
    plan = draw_plan(settings.seed, changes, names, settings.max_replicas, settings.faults)
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
    """Run a cluster within the context; it yields a function that opens a query on it."""
    if settings.kubernetes:
        progress.log(f"starting a Kubernetes cluster on {topology.name}")
        with kubernetes_up(topology) as cluster:
            yield lambda folder: kubernetes_query(settings, cluster, folder)
        return
    lifecycle.down(topology.name)
    with edge_nodes(topology, progress, DelayBackend.RELAY_C):  # the relay can change delays
        yield lambda folder: local_query(settings, topology, folder)


def _left_behind(topology: Topology) -> list[str]:
    """Return leftovers of a cluster: processes, namespaces, control groups, its state."""
    directory = state_directory(topology.name)
    running = [f"process {each.pid} ({each.mark.role.value})" for each in processes.find(str(directory))]
    groups = map(str, control_groups.find_groups(topology.name))
    state = [str(directory)] if directory.exists() else []
    return [*running, *namespaces.find_namespaces(topology.name), *state, *groups]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """A run of the query, until its rows are used up."""

    settings: ChaosSettings
    opened: _Open
    number: int
    results: Results
    progress: ProgressLog

    def run(self, missing: Sequence[PlannedChange], left: list[str]) -> list[PlannedChange]:
        """Run changes; return the rest, and add leftovers of the query to `left`."""
        began_s, remaining = time.monotonic(), list(missing)
        with self._running(left) as query:
            while remaining and time.monotonic() - began_s < self.settings.part_s - SPARE_S:
                record = query.run_change(remaining.pop(0), self.number, self.settings.within_s)
                self.results.add(record, self.progress)
                if record.converged_s is None:
                    break  # a new query, so that this change does not affect the next one
        return remaining

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
