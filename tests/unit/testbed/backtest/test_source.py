"""The query of a backtest: what its log holds, and which logs are refused."""

import itertools
from pathlib import Path

import pytest

from gesscale.errors import InputError
from testbed.backtest.law import learn
from testbed.backtest.play import cap_warnings
from testbed.backtest.source import read_logs
from tests.event_logs import application, day, executor_added, lines, progress
from tests.refusals import refused

LOGS = Path(__file__).parents[3] / "data" / "event_logs"


def written(file: Path, *events: object) -> Path:
    file.write_bytes(lines(itertools.chain(*events)))  # type: ignore[arg-type]
    return file


def short_day(**settings: object) -> object:
    return day(lambda _: 100.0, duration_s=300, replicas={0: 2, 150: 3}, **settings)  # type: ignore[arg-type]


def test_batches_executors_load_and_trigger_are_read(tmp_path: Path) -> None:
    query, problems = read_logs(written(tmp_path / "log", short_day()), None)
    assert not problems
    assert query.name == "taxi"
    assert query.trigger_s == 10.0
    assert [len(batch.nodes) for batch in query.batches] == [2] * 15 + [3] * 15
    assert query.offered.rows[-1] == 29_000  # 100 rows/s until the last batch began, 290 s after the first


def test_a_cap_is_seen_in_equal_batches_that_leave_rows(tmp_path: Path) -> None:
    log = written(tmp_path / "log", short_day(cap=300))
    query, _ = read_logs(log, None)
    assert query.cap is not None
    assert query.cap.rows == 300
    (warning,) = cap_warnings(query, 8)
    assert warning.code == "backtest-cap-limits"
    # 300 rows each 10 s are 30 rows/s of the 100 that come; 1.2 * 100 * 10 leave room
    assert (warning.fields["rows_per_s"], warning.fields["needed_rows"]) == (30, 1200)
    query, _ = read_logs(log, None, cap_rows=1200)
    assert not cap_warnings(query, 8)


def test_queries_are_chosen_by_name_or_id(tmp_path: Path) -> None:
    batches = [
        progress(
            number,
            1000.0 + 10 * number,
            5,
            1.0,
            offsets=(5 * number, 5 * number + 5, 5 * number + 5),
            query=query,
            run=query,
        )
        for number in range(20)
        for query in ("q-1", "q-2")
    ]
    log = written(tmp_path / "log", application(), [executor_added("1")], batches)
    with refused("backtest-query-ambiguous", InputError, known=["taxi (q-1)", "taxi (q-2)"]):
        read_logs(log, "taxi")
    with refused("backtest-query-unknown", InputError, query="q-3"):
        read_logs(log, "q-3")
    query, problems = read_logs(log, "q-2")
    assert len(query.batches) == 20
    assert [each.code for each in problems] == ["backtest-executors-shared"]


def test_logs_without_a_query_are_refused(tmp_path: Path) -> None:
    with refused("event-log-without-queries", InputError, applications=["job app-1"]):
        read_logs(written(tmp_path / "batch", application()), None)
    foreign = tmp_path / "foreign"
    foreign.write_text("2026-11-28 INFO started\n" * 30)
    with refused("event-log-foreign", InputError, source=str(foreign)):
        read_logs(foreign, None)


def test_a_folder_keeps_what_is_a_log(tmp_path: Path) -> None:
    written(tmp_path / "app-1", short_day())
    (tmp_path / "notes.txt").write_text("no events\n")
    _, problems = read_logs(tmp_path, None)
    assert [each.code for each in problems] == ["event-log-foreign"]


def test_a_truncated_log_is_used_up_to_there(tmp_path: Path) -> None:
    log = written(tmp_path / "log", short_day())
    log.write_bytes(log.read_bytes()[:-40])
    query, problems = read_logs(log, None)
    assert len(query.batches) == 29  # of 30: the last event is cut
    assert "event-log-truncated" in [each.code for each in problems]


def test_what_the_log_does_not_show_is_asked_for(tmp_path: Path) -> None:
    late = written(tmp_path / "late", short_day(row_s=0.5, cap=100))  # 25 s a batch: no batch waits for a trigger
    with refused("backtest-trigger-unknown", InputError):
        read_logs(late, None)
    assert read_logs(late, None, trigger_s=10.0)[0].trigger_s == 10.0
    alone = written(
        tmp_path / "alone", application(), [progress(n, 10.0 * n, 1, 1.0, offsets=(n, n + 1, n + 1)) for n in range(3)]
    )
    with refused("backtest-executors-missing", InputError):
        read_logs(alone, None)


@pytest.mark.parametrize("log", ["spark-4.3", "spark-3.5.lz4"])
def test_logs_of_real_spark(log: str) -> None:
    query, problems = read_logs(LOGS / log, None)
    assert not problems
    assert query.name == "rides"
    assert query.trigger_s == 2.0
    assert len(query.batches) == 41
    assert query.batches[-1].backlog_rows == 0
    assert [each.code for each in learn(query.batches, log).left_open] == ["backtest-replicas-constant"]


def test_executors_that_real_spark_lost() -> None:
    query, problems = read_logs(LOGS / "spark-4.3-changed.gz", None, trigger_s=2.0)
    assert not problems
    assert [len(batch.nodes) for batch in query.batches] == [3] * 13 + [1] * 2


def test_a_wrong_time_is_refused_or_warned_of(tmp_path: Path) -> None:
    events = [*short_day()]  # type: ignore[misc]
    events[-1]["progress"]["timestamp"] = "9999-01-01T00:00:00.000Z"
    with refused("load-too-long", InputError, source="taxi"):
        read_logs(written(tmp_path / "end", events), None)
    events = [*short_day()]  # type: ignore[misc]
    events[5]["progress"]["timestamp"] = "1970-01-01T00:00:00.000Z"
    query, problems = read_logs(written(tmp_path / "middle", events), None)
    assert len(query.batches) == 29  # of 30
    assert "batch-misordered" in [each.code for each in problems]


def test_damaged_events_are_counted(tmp_path: Path) -> None:
    log = written(tmp_path / "log", short_day())
    deep = (
        b'{"Event":"org.apache.spark.sql.streaming.StreamingQueryListener$QueryProgressEvent","progress":' + b"[" * 9999
    )
    log.write_bytes(log.read_bytes() + deep + b"\n" + b"no event\n")
    query, problems = read_logs(log, None)
    assert len(query.batches) == 30
    assert [(each.code, each.fields["count"]) for each in problems] == [("event-log-lines-invalid", 2)]
