"""The images of controller, agent and the taxi example, built and run."""

import json

import pytest
from images import ROOT, VERSION, buildah, built, in_image

from testbed.free_port import free_port

SETTINGS_OF_THE_BROKER = ROOT / "deploy" / "k3s" / "example" / "kafka" / "server.properties"
READ_BACK = """
import sys
from confluent_kafka import Producer
from pyspark.sql import SparkSession
broker = f"localhost:{sys.argv[1]}"
producer = Producer({"bootstrap.servers": broker})
for number in range(100):
    producer.produce("rides", str(number).encode())
assert producer.flush(60) == 0
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
rides = spark.read.format("kafka").option("kafka.bootstrap.servers", broker).option("subscribe", "rides").load()
numbers = rides.selectExpr("cast(cast(value as string) as long) as number")
total = numbers.mapInPandas(lambda frames: frames, "number long").selectExpr("sum(number)").first()[0]
print("total", total)
"""

pytestmark = [pytest.mark.real, pytest.mark.long]


def test_the_controllers_image_runs_gesscale_as_nobody():
    assert in_image("controller", "gesscale", "--version") == f"gesscale {VERSION}"
    assert in_image("controller", "id", "-u") == "65532"


def test_the_controllers_image_reads_every_source_that_a_resource_may_name():
    wanted = "import kubernetes, confluent_kafka, ping3, prometheus_api_client, gesscale.kubernetes.controller"
    in_image("controller", "python", "-c", wanted)


def test_the_agents_image_holds_what_the_agent_needs_and_no_more():
    assert "--peers-dns" in in_image("agent", "python", "-m", "latency_map.measure.agent", "--help")
    assert in_image("agent", "id", "-u") == "65532"
    assert in_image("agent", "python", "-c", "from importlib.util import find_spec as f; print(f('scipy'))") == "None"


@pytest.mark.parametrize("target", ["agent", "controller"])
def test_nothing_of_the_builder_is_left_in_an_image(target):
    found = in_image(
        target, "sh", "-c", "cat /etc/pip.conf 2>/dev/null; ls /tools /build /root/.cache 2>/dev/null; exit 0"
    )
    assert found == ""
    settings = json.loads(buildah("inspect", "--type", "image", built(target)))["OCIv1"]["config"]
    assert str(ROOT) not in json.dumps(settings)
    assert settings["User"] == "65532:65532"


def test_the_taxi_image_holds_a_broker_and_a_spark_that_reads_from_it():
    broker, controller = free_port(), free_port()
    settings = SETTINGS_OF_THE_BROKER.read_text("utf-8").replace("kafka.taxi.svc", "localhost")
    for old, new in {"9092": f"{broker}", "9093": f"{controller}", "/data": "/tmp/data"}.items():
        settings = settings.replace(old, new)
    # No pod here: the container's own name leads nowhere, so Spark gets another.
    script = f"""
        echo '{settings}' > /tmp/server.properties
        /opt/entrypoint.sh /opt/broker.sh /tmp/server.properties >&2 &
        SPARK_LOCAL_HOSTNAME=localhost SPARK_LOCAL_IP=127.0.0.1 /opt/entrypoint.sh python -c '{READ_BACK}' {broker}
        kill $!; wait
    """
    assert "total 4950" in in_image("taxi", "bash", "-c", script)  # 0 + 1 + ... + 99
    assert in_image("taxi", "id", "-u") == "185"
