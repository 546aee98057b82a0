import socket

import pytest

from gesscale.errors import GesscaleError
from testbed.pipeline.kafka_broker import require_broker


def test_a_broker_that_is_not_there_is_said_in_a_line_before_spark_starts():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with pytest.raises(GesscaleError, match=rf"127\.0\.0\.1:{port}.*--kafka"):
        require_broker(f"127.0.0.1:{port}", timeout_s=0.5)
