"""Writes readings of thermometers to a Kafka topic until Ctrl-C.

Run it with ``python examples/kafka_window/feed.py``. It starts a broker at 127.0.0.1:19092; with
``BOOTSTRAP=HOST:PORT`` it writes to your broker.
"""

import contextlib
import json
import os
import random
import shutil
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

ROWS_PER_S = 500
SENSORS = 40
TOPIC, PARTITIONS = "readings", 4
PORT = int(os.environ.get("BROKER_PORT", "19092"))  # another one: BOOTSTRAP=127.0.0.1:PORT for job.py


def main() -> None:
    """Write until Ctrl-C."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # like Ctrl-C, so that the broker ends too
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ and "BOOTSTRAP" not in os.environ:
        sys.exit("feed: a broker needs Java 17 or newer; install it (Debian: apt install default-jre-headless)")
    try:
        from confluent_kafka import Producer
    except ModuleNotFoundError:
        sys.exit("feed: this needs confluent-kafka; in a checkout of gesscale: pip install '.[spark,controller]'")
    from gesscale.errors import GesscaleError

    try:
        with broker() as bootstrap:
            producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 20})
            print(f"feed: {ROWS_PER_S} rows/s into topic {TOPIC} of {bootstrap}", flush=True)
            write(producer)
    except GesscaleError as error:
        sys.exit(f"feed: {error}")
    except KeyboardInterrupt:
        return


@contextlib.contextmanager
def broker() -> Iterator[str]:
    """Yield the address of a broker with the topic: the user's, or one that ends with this program."""
    from testbed.pipeline.kafka_broker import running_broker
    from testbed.pipeline.kafka_topic import create_topics

    if given := os.environ.get("BOOTSTRAP"):
        yield given
        return
    with socket.socket() as probe:
        if probe.connect_ex(("127.0.0.1", PORT)) == 0:
            sys.exit(f"feed: port {PORT} is in use; choose another one: BROKER_PORT=19192 python {sys.argv[0]}")
    with (
        tempfile.TemporaryDirectory() as place,
        running_broker(Path(place) / "kafka", port=PORT, partitions=PARTITIONS) as own,
    ):
        create_topics(own.bootstrap, [TOPIC], partitions=PARTITIONS)
        yield own.bootstrap


def write(producer) -> None:  # type: ignore[no-untyped-def]  # its package is imported late
    """Write rows evenly, in steps of a tenth of a second."""
    chance = random.Random(0)  # noqa: S311 - readings, no secrets
    due_s = time.monotonic()
    while True:
        for _ in range(ROWS_PER_S // 10):
            sensor = chance.randrange(SENSORS)
            reading = {"sensor": f"s{sensor:02}", "celsius": round(chance.gauss(20, 3), 1), "at_s": time.time()}
            producer.produce(TOPIC, json.dumps(reading), key=reading["sensor"])
        producer.poll(0)
        due_s += 0.1
        time.sleep(max(0.0, due_s - time.monotonic()))


if __name__ == "__main__":
    main()
