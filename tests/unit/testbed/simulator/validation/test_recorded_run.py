"""Records of runs: bundled, trimmed and unusable ones."""

import json
import shutil
from pathlib import Path

import pytest
from made_runs import RECORDS
from record_trimming import trim

from gesscale.errors import InputError
from testbed.simulator.validation.recorded_run import read_run


@pytest.fixture
def record(tmp_path: Path) -> Path:
    return Path(shutil.copytree(RECORDS / "demo-1", tmp_path / "mine"))


def test_time_of_a_record_is_zero_at_a_trigger() -> None:
    run = read_run(RECORDS / "demo-1")
    assert (len(run.batches), len(run.orders), run.trigger_s, run.initial) == (90, 8, 2.0, ("edge1",))
    # Batch 5 began after a pause, so at its trigger: a multiple of 2 s plus some milliseconds of Spark.
    began_s = run.batches[5].ended_at_s - run.batches[5].seconds
    assert abs(began_s - 24.0) < 0.02
    first = run.orders[0]
    assert (first.change.add, first.took_s) == (("edge2",), pytest.approx(2.44, abs=0.005))
    assert run.orders[4].took_s is None  # a removal


def test_a_trimmed_record_is_the_same_run(tmp_path: Path) -> None:
    whole = RECORDS / "day_of_gesscale"
    trim(whole, tmp_path / "small")
    before, after = read_run(whole), read_run(tmp_path / "small")
    assert (after.batches, after.orders, after.operator) == (before.batches, before.orders, before.operator)
    assert len((tmp_path / "small" / "decisions.jsonl").read_text().splitlines()) == len(before.orders)
    with pytest.raises(InputError):
        trim(whole, tmp_path / "small")


@pytest.mark.parametrize("file", ["batches.jsonl", "gesscale.yaml", "latency.csv"])
def test_a_missing_file_is_named(record: Path, file: str) -> None:
    (record / file).unlink()
    with pytest.raises(InputError, match=file):
        read_run(record)


def changed(record: Path, line: int, file: str = "batches.jsonl", **figures: object) -> None:
    lines = [json.loads(text) for text in (record / file).read_text().splitlines()]
    lines[line].update(figures)
    (record / file).write_text("".join(json.dumps(each) + "\n" for each in lines))


@pytest.mark.parametrize(
    "figures",
    [
        *({"ended_at_s": value} for value in (1e308, 4.2e9, -1e308, 10**400)),
        {"seconds": 1e308},
        {"trigger_s": 5e-324},
        {"offered_rows_total": 1e308},
    ],
    ids=str,
)
@pytest.mark.parametrize("line", [0, 40, -1])
def test_a_batch_with_impossible_values_is_left_out(record: Path, line: int, figures: dict[str, object]) -> None:
    whole = read_run(record)
    changed(record, line, **figures)
    run = read_run(record)
    assert len(run.batches) == len(whole.batches) - 1
    assert run.workload.total_rows == pytest.approx(whole.workload.total_rows, rel=0.05)


@pytest.mark.parametrize(("line", "ended_at_s"), [(0, 5.0), (0, 1.7e9), (-1, 1.9e9), (40, 4.1e9)])
def test_a_run_with_an_implausible_time_is_rejected(record: Path, line: int, ended_at_s: float) -> None:
    # Steps of 0.5 s over the 56 years in between would take gigabytes.
    changed(record, line, ended_at_s=ended_at_s)
    with pytest.raises(InputError) as caught:
        read_run(record)
    assert caught.value.code == "record-too-long" or "batches.jsonl" in str(caught.value)
