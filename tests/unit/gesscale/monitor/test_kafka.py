"""Unreachable brokers; the tests of the pipeline on Kafka use a real one."""

import socket
from contextlib import closing

import pytest
from edge import FakeMetrics, observe, reading
from refusals import refused

from gesscale.common.http_client import Address, FetchError
from gesscale.errors import MetricsUnavailableError
from gesscale.monitor.kafka import KafkaInput, KafkaOffsets

HOST = "localhost"


def test_a_closed_port_is_reported_with_broker_and_topic() -> None:
    with closing(socket.create_server((HOST, 0))) as listener:
        address = f"{HOST}:{listener.getsockname()[1]}"
    with refused("kafka-broker-timeout", MetricsUnavailableError, broker=address, topic="rides"):
        KafkaOffsets(address, "rides").end_offset_rows(0.4)


def test_a_silent_broker_times_out() -> None:
    with closing(socket.create_server((HOST, 0))) as silent:
        address = f"{HOST}:{silent.getsockname()[1]}"
        with refused("kafka-broker-timeout", MetricsUnavailableError, timeout_s=0.4):
            KafkaOffsets(address, "rides").end_offset_rows(0.4)


class Offsets:
    """A topic with the end offsets of the test; None: no broker."""

    def __init__(self, *ends: int | None) -> None:
        self.ends = list(ends)

    def end_offset_rows(self, timeout_s: float) -> int:
        end = self.ends.pop(0)
        if end is None:
            raise MetricsUnavailableError("kafka-broker-timeout", timeout_s=timeout_s)
        return end


def rates(*ends: int | None) -> list[float | None]:
    source = KafkaInput(FakeMetrics([observe(reading(offered=7.0))]), {"op": Offsets(*ends)}, 1.0)
    return [source.observe(10.0 * step).readings["op"].input_rows_per_s for step in range(len(ends))]


def test_the_input_rate_is_the_growth_of_the_end_offsets() -> None:
    # 500 rows more after 10 s are 50 rows/s; the first call has no base and keeps the driver's 7 rows/s.
    assert rates(1000, 1500, 1500) == [7.0, 50.0, 0.0]


def test_without_a_broker_the_driver_s_figure_is_used() -> None:
    # (1800 - 1000) rows / 20 s = 40 rows/s
    assert rates(1000, None, 1800) == [7.0, 7.0, 40.0]


def test_a_forbidden_broker_is_not_connected_to() -> None:
    def refuse(host: str, port: int) -> list[Address]:
        message = f"{host}:{port} is forbidden"
        raise FetchError(message)

    with closing(socket.create_server((HOST, 0))) as listener:
        listener.settimeout(0.2)
        port = listener.getsockname()[1]
        with refused("kafka-broker-unresolved", MetricsUnavailableError, broker=f"{HOST}:{port}") as raised:
            KafkaOffsets(f"{HOST}:{port}", "rides", refuse).end_offset_rows(0.4)
        assert "forbidden" in raised.value.fields["cause"]
        with pytest.raises(TimeoutError):
            listener.accept()
