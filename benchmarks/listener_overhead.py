"""Measures the overhead of the listener on a running query, with and without it in turns.

Run ``python benchmarks/listener_overhead.py [ROUNDS] [BATCHES]``. A round is four blocks of batches: not
watched, watched, not watched, watched and scraped once a second (both pages). The first batch of a block is
left out. It prints JSON: the ratio of each watched block's median batch duration to the mean of those of the
blocks right before and after it, as median, minimum and maximum over the rounds. "noise" is the same ratio of
blocks that are not watched, each to the one before: the share of a ratio that is due to the host.
"""

import contextlib
import json
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from itertools import pairwise
from urllib.request import urlopen

from gesscale.spark import attach
from testbed.pipeline.operator import node_capacity
from testbed.pipeline.session import open_session

ROWS_PER_BATCH = 4000
SERVICE_S_PER_ROW = 0.0005  # two tasks of 2000 rows: 1 s of emulated work for a batch
WARM_BATCHES = 5
SCRAPE_INTERVAL_S = 1.0
BATCH_TIMEOUT_S = 20.0


def emulate(frames):
    capacity = node_capacity(SERVICE_S_PER_ROW)
    for frame in frames:
        time.sleep(capacity.pause_s(len(frame), 0.0))
        yield frame


def start_query(spark, checkpoint: str):
    rows = (
        spark.readStream.format("rate-micro-batch")
        .option("rowsPerBatch", ROWS_PER_BATCH)
        .option("numPartitions", 2)
        .load()
        .mapInPandas(emulate, "timestamp timestamp, value long")
    )
    return rows.writeStream.format("noop").option("checkpointLocation", checkpoint).start()


def block_seconds(query, batches: int) -> float:
    """Return the median duration of the next batches, without the running one."""
    last = query.lastProgress
    seconds, seen = {}, last["batchId"] + 1 if last else 0
    deadline_s = time.monotonic() + BATCH_TIMEOUT_S * (batches + 1)
    while len(seconds) < batches and time.monotonic() < deadline_s:
        time.sleep(0.3)
        progress = query.lastProgress
        if progress and progress["batchId"] > seen:
            seconds[progress["batchId"]] = progress["durationMs"]["triggerExecution"] / 1000
    assert len(seconds) == batches, f"only {len(seconds)} batches in {BATCH_TIMEOUT_S * (batches + 1)} s"
    return statistics.median(seconds.values())


@contextlib.contextmanager
def watched(spark, *, scraped: bool) -> Iterator[None]:
    attachment = attach(spark, operator="benchmark", port=0, cap_rows=ROWS_PER_BATCH)
    stopping = threading.Event()

    def scrape() -> None:
        while not stopping.wait(SCRAPE_INTERVAL_S):
            for page in ("batches", "metrics"):
                urlopen(f"{attachment.url}/{page}", timeout=5).read()

    scraper = threading.Thread(target=scrape, daemon=True)
    if scraped:
        scraper.start()
    yield
    stopping.set()
    with urlopen(f"{attachment.url}/batches", timeout=5) as answer:
        document = json.load(answer)
    assert document["batches"], "the listener heard of no batch"
    assert document["listener_errors"] == 0
    if scraped:
        scraper.join(timeout=10)
    attachment.close()


def spread(ratios: list[float]) -> dict[str, float]:
    figures = {"median": statistics.median(ratios), "min": min(ratios), "max": max(ratios)}
    return {name: round(figure, 4) for name, figure in figures.items()}


def main() -> None:
    rounds, batches = (int(text) for text in (sys.argv[1:] + ["8", "6"][len(sys.argv) - 1 :]))
    spark = open_session("listener-overhead")
    bare, listened, scraped = [], [], []
    with tempfile.TemporaryDirectory() as checkpoint:
        query = start_query(spark, checkpoint)
        block_seconds(query, WARM_BATCHES)
        bare.append(block_seconds(query, batches))
        for _ in range(rounds):
            for seconds, with_scrapes in ((listened, False), (scraped, True)):
                with watched(spark, scraped=with_scrapes):
                    seconds.append(block_seconds(query, batches))
                bare.append(block_seconds(query, batches))
        query.stop()
        spark.stop()
    around = [(before + after) / 2 for before, after in pairwise(bare)]
    result = {
        "rounds": rounds,
        "batches_per_block": batches,
        "batch_seconds": round(statistics.median(bare), 3),
        "ratio_listener": spread([own / other for own, other in zip(listened, around[::2], strict=True)]),
        "ratio_listener_and_scrapes": spread([own / other for own, other in zip(scraped, around[1::2], strict=True)]),
        "noise": spread([after / before for before, after in pairwise(bare)]),
    }
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
