import socket
from xml.etree import ElementTree

import pytest

from gesscale.errors import GesscaleError
from testbed.pipeline.kafka_jars import ivy_module
from testbed.pipeline.kafka_topic import require_broker


def test_ivy_is_asked_for_the_artifact_with_forced_revisions():
    text = ivy_module(("org.a", "b&c", "1.0"), [("org.x", "y", "2.0")])
    dependencies = ElementTree.fromstring(text).find("dependencies")  # noqa: S314 - our own text
    assert dependencies.find("dependency").attrib == {
        "org": "org.a", "name": "b&c", "rev": "1.0", "conf": "default->default",
    }  # fmt: skip
    assert dependencies.find("override").attrib == {"org": "org.x", "module": "y", "rev": "2.0"}


def test_a_broker_that_is_not_there_is_said_in_a_line_before_spark_starts():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with pytest.raises(GesscaleError, match=rf"127\.0\.0\.1:{port}.*--kafka"):
        require_broker(f"127.0.0.1:{port}", timeout_s=0.5)
