import socket
import subprocess
import sys
from pathlib import Path

import pytest

import gesscale
from gesscale.errors import InputError
from gesscale.spark import attach


class NotSpark:
    """A session that gives nothing."""


def test_a_port_in_use_is_said_and_harms_nobody(caplog):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        attachment = attach(NotSpark(), operator="nearest", port=taken.getsockname()[1])
    assert attachment.url is None
    assert "metrics are off and the query runs" in caplog.text
    attachment.close()


def test_the_package_needs_the_standard_library_alone():
    code = (
        "import sys; sys.path[:] = [each for each in sys.path if 'site-packages' not in each]; "
        f"sys.path.append({str(Path(gesscale.__file__).parents[1])!r}); import gesscale.spark"
    )
    subprocess.run([sys.executable, "-I", "-c", code], timeout=300, check=True)


def test_a_client_of_spark_connect_is_refused_with_the_way_that_works():
    client = type("SparkSession", (), {"__module__": "pyspark.sql.connect.session"})()
    with pytest.raises(InputError, match="Spark Connect client") as refused:
        attach(client, operator="nearest", port=0)
    assert "\n" not in str(refused.value)


def test_a_session_that_cannot_be_steered_is_watched_all_the_same(caplog):
    attachment = attach(NotSpark(), operator="nearest", port=0, autoscaler="taxi")
    assert attachment.url is not None
    assert "not steered" in caplog.text
    attachment.close()


def test_running_a_query_needs_the_function_that_starts_it():
    attachment = attach(NotSpark(), operator="nearest", port=0)
    with pytest.raises(InputError, match="restart=start_query"):
        attachment.run()
    assert attachment.query is None
    attachment.close()
