"""A run of chaos from beginning to end; goes on where it was stopped.

RESULTS/chaos.json      what is played
RESULTS/changes.jsonl   a line for each change, as soon as it is over
RESULTS/parts/N/        a run of the query: logs, the loop's settings, knowledge and steps
RESULTS/chaos.md        the report
"""

import json
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from gesscale.errors import InputError
from testbed.chaos.controller import removed_on_doubt
from testbed.chaos.faults import strike
from testbed.chaos.judge import ChangeRecord, ChaosVerdict, judge, markdown, read_records
from testbed.chaos.plan import PlannedChange, draw_plan
from testbed.chaos.proxy import faulty_page
from testbed.chaos.setting import STEPS, ChaosSetting, write_map, write_wanted
from testbed.chaos.stream import ChaosStream, wait_s
from testbed.cluster import lifecycle, namespaces, processes
from testbed.cluster.spark import open_spark
from testbed.cluster.state import state_directory
from testbed.cluster.topology import Topology, read_topology
from testbed.demo.query import await_query, stream_program
from testbed.demo.stage import Stage, edge_nodes

CHANGES, REPORT, SETTING = "changes.jsonl", "chaos.md", "chaos.json"
_POLL_S = 0.3
_SPARE_S = 300.0
_START_S = 2.0


def play_chaos(setting: ChaosSetting, changes: int, results: Path, stage: Stage) -> ChaosVerdict:
    """Play the changes that are missing, and write the report.

    Parameters
    ----------
    setting
        What is played.
    changes
        How many in all.
    results
        A folder that is empty, or holds a run of the same setting.
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
    _claim(setting, results)
    topology = read_topology(setting.topology)
    plan = draw_plan(setting.seed, changes, [node.name for node in topology.nodes], setting.most_replicas)
    done = read_records(results / CHANGES)
    missing = [change for change in plan if change.number not in {record.number for record in done}]
    part = max((record.part for record in done), default=-1) + 1
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
    records = read_records(results / CHANGES)
    verdict = judge(records, left)
    title = f"Chaos: {len(records)} changes of seed {setting.seed} on {Path(setting.topology).stem}"
    (results / REPORT).write_text(markdown(title, records, verdict))
    return verdict


def left_behind(topology: Topology) -> tuple[str, ...]:
    """Return what is still there of a cluster: processes, namespaces, its state."""
    directory = state_directory(topology.name)
    running = (f"process {each.pid} ({each.mark.role.value})" for each in processes.find(str(directory)))
    state = (str(directory),) if directory.exists() else ()
    return (*running, *namespaces.existing(topology.name), *state)


def _claim(setting: ChaosSetting, results: Path) -> None:
    wanted, file = asdict(setting), results / SETTING
    try:
        results.mkdir(parents=True, exist_ok=True)
        found = json.loads(file.read_text()) if file.exists() else None
        strangers = sorted(path.name for path in results.iterdir()) if found is None else []
    except (OSError, ValueError) as error:
        message = f"results {results}: {error}; name a folder that can be written"
        raise InputError(message) from error
    if strangers:
        message = f"results {results}: expected an empty folder or one of chaos, this holds {', '.join(strangers[:3])}"
        raise InputError(message)
    if found not in (None, wanted):
        message = (
            f"results {results}: expected a run of {wanted}, this is one of {found}; name another folder"
        )
        raise InputError(message)
    file.write_text(json.dumps(wanted, indent=2) + "\n")


@contextmanager
def _running(setting: ChaosSetting, topology: Topology, folder: Path, stage: Stage) -> Iterator[ChaosStream]:
    """Have a query with a replica, and its controller, for as long as the context lasts."""
    scenario = setting.scenario
    (operator,) = scenario.operators
    shutil.rmtree(folder, ignore_errors=True)
    rides = setting.write_rides(folder / "rides")
    options = {
        **scenario.stream_options(operator, folder),
        **scenario.replay_options(rides),
        "start-at-s": time.time() + _START_S,
    }
    spark = open_spark(topology, operator.name)
    with faulty_page(operator.metrics_url(topology)) as page:
        setting.write_loop(topology, page.url, folder)
        write_map(topology, time.time(), folder)
        stream = ChaosStream(spark=spark, page=page, options=options, folder=folder)
        try:
            stage.say(f"starting the query and its controller: {folder}")
            spark.start_driver(stream_program(options))
            await_query(spark, operator.metrics_url(topology))
            write_wanted(operator.name, stream.nodes(), folder)
            stream.start_controller()
            yield stream
        finally:
            stream.stop()
            for bulky in ("sink", "rides", f"checkpoint-{operator.name}"):
                shutil.rmtree(folder / bulky, ignore_errors=True)


def _play_part(
    setting: ChaosSetting,
    topology: Topology,
    missing: Sequence[PlannedChange],
    part: int,
    results: Path,
    stage: Stage,
) -> list[PlannedChange]:
    """Play changes while the rows of a query last; return those that are left."""
    began_s = time.monotonic()
    left = list(missing)
    with _running(setting, topology, results / "parts" / str(part), stage) as stream:
        while left and time.monotonic() - began_s < setting.part_s - _SPARE_S:
            record = _play_change(setting, left[0], part, stream)
            with (results / CHANGES).open("a") as file:
                file.write(record.line())
            stage.say(_in_words(record))
            left.pop(0)
            if record.converged_s is None:
                break  # a new query, so that one change does not spoil the next
    return left


def _play_change(
    setting: ChaosSetting, change: PlannedChange, part: int, stream: ChaosStream
) -> ChangeRecord:
    before = stream.nodes()
    tasks, fetches = stream.lost_tasks()
    failed, ended = stream.failed_batches, stream.controller_ended
    steps = stream.folder / STEPS
    seen = steps.stat().st_size if steps.exists() else 0
    ordered_s, at_s = time.monotonic(), time.time()
    write_wanted(stream.spark.operator, change.placement, stream.folder)
    wait_s(change.delay_s)
    target = strike(change, before, stream)
    struck_s = time.monotonic()
    converged_s = _converge(change.placement, stream, struck_s, setting.within_s)
    count = stream.count()
    tasks_now, fetches_now = stream.lost_tasks()
    with steps.open() as file:
        file.seek(seen)
        said = file.read()
    return ChangeRecord(
        number=change.number,
        part=part,
        fault=change.fault,
        target=target,
        before=before,
        placement=change.placement,
        at_s=round(at_s, 3),
        fault_s=round(struck_s - ordered_s, 2),
        converged_s=converged_s,
        rows=count.distinct + count.missing,
        rows_lost=count.missing,
        rows_doubled=count.duplicated,
        failed_batches=stream.failed_batches - failed,
        lost_tasks=tasks_now - tasks,
        fetch_failures=fetches_now - fetches,
        removed_on_doubt=removed_on_doubt(said),
        controller_ended=stream.controller_ended - ended,
    )


def _converge(placement: Sequence[str], stream: ChaosStream, since_s: float, within_s: float) -> float | None:
    """Wait until the replicas are as ordered and a later batch is committed; return the seconds, None if too many."""
    arrived_at: int | None = None
    while (waited_s := time.monotonic() - since_s) < within_s:
        stream.keep_running()
        if not stream.is_on(placement):
            arrived_at = None
        elif arrived_at is None:
            arrived_at = stream.committed()
        elif stream.committed() > arrived_at:
            return round(waited_s, 2)
        time.sleep(_POLL_S)
    return None


def _in_words(record: ChangeRecord) -> str:
    converged = "NOT CONVERGED" if record.converged_s is None else f"converged in {record.converged_s:.1f} s"
    return (
        f"change {record.number}: {','.join(record.before)} -> {','.join(record.placement)}; {record.fault.value}"
        f" {record.target}; {converged}; {record.rows} rows, {record.rows_lost} lost, {record.rows_doubled} doubled"
    )
