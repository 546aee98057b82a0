"""A run of chaos on Kubernetes from beginning to end; goes on where it was stopped."""

import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path

from testbed.chaos.changing import await_first_batch, play_change
from testbed.chaos.judge import ChaosVerdict
from testbed.chaos.kubernetes.proxy import faulty_api, tls_to
from testbed.chaos.kubernetes.stream import KubernetesStream
from testbed.chaos.plan import PlannedChange, draw_plan
from testbed.chaos.playing import SPARE_S, left_behind
from testbed.chaos.results import Results
from testbed.chaos.setting import ChaosSetting
from testbed.chaos.sources import driver_of
from testbed.cluster.topology import Topology, read_topology
from testbed.demo.kubernetes.stage import KubernetesStage
from testbed.demo.stage import Stage
from testbed.kubernetes import control_groups
from testbed.kubernetes.cluster import KubernetesTestBed, kubelet_nodes, kubernetes_up


def play_chaos_on_kubernetes(setting: ChaosSetting, changes: int, folder: Path, stage: Stage) -> ChaosVerdict:
    """Play the changes that are missing, and write the report; see `testbed.chaos.playing.play_chaos`."""
    results = Results(folder=folder)
    results.claim(asdict(setting))
    topology = read_topology(setting.topology)
    plan = draw_plan(setting.seed, changes, kubelet_nodes(topology), setting.most_replicas, setting.faults)
    missing, part = results.missing(plan), results.next_part()
    left: tuple[str, ...] = ()
    if missing:
        try:
            stage.say(f"bringing a Kubernetes up on {topology.name}")
            with kubernetes_up(topology, source=setting.topology) as cluster:
                while missing:
                    missing, still_there = _play_part(setting, cluster, missing, part, results, stage)
                    left = (*left, *still_there)
                    part += 1
        finally:
            left = (*left, *_left_on_machine(topology))
    return results.report(f"seed {setting.seed} on Kubernetes, {Path(setting.topology).stem}", left)


def _left_on_machine(topology: Topology) -> tuple[str, ...]:
    groups = (str(each) for each in control_groups.existing(topology.name))
    return (*left_behind(topology), *groups)


@contextmanager
def _running(
    setting: ChaosSetting, cluster: KubernetesTestBed, folder: Path, stage: Stage, left: list[str]
) -> Iterator[KubernetesStream]:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    driver = driver_of(setting, folder.resolve(), topic=None)
    scenario = replace(setting.scenario, max_replicas=len(cluster.node_names), period_s=5.0)
    on_cluster = KubernetesStage(cluster=cluster, scenario=scenario, folder=folder.resolve())
    with faulty_api(cluster.api_url, tls_to(cluster.authority)) as proxy:
        stream = KubernetesStream(stage=on_cluster, proxy=proxy, driver=driver)
        try:
            stage.say(f"starting the controller and the query: {folder}")
            on_cluster.set()
            stream.start()
            await_first_batch(stream)
            yield stream
        finally:
            left += stream.stop()
            for bulky in ("sink", "rides", driver.checkpoint.name):
                shutil.rmtree(folder / bulky, ignore_errors=True)


def _play_part(
    setting: ChaosSetting,
    cluster: KubernetesTestBed,
    missing: Sequence[PlannedChange],
    part: int,
    results: Results,
    stage: Stage,
) -> tuple[list[PlannedChange], list[str]]:
    """Play changes while the rows of a query last; return those that are left, and what stayed on the cluster."""
    began_s, todo, left = time.monotonic(), list(missing), list[str]()
    with _running(setting, cluster, results.part(part), stage, left) as stream:
        while todo and time.monotonic() - began_s < setting.part_s - SPARE_S:
            record = play_change(todo[0], part, stream, setting.within_s)
            results.keep(record, stage)
            todo.pop(0)
            if record.converged_s is None:
                break
    return todo, left
