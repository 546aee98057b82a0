"""Unreachable brokers; the tests of the pipeline on Kafka use a real one."""

import socket
from contextlib import closing

import pytest
from edge import FakeMetrics, observe, reading
from refusals import logged_codes, refused

from gesscale.common.http_client import Address, FetchError
from gesscale.errors import MetricsUnavailableError
from gesscale.model.observation import Batch, OperatorReading
from gesscale.model.offered import OfferedPoint
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

    topic = "rides"

    def __init__(self, *ends: int | None) -> None:
        self.ends = list(ends)

    def end_offset_rows(self, timeout_s: float) -> int:
        end = self.ends.pop(0)
        if end is None:
            raise MetricsUnavailableError("kafka-broker-timeout", timeout_s=timeout_s)
        return end


def test_each_reading_is_joined_to_the_end_of_its_topic(caplog: pytest.LogCaptureFixture) -> None:
    # A batch of 2 s began at 998 s: the driver counted 700 rows of the query by then, and 4700 of the topic.
    def read(number: int, began_s: float, rows: float) -> OperatorReading:
        newest = Batch(
            batch_id=number,
            ended_at_s=began_s + 2.0,
            rows=100,
            seconds=2.0,
            nodes=("hub",),
            offered_rows_total=rows,
            end_offset_rows_total=4000.0 + rows,
        )
        return reading(backlog=50.0, offered=7.0, batches=(newest,), offered_points=(OfferedPoint(began_s, rows),))

    steps = [observe(read(8, 970.0, 500.0)), observe(read(9, 998.0, 700.0))]
    clock_s = iter([0.0, 0.5, 0.0, 0.0, 0.5, 0.0, 0.5])  # in the second step there is no answer
    source = KafkaInput(
        FakeMetrics(steps),
        {"op": Offsets(4600, None, 5300, 4000)},
        timeout_s=1.0,
        window_s=60.0,
        monotonic_s=lambda: next(clock_s),
    )
    found = [source.observe(at_s).readings["op"] for at_s in (980.0, 1000.0, 1005.0, 1010.0)]
    assert [each.backlog_rows for each in found] == [50.0, 50.0, 650.0, 50.0]
    # The answer came half a second after the step began: 600 rows more by 1005.5 s, in 7.5 s.
    assert found[2].offered_points == ((998.0, 700.0), (1005.5, 1300.0))
    assert found[2].input_rows_per_s == pytest.approx(600 / 7.5)
    assert [each.input_rows_per_s for each in (found[0], found[1], found[3])] == [7.0, 7.0, 7.0]
    # The topic was made again: it has fewer rows than the driver read.
    assert logged_codes(caplog.text) == ["kafka-rate-missing", "kafka-topic-differs"]


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
