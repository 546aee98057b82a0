"""Operators are read in parallel, each on its own, within one deadline."""

import gc
import threading
import weakref

import pytest

from gesscale.errors import MetricsUnavailableError
from gesscale.model.observation import Batch, MissingReading, OperatorReading
from gesscale.monitor.source import WindowedReader

PERIODS = {"window_s": 10.0, "stale_after_s": 30.0, "history_s": 60.0, "timeout_s": 60.0}
BATCH = Batch(batch_id=1, ended_at_s=999.0, rows=10, seconds=1.0, nodes=("a",))


def test_one_that_hangs_and_one_that_fails_leave_the_third_alone() -> None:
    reader = WindowedReader(**{**PERIODS, "timeout_s": 2.0})
    over = threading.Event()

    def read(operator: str) -> OperatorReading | MissingReading:
        if operator == "hangs":
            over.wait(60)
        if operator == "fails":
            message = "it answered 500"
            raise MetricsUnavailableError(message)
        return reader.read(operator, [BATCH], now_s=1000.0, last_progress_at_s=None)

    seen = reader.observe_each(("hangs", "fails", "works"), read, 1000.0)
    over.set()
    assert set(seen.readings) == {"works"}
    assert seen.missing_readings["hangs"].detail == "no answer within 2 s"
    assert seen.missing_readings["fails"].detail == "it answered 500"


def test_a_defect_is_logged_whole_and_stops_one_operator_only(caplog: pytest.LogCaptureFixture) -> None:
    def read(operator: str) -> MissingReading:
        if operator == "bad":
            raise ZeroDivisionError(operator)
        return MissingReading(operator=operator, detail="fine")

    seen = WindowedReader(**PERIODS).observe_each(("bad", "good"), read, 1000.0)
    assert seen.missing_readings["good"].detail == "fine"
    assert "ZeroDivisionError" in seen.missing_readings["bad"].detail
    assert "Traceback" in caplog.text


def test_a_query_that_has_idled_for_longer_than_the_history_reads_as_idle_not_as_missing() -> None:
    # Its last batch ended an hour ago, a moment ago it said that it idles: no rows, and the replica is still on a.
    long_ago = Batch(batch_id=7, ended_at_s=6400.0, rows=10, seconds=1.0, nodes=("a",))
    reader = WindowedReader(**PERIODS)
    idle = reader.read("op", [long_ago], now_s=10_000.0, last_progress_at_s=9995.0)
    assert isinstance(idle, OperatorReading)
    assert (idle.throughput_rows_per_s, idle.input_rows_per_s, idle.placement) == (0.0, 0.0, ("a",))
    silent = reader.read("op", [long_ago], now_s=10_000.0, last_progress_at_s=None)
    assert isinstance(silent, MissingReading)
    assert silent.stale


def test_an_error_keeps_nothing_of_what_led_to_it() -> None:
    # A frame that its own error keeps alive lives until the garbage collector's rare full run, and an answer with it.
    class Answer:
        """Stands for megabytes."""

    kept: list[weakref.ref[Answer]] = []

    def read(_operator: str) -> MissingReading:
        answer = Answer()
        kept.append(weakref.ref(answer))
        message = "it is no document"
        raise MetricsUnavailableError(message)

    reader = WindowedReader(**PERIODS)
    gc.collect()
    gc.disable()
    try:
        reader.observe_each(("one", "two"), read, 1000.0)
        assert [each() for each in kept] == [None, None]
    finally:
        gc.enable()
