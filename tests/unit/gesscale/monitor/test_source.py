"""Operators are read in parallel within one deadline."""

import gc
import threading
import weakref
from dataclasses import replace

import pytest
from refusals import logged_codes

from gesscale.errors import MetricsUnavailableError
from gesscale.model.observation import Batch, MissingReading, OperatorReading
from gesscale.monitor.source import WindowedReader

PERIODS = {"window_s": 10.0, "stale_after_s": 30.0, "history_s": 60.0, "timeout_s": 60.0}
BATCH = Batch(batch_id=1, ended_at_s=999.0, rows=10, seconds=1.0, nodes=("a",))


def test_a_timeout_and_a_failure_do_not_affect_other_operators() -> None:
    reader = WindowedReader(**{**PERIODS, "timeout_s": 2.0})
    over = threading.Event()

    def read(operator: str) -> OperatorReading | MissingReading:
        if operator == "hangs":
            over.wait(60)
        if operator == "fails":
            raise MetricsUnavailableError("metrics-unreachable", url="http://fails", cause="500")
        return reader.read(operator, [BATCH], now_s=1000.0, last_progress_at_s=None)

    seen = reader.observe_each(("hangs", "fails", "works"), read, 1000.0)
    over.set()
    assert set(seen.readings) == {"works"}
    hangs, fails = (seen.missing_readings[name] for name in ("hangs", "fails"))
    assert (hangs.code, hangs.fields) == ("metrics-timeout", {"timeout_s": 2.0})
    assert (fails.code, fails.fields["cause"]) == ("metrics-unreachable", "500")


def test_an_unexpected_error_is_logged_and_affects_one_operator(caplog: pytest.LogCaptureFixture) -> None:
    def read(operator: str) -> MissingReading:
        if operator == "bad":
            raise ZeroDivisionError(operator)
        return MissingReading(operator=operator, code="batches-missing")

    seen = WindowedReader(**PERIODS).observe_each(("bad", "good"), read, 1000.0)
    assert seen.missing_readings["good"].code == "batches-missing"
    assert seen.missing_readings["bad"].code == "metrics-read-failed"
    assert "ZeroDivisionError" in seen.missing_readings["bad"].fields["cause"]
    assert logged_codes(caplog.text) == ["metrics-read-failed"]
    assert "Traceback" in caplog.text


def test_a_query_idle_for_longer_than_the_history_reads_as_idle() -> None:
    # Its last batch ended an hour ago, and it has just reported that it is idle: no rows, the replica still on a.
    long_ago = Batch(batch_id=7, ended_at_s=6400.0, rows=10, seconds=1.0, nodes=("a",))
    reader = WindowedReader(**PERIODS)
    idle = reader.read("op", [long_ago], now_s=10_000.0, last_progress_at_s=9995.0)
    assert isinstance(idle, OperatorReading)
    assert (idle.throughput_rows_per_s, idle.input_rows_per_s, idle.placement) == (0.0, 0.0, ("a",))
    silent = reader.read("op", [long_ago], now_s=10_000.0, last_progress_at_s=None)
    assert isinstance(silent, MissingReading)
    assert silent.stale


def test_the_newest_ten_batches_are_read_however_old_they_are() -> None:
    # Twelve batches of 10 min, 20 to 140 min ago but one; the history is a minute.
    hours = [replace(BATCH, batch_id=number, ended_at_s=600.0 * number, seconds=600.0) for number in range(1, 13)]
    read = WindowedReader(**PERIODS).read("op", hours, now_s=7800.0, last_progress_at_s=None)
    assert isinstance(read, OperatorReading)
    assert [batch.batch_id for batch in read.batches] == list(range(3, 13))


def test_an_error_does_not_keep_the_response_alive() -> None:
    # A frame that its own error keeps alive lives until a rare full garbage collection, with the response in it.
    class Response:
        """Stands for megabytes."""

    kept: list[weakref.ref[Response]] = []

    def read(_operator: str) -> MissingReading:
        response = Response()
        kept.append(weakref.ref(response))
        raise MetricsUnavailableError("metrics-missing")

    reader = WindowedReader(**PERIODS)
    gc.collect()
    gc.disable()
    try:
        reader.observe_each(("one", "two"), read, 1000.0)
        assert [each() for each in kept] == [None, None]
    finally:
        gc.enable()
