"""Brokers that cannot be asked; the real one is asked where the pipeline runs on Kafka."""

import socket
from contextlib import closing

import pytest

from gesscale.errors import MetricsUnavailableError
from gesscale.monitor.kafka import KafkaOffsets


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
            KafkaOffsets(address, "rides").lag_rows({0: 5}, 0.4)
