"""Event logs as Spark writes them, for tests of the backtest; the shapes are those of tests/data/event_logs."""

import json
import random
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

STREAMING = "org.apache.spark.sql.streaming.StreamingQueryListener$"
BEGAN_S = 1_795_000_000.0


def stamp(at_s: float) -> str:
    return datetime.fromtimestamp(at_s, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def executor_added(name: str, at_s: float = BEGAN_S, cores: int = 1) -> dict[str, Any]:
    info = {"Host": "10.0.0.1", "Total Cores": cores, "Log Urls": {}, "Attributes": {}}
    return {
        "Event": "SparkListenerExecutorAdded",
        "Timestamp": int(at_s * 1000),
        "Executor ID": name,
        "Executor Info": info,
    }


def executor_removed(name: str, at_s: float = BEGAN_S) -> dict[str, Any]:
    return {
        "Event": "SparkListenerExecutorRemoved",
        "Timestamp": int(at_s * 1000),
        "Executor ID": name,
        "Removed Reason": "killed",
    }


def progress(
    batch: int,
    began_s: float,
    rows: int,
    seconds: float,
    *,
    offsets: tuple[int, int, int],
    name: str | None = "taxi",
    query: str = "q-1",
    run: str = "r-1",
) -> dict[str, Any]:
    source = {
        "description": "KafkaV2[Subscribe[rides]]",
        **{
            key: json.dumps({"rides": {"0": value}})
            for key, value in zip(("startOffset", "endOffset", "latestOffset"), offsets, strict=True)
        },
        "numInputRows": rows,
    }
    return {
        "Event": f"{STREAMING}QueryProgressEvent",
        "progress": {
            "id": query,
            "runId": run,
            "name": name,
            "timestamp": stamp(began_s),
            "batchId": batch,
            "batchDuration": round(seconds * 1000),
            "durationMs": {"addBatch": 1, "triggerExecution": round(seconds * 1000)},
            "stateOperators": [],
            "sources": [source],
            "sink": {"description": "noop", "numOutputRows": -1},
        },
    }


def application(name: str = "job") -> Iterator[dict[str, Any]]:
    yield {"Event": "SparkListenerLogStart", "Spark Version": "4.3.0"}
    yield {
        "Event": "SparkListenerApplicationStart",
        "App Name": name,
        "App ID": "app-1",
        "Timestamp": int(BEGAN_S * 1000),
    }


def day(
    load: Callable[[float], float],
    *,
    duration_s: float,
    replicas: Mapping[float, int],
    trigger_s: float = 10.0,
    fixed_s: float = 0.5,
    row_s: float = 0.004,
    cap: int = 100_000,
    noise: float = 0.02,
) -> Iterator[dict[str, Any]]:
    """Yield the events of a query whose batches take ``fixed_s + rows * row_s / replicas``, and of its executors."""
    rng = random.Random(0)
    yield from application()
    changes = sorted(replicas.items())
    held = batch = 0
    done = offered = 0.0
    at_s = 0.0
    while at_s < duration_s:
        while changes and changes[0][0] <= at_s:
            _, wanted = changes.pop(0)
            yield from (executor_added(str(each), BEGAN_S + at_s) for each in range(held, wanted))
            yield from (executor_removed(str(each), BEGAN_S + at_s) for each in range(wanted, held))
            held = wanted
        begun = int(done)
        rows = min(cap, int(offered) - begun)
        seconds = (fixed_s + rows * row_s / held) * rng.gauss(1, noise)
        yield progress(batch, BEGAN_S + at_s, rows, seconds, offsets=(begun, begun + rows, int(offered)))
        done += rows
        batch += 1
        next_s = max(at_s + seconds, (at_s // trigger_s + 1) * trigger_s)
        offered += sum(load(at_s + (step + 0.5) * (next_s - at_s) / 10) for step in range(10)) * (next_s - at_s) / 10
        at_s = next_s


def lines(events: Iterator[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(each, separators=(",", ":")).encode() + b"\n" for each in events)
