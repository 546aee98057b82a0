import socket
import subprocess
import sys
from pathlib import Path

from refusals import logged_codes, refused

import gesscale
from gesscale.errors import InputError
from gesscale.spark import attach


class NotSpark:
    """A session without any attribute."""


def test_a_port_in_use_is_logged_and_harmless(caplog):
    with socket.create_server(("localhost", 0)) as taken:
        attachment = attach(NotSpark(), operator="nearest", port=taken.getsockname()[1])
    assert attachment.url is None
    assert logged_codes(caplog.text) == ["metrics-port-unavailable"]
    attachment.close()


def test_the_package_needs_the_standard_library_alone():
    code = (
        "import sys; sys.path[:] = [each for each in sys.path if 'site-packages' not in each]; "
        f"sys.path.append({str(Path(gesscale.__file__).parents[1])!r}); import gesscale.spark; "
        "from gesscale.common.errors import catalogue; assert catalogue()"
    )
    subprocess.run([sys.executable, "-I", "-c", code], timeout=300, check=True)


def test_a_spark_connect_client_is_rejected():
    client = type("SparkSession", (), {"__module__": "pyspark.sql.connect.session"})()
    with refused("spark-connect-session", InputError):
        attach(client, operator="nearest", port=0)


def test_a_session_without_orders_is_monitored(caplog):
    attachment = attach(NotSpark(), operator="nearest", port=0, autoscaler="taxi")
    assert attachment.url is not None
    assert "orders-not-followed" in logged_codes(caplog.text)
    attachment.close()


def test_running_a_query_needs_the_function_that_starts_it():
    attachment = attach(NotSpark(), operator="nearest", port=0)
    with refused("restart-function-missing", InputError):
        attachment.run()
    assert attachment.query is None
    attachment.close()
