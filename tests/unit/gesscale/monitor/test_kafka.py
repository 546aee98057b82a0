"""Brokers that cannot be asked; the real one is asked where the pipeline runs on Kafka."""

import socket
from contextlib import closing

import pytest
from edge import FakeMetrics, observe, reading

from gesscale.common.http_client import Address, FetchError
from gesscale.errors import MetricsUnavailableError
from gesscale.monitor.kafka import KafkaInput, KafkaOffsets


def test_a_closed_port_is_said_with_broker_and_topic() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        address = f"127.0.0.1:{listener.getsockname()[1]}"
    with pytest.raises(MetricsUnavailableError) as raised:
        KafkaOffsets(address, "rides").end_offset_rows(0.4)
    assert f"the Kafka broker {address}" in str(raised.value)
    assert "topic 'rides'" in str(raised.value)


def test_a_port_that_accepts_and_never_answers_is_given_up() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(MetricsUnavailableError, match=r"within 0\.4 s"):
            KafkaOffsets(address, "rides").end_offset_rows(0.4)


class Offsets:
    """A topic whose end is where the test says; None: no broker."""

    def __init__(self, *ends: int | None) -> None:
        self.ends = list(ends)

    def end_offset_rows(self, timeout_s: float) -> int:
        end = self.ends.pop(0)
        if end is None:
            message = f"no answer within {timeout_s} s"
            raise MetricsUnavailableError(message)
        return end


def rates(*ends: int | None) -> list[float | None]:
    source = KafkaInput(FakeMetrics([observe(reading(offered=7.0))]), {"op": Offsets(*ends)}, 1.0)
    return [source.observe(10.0 * step).readings["op"].input_rows_per_s for step in range(len(ends))]


def test_the_input_rate_is_the_growth_of_the_end_offsets() -> None:
    # 500 rows more after 10 s are 50 rows/s; the first call has no base and keeps the driver's 7 rows/s.
    assert rates(1000, 1500, 1500) == [7.0, 50.0, 0.0]


def test_without_a_broker_the_drivers_figure_stays_and_the_next_rate_spans_the_gap() -> None:
    # (1800 - 1000) rows / 20 s = 40 rows/s
    assert rates(1000, None, 1800) == [7.0, 7.0, 40.0]


def test_a_broker_that_may_not_be_asked_is_not_connected_to() -> None:
    def refuse(host: str, port: int) -> list[Address]:
        message = f"{host}:{port} is not allowed"
        raise FetchError(message)

    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        listener.settimeout(0.2)
        port = listener.getsockname()[1]
        with pytest.raises(MetricsUnavailableError, match=f"127.0.0.1:{port} is not allowed"):
            KafkaOffsets(f"127.0.0.1:{port}", "rides", refuse).end_offset_rows(0.4)
        with pytest.raises(TimeoutError):
            listener.accept()
