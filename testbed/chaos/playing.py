"""A run of chaos on the local cluster from beginning to end; goes on where it was stopped."""

import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path

from testbed.chaos.changing import await_first_batch, play_change
from testbed.chaos.judge import ChaosVerdict
from testbed.chaos.plan import PlannedChange, draw_plan
from testbed.chaos.proxy import faulty_page
from testbed.chaos.results import Results
from testbed.chaos.setting import ChaosSetting, write_map
from testbed.chaos.sources import driver_of, event_topic
from testbed.chaos.stream import ChaosStream
from testbed.cluster import lifecycle, namespaces, processes
from testbed.cluster.spark import open_spark
from testbed.cluster.state import state_directory
from testbed.cluster.topology import Topology, read_topology
from testbed.demo.query import await_query
from testbed.demo.stage import Stage, edge_nodes

SPARE_S = 300.0


def play_chaos(setting: ChaosSetting, changes: int, folder: Path, stage: Stage) -> ChaosVerdict:
    """Play the changes that are missing, and write the report.

    Parameters
    ----------
    setting
        What is played.
    changes
        How many in all.
    folder
        It is empty, or holds a run of the same setting.
    stage
        Prints what happens.

    Returns
    -------
    ChaosVerdict
        On all changes, those of earlier commands included.

    Raises
    ------
    GesscaleError
        Where the folder holds something else, or nodes or query cannot be started.
    """
    results = Results(folder=folder)
    results.claim(asdict(setting))
    topology = read_topology(setting.topology)
    names = [node.name for node in topology.nodes]
    plan = draw_plan(setting.seed, changes, names, setting.most_replicas, setting.faults)
    missing, part = results.missing(plan), results.next_part()
    left: tuple[str, ...] = ()
    if missing:
        lifecycle.down(topology.name)
        try:
            with edge_nodes(topology, setting.topology, stage):
                while missing:
                    missing = _play_part(setting, topology, missing, part, results, stage)
                    part += 1
        finally:
            left = left_behind(topology)
    return results.report(f"seed {setting.seed} on {Path(setting.topology).stem}", left)


def left_behind(topology: Topology) -> tuple[str, ...]:
    """Return what is still there of a cluster: processes, namespaces, its state."""
    directory = state_directory(topology.name)
    running = (f"process {each.pid} ({each.mark.role.value})" for each in processes.find(str(directory)))
    state = (str(directory),) if directory.exists() else ()
    return (*running, *namespaces.existing(topology.name), *state)


@contextmanager
def _running(setting: ChaosSetting, topology: Topology, folder: Path, stage: Stage) -> Iterator[ChaosStream]:
    """Have a query with a replica, and its controller, for as long as the context lasts."""
    (operator,) = setting.scenario.operators
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    spark = open_spark(topology, operator.name)
    metrics_url = operator.metrics_url(topology)
    with ExitStack() as stack:
        page = stack.enter_context(faulty_page(metrics_url))
        topic = stack.enter_context(event_topic(setting, topology, folder)) if setting.kafka else None
        setting.write_loop(topology, page.url, folder)
        write_map(topology, time.time(), folder)
        stream = ChaosStream(
            spark=spark,
            page=page,
            driver=driver_of(setting, folder, topic),
            topic=topic,
            folder=folder,
            network_timeout_s=setting.network_timeout_s,
        )
        try:
            stage.say(f"starting the query and its controller: {folder}")
            stream.start_driver()
            await_query(spark, metrics_url)
            stream.order(stream.nodes())
            stream.start_controller()
            await_first_batch(stream)
            yield stream
        finally:
            stream.stop()
            for bulky in ("sink", "rides", stream.driver.checkpoint.name):
                shutil.rmtree(folder / bulky, ignore_errors=True)


def _play_part(
    setting: ChaosSetting,
    topology: Topology,
    missing: Sequence[PlannedChange],
    part: int,
    results: Results,
    stage: Stage,
) -> list[PlannedChange]:
    """Play changes while the rows of a query last; return those that are left."""
    began_s = time.monotonic()
    left = list(missing)
    with _running(setting, topology, results.part(part), stage) as stream:
        while left and time.monotonic() - began_s < setting.part_s - SPARE_S:
            record = play_change(left[0], part, stream, setting.within_s)
            results.keep(record, stage)
            left.pop(0)
            if record.converged_s is None:
                break  # a new query, so that one change does not spoil the next
    return left
