"""Measures which executors hold which partitions of state after a replica is added and removed, on the local cluster.

See docs/evidence/nexmark.md.

One driver runs the cases one after another with fresh checkpoints: two replicas, then a third one, then two again.

    python benchmarks/state_moves.py --cases q5:3:6:on,q5:0:6:on --output moves.json
"""

import argparse
import contextlib
import itertools
import json
import signal
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from emulated.nodes import append_result, driver_document, emulated_nodes

ROWS_PER_S, SERVICE_S, TRIGGER_S = 80, 0.008, 2.0
WARM_BATCHES, SHARE_BATCHES, SETTLED_BATCHES, GONE_BATCHES = 6, 8, 4, 3
WITHIN_S = 90.0
PORT = 9108
FIRST, ADDED = ("home", "near"), "far"
TOPOLOGY = (
    "name: statemoves\nlatency: {file: map.csv, unit: ms, kind: rtt}\ndriver_node: home\nsubnet: 10.77.219.0/24\n"
)


@dataclass(frozen=True, slots=True)
class Case:
    """A query under settings.

    Attributes
    ----------
    query
        Query of Nexmark.
    wait_s
        ``spark.locality.wait``.
    partitions
        Partitions of its state.
    changelog
        Whether its batches upload changes in place of snapshots.
    number
        Number of the run.
    """

    query: str
    wait_s: float
    partitions: int
    changelog: bool
    number: int

    @classmethod
    def read(cls, text: str, number: int) -> "Case":
        """Parse ``QUERY:WAIT_S:PARTITIONS:on|off``."""
        query, wait_s, partitions, changelog = text.split(":")
        return cls(query, float(wait_s), int(partitions), changelog == "on", number)

    @property
    def name(self) -> str:
        """Name of its query in the driver."""
        return f"{self.query}-{self.number}"


def drive(cases: list[Case], folder: Path) -> None:
    """Run the cases in this process, the driver, each until its file marks the end."""
    from gesscale.spark import attach, count_output
    from testbed.nexmark.queries import nexmark_query
    from testbed.nexmark.source import NAME
    from testbed.nexmark.stream import open_nexmark_session

    spark = open_nexmark_session("state-moves", 6)
    attachment = attach(spark, operator="state-moves", port=PORT, cap_rows=400)
    for case in cases:
        wait_s = f"{round(case.wait_s * 1000)}ms"
        spark.sparkContext._jsc.sc().conf().set("spark.locality.wait", wait_s)  # read by every set of tasks
        spark.conf.set("spark.sql.shuffle.partitions", str(case.partitions))
        changelog = "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled"
        spark.conf.set(changelog, str(case.changelog).lower())
        query = nexmark_query(case.query)
        options = {
            "events": 1_000_000, "events_per_s": ROWS_PER_S, "start_at": time.time(), "step_s": 3600.0,
            "rates": str(ROWS_PER_S), "service_s_per_row": SERVICE_S / query.reads, "cap_rows": 400,
            "replicas_url": f"{attachment.url}/replicas",
        }  # fmt: skip
        texts = {name: str(value) for name, value in options.items()}
        events = spark.readStream.format(NAME).options(**texts).load()
        running = (
            count_output(query.result(events))
            .writeStream.queryName(case.name)
            .format("noop")
            .option("checkpointLocation", str(folder / case.name))
            .trigger(processingTime=f"{TRIGGER_S} seconds")
            .start()
        )
        while running.isActive and not (folder / f"{case.name}.over").exists():
            time.sleep(0.2)
        running.stop()
    spark.stop()


def watched(address: str, case: Case, enough: Callable[[list[dict[str, Any]]], bool]) -> list[dict[str, Any]]:
    """Wait for enough batches of a case and return them; after the timeout, those so far."""
    deadline_s = time.monotonic() + WITHIN_S
    batches: list[dict[str, Any]] = []
    while time.monotonic() < deadline_s:
        document = driver_document(address, PORT)
        batches = document.get("batches", []) if document.get("query") == case.name else []
        if enough(batches):
            break
        time.sleep(0.5)
    return batches


def held(batch: dict[str, Any], host: str) -> int | None:
    """Return the partitions of state of a host in a batch; None for a query without state."""
    work = (batch["by_host"] or {}).get(host) or {}
    count = work.get("state_partitions")
    return None if count is None else int(count)


def since(batches: list[dict[str, Any]], at_s: float) -> list[dict[str, Any]]:
    """Return the batches that began after an instant."""
    return [batch for batch in batches if batch["started_at_s"] > at_s]


def moves_per_batch(base_url: str, case: Case) -> float | None:
    """Return the mean number of partitions that changed their executor between batches."""
    (application,) = (each["id"] for each in _rest(base_url, "applications"))
    stages = _rest(base_url, f"applications/{application}/stages?status=complete&details=true")
    by_name: dict[int, list[dict[int, str]]] = {}
    for stage in sorted(stages, key=lambda each: each["stageId"]):
        tasks = {task["index"]: task["executorId"] for task in stage["tasks"].values()}
        batch = f"batch = {stage.get('description', '').rpartition('batch = ')[2]}"
        if stage["numTasks"] == case.partitions and case.name in stage.get("description", ""):
            by_name.setdefault(hash(batch), []).append(tasks)
    rows = [placed for placed in by_name.values() if placed][-SETTLED_BATCHES:]
    moved = [
        sum(one[index] != other.get(index) for index in one)
        for before, after in itertools.pairwise(rows)
        for one, other in zip(before, after, strict=False)
    ]
    return sum(moved) / (len(rows) - 1) if len(rows) > 1 else None


def _rest(base_url: str, path: str) -> list[dict[str, Any]]:
    with urlopen(f"{base_url}/api/v1/{path}", timeout=20) as answer:
        return list(json.load(answer))


def measured(case: Case, spark: Any, address: str) -> dict[str, Any]:
    """Add a replica, remove it, and return the results of its batches."""
    from testbed.cluster import processes

    new = spark.topology.node(ADDED).address
    before = watched(address, case, lambda batches: len(batches) >= WARM_BATCHES)
    started = spark.start_replicas([ADDED])
    spark.await_replicas(started)
    added_at_s = time.time()
    total = sum(held(before[-1], host) or 0 for host in before[-1]["hosts"]) if before else 0
    share = total // 3

    def has_share(batches: list[dict[str, Any]]) -> bool:
        after = since(batches, added_at_s)
        first = next((n for n, batch in enumerate(after) if (held(batch, new) or 0) >= max(1, share)), None)
        return len(after) >= SHARE_BATCHES or (first is not None and len(after) > first + SETTLED_BATCHES)

    seen = watched(address, case, has_share)[len(before) - 1 :]
    after = since(seen, added_at_s)
    moves = moves_per_batch(spark.base_url, case)
    processes.ask(started, signal.SIGPWR)
    removed_at_s = time.time()
    gone = watched(address, case, lambda batches: len(since(batches, removed_at_s)) >= GONE_BATCHES)
    gone = [batch for batch in gone if batch["ended_at_s"] > removed_at_s]
    deadline_s = time.monotonic() + 30
    while time.monotonic() < deadline_s and started[0] in spark.running(started[0].mark.role):
        time.sleep(0.3)
    first = next((n for n, batch in enumerate(after) if (held(batch, new) or 0) >= max(1, share)), None)
    return {
        **asdict(case),
        "parts_in_all": total,
        "held_before": [held(before[-1], host) for host in before[-1]["hosts"]] if before else [],
        "held_by_new": [held(batch, new) for batch in after],
        "held_at_end": {host: held(after[-1], host) for host in after[-1]["hosts"]} if after else {},
        "share_after_batches": None if first is None else first + 1,
        "share_after_s": None if first is None else round(after[first]["ended_at_s"] - added_at_s, 1),
        "moves_per_batch": moves,
        "batch_s": {
            "before": _median(before[-3:]),
            "first_after_add": [batch["seconds"] for batch in after[:2]],
            "settled": _median(after[-SETTLED_BATCHES:]),
            "after_removal": [batch["seconds"] for batch in gone],
        },
        "gap_s": {"add": _gap(seen), "remove": _gap(after[-1:] + gone)},
    }


def _median(batches: list[dict[str, Any]]) -> float | None:
    return round(statistics.median(batch["seconds"] for batch in batches), 3) if batches else None


def _gap(batches: list[dict[str, Any]]) -> float | None:
    ends = [batch["ended_at_s"] for batch in batches]
    return max((round(later - end, 2) for end, later in itertools.pairwise(ends)), default=None)


@contextlib.contextmanager
def cluster(cases: str) -> Iterator[tuple[Any, Path]]:
    """Provide the nodes, the driver and two replicas, and the folder of the run."""
    from testbed.cluster.spark import open_spark

    with emulated_nodes(TOPOLOGY) as (topology, folder):
        spark = open_spark(topology, "state-moves")
        program = (str(Path(__file__).resolve()), "--cases", cases, "--drive", str(folder))
        spark.start_driver(program, environment={"PYTHONPATH": str(Path(__file__).resolve().parents[1])})
        spark.await_driver(120.0)
        spark.await_replicas(spark.start_replicas(FIRST), timeout_s=90.0)
        yield spark, folder


def main() -> None:
    """Measure the cases, or run them as the driver."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", required=True, help="QUERY:WAIT_S:PARTITIONS:on|off, separated by commas")
    parser.add_argument("--output", type=Path, help="file to which results are appended, one line of JSON each")
    parser.add_argument("--drive", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    cases = [Case.read(text, number) for number, text in enumerate(given.cases.split(","))]
    if given.drive is not None:
        drive(cases, given.drive)
        return
    with cluster(given.cases) as (spark, folder):
        for case in cases:
            found = measured(case, spark, spark.topology.driver.address)
            (folder / f"{case.name}.over").touch()
            append_result(found, given.output)


if __name__ == "__main__":
    main()
