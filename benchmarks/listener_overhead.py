"""What the listener costs: the same query with and without it, in turns, in one Spark session.

Run ``python benchmarks/listener_overhead.py [ROUNDS] [BATCHES]``. It prints JSON: the ratio of the median
batch durations (with / without) of each round, their median, least and greatest, and the same for two runs
without a listener, which tells how much of a ratio is the host's noise.
"""

import json
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path
from urllib.request import urlopen

from gesscale.spark import attach
from testbed.pipeline.capacity import node_capacity
from testbed.pipeline.session import open_session

ROWS_PER_BATCH = 4000
SERVICE_S_PER_ROW = 0.0005  # two tasks of 2000 rows: 1 s of emulated work for a batch
WARM_BATCHES = 2
SCRAPE_INTERVAL_S = 1.0
QUERY_TIMEOUT_S = 120.0


def emulate(frames):
    capacity = node_capacity(SERVICE_S_PER_ROW)
    for frame in frames:
        time.sleep(capacity.pause_s(len(frame), 0.0))
        yield frame


def batch_seconds(spark, folder: Path, batches: int) -> float:
    """Run the query for some batches and return the median of their durations."""
    rows = (
        spark.readStream.format("rate-micro-batch")
        .option("rowsPerBatch", ROWS_PER_BATCH)
        .option("numPartitions", 2)
        .load()
        .mapInPandas(emulate, "timestamp timestamp, value long")
    )
    query = rows.writeStream.format("noop").option("checkpointLocation", str(folder)).start()
    deadline_s = time.monotonic() + QUERY_TIMEOUT_S
    while len(query.recentProgress) < batches + WARM_BATCHES and time.monotonic() < deadline_s:
        time.sleep(0.2)
    seconds = [progress["durationMs"]["triggerExecution"] / 1000 for progress in query.recentProgress]
    query.stop()
    assert len(seconds) >= batches + WARM_BATCHES, f"only {len(seconds)} batches in {QUERY_TIMEOUT_S} s"
    return statistics.median(seconds[WARM_BATCHES : WARM_BATCHES + batches])


def watched_batch_seconds(spark, folder: Path, batches: int) -> float:
    """Return the same with the listener attached and its endpoint scraped once a second."""
    attachment = attach(spark, operator="benchmark", port=0, cap_rows=ROWS_PER_BATCH)
    stopping = threading.Event()

    def scrape() -> None:
        while not stopping.wait(SCRAPE_INTERVAL_S):
            for page in ("batches", "metrics"):
                urlopen(f"{attachment.url}/{page}", timeout=5).read()  # noqa: S310 - our own endpoint

    scraper = threading.Thread(target=scrape, daemon=True)
    scraper.start()
    seconds = batch_seconds(spark, folder, batches)
    with urlopen(f"{attachment.url}/batches", timeout=5) as answer:  # noqa: S310 - our own endpoint
        served = json.load(answer)
    assert len(served["batches"]) >= batches
    assert served["listener_errors"] == 0
    stopping.set()
    scraper.join(timeout=10)
    attachment.close()
    return seconds


def spread(ratios: list[float]) -> dict[str, float]:
    figures = {"median": statistics.median(ratios), "least": min(ratios), "greatest": max(ratios)}
    return {name: round(figure, 4) for name, figure in figures.items()}


def main() -> None:
    rounds, batches = (int(text) for text in (sys.argv[1:] + ["5", "10"][len(sys.argv) - 1 :]))
    spark = open_session("listener-overhead")
    with tempfile.TemporaryDirectory() as scratch:
        batch_seconds(spark, Path(scratch) / "warm", batches)
        overheads, noises, durations = [], [], []
        for number in range(rounds):
            folder = Path(scratch) / str(number)
            before = batch_seconds(spark, folder / "before", batches)
            watched = watched_batch_seconds(spark, folder / "watched", batches)
            after = batch_seconds(spark, folder / "after", batches)
            overheads.append(watched / ((before + after) / 2))
            noises.append(after / before)
            durations.append(watched)
    spark.stop()
    result = {
        "rounds": rounds,
        "batches_per_run": batches,
        "batch_seconds": round(statistics.median(durations), 3),
        "ratio_with_to_without": spread(overheads),
        "ratio_without_to_without": spread(noises),
    }
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
