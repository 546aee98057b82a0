import socket

from refusals import refused

from gesscale.errors import GesscaleError
from testbed.pipeline.kafka_broker import require_broker


def test_an_unreachable_broker_is_reported_before_spark_starts():
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        port = probe.getsockname()[1]
    with refused("kafka-broker-unreachable", GesscaleError, broker=f"localhost:{port}"):
        require_broker(f"localhost:{port}", timeout_s=0.5)
