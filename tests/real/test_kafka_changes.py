"""The load of a real Kafka topic that changes below a query: made again, of a pattern, transactions, a least batch."""

from statistics import median

import pytest
from refusals import logged_codes
from spark_trials import BEGIN, results

from testbed.pipeline.kafka_broker import running_broker
from testbed.pipeline.kafka_jars import connector_jars

pytestmark = pytest.mark.real

PROGRAM = (
    BEGIN
    + """
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from gesscale.model.observation import OperatorReading
from gesscale.monitor.records import parse_document, to_batches
from gesscale.monitor.source import WindowedReader

broker = {"bootstrap.servers": sys.argv[1]}
admin = AdminClient(broker)

def make(topic):
    admin.create_topics([NewTopic(topic, 1, 1)])[topic].result(30)

def drop(topic):
    admin.delete_topics([topic])[topic].result(30)
    time.sleep(1)

class Feed(threading.Thread):
    def __init__(self, topic, rows_per_s, transactions=False):
        super().__init__(daemon=True)
        self.topic, self.rows_per_s, self.transactions, self.ends = topic, rows_per_s, transactions, False
        self.producer = Producer({**broker, "linger.ms": 5, **({"transactional.id": topic} if transactions else {})})
        if transactions:
            self.producer.init_transactions()
        self.began, self.sent = time.monotonic(), 0
        self.start()
    def run(self):
        while not self.ends:
            while self.sent < (time.monotonic() - self.began) * self.rows_per_s and not self.ends:
                if self.transactions:
                    self.producer.begin_transaction()
                self.producer.produce(self.topic, b"row")
                if self.transactions:
                    self.producer.commit_transaction()
                self.sent += 1
            time.sleep(0.02)
        self.producer.flush(10)
    def rate(self):
        # what was sent: less than rows_per_s on a busy machine
        return self.sent / (time.monotonic() - self.began)
    def stop(self):
        self.ends = True
        self.join()

def query(how, topics, **options):
    rows = read("kafka").option("kafka.bootstrap.servers", sys.argv[1]).option(how, topics)
    options = {"startingOffsets": "latest", "failOnDataLoss": "false", **options}
    writer = rows.options(**options).load().writeStream.format("noop").queryName(topics)
    return writer.trigger(processingTime="1 second").start()

reader = WindowedReader(window_s=8, stale_after_s=60, history_s=60, timeout_s=5)

def watch(seconds, *feeds):
    # the input rate that a reading has, each second, as a ratio to the rate of the feeds
    ratios = []
    for _ in range(seconds):
        time.sleep(1)
        with urlopen(attachment.url + "/batches", timeout=60) as response:
            document = parse_document(response.read(), "trial")
        batches = to_batches(document.batches, {}).batches
        seen = reader.read("trial", batches, now_s=time.time(), last_progress_at_s=document.last_progress_at_s)
        known = isinstance(seen, OperatorReading) and seen.input_rows_per_s is not None
        ratios.append(seen.input_rows_per_s / sum(each.rate() for each in feeds) if known else None)
    return ratios

def report(name, ratios):
    print("RESULT " + json.dumps({"name": name, "ratios": ratios}), flush=True)

def await_batches(running, count):
    while len(running.recentProgress) < count:
        time.sleep(0.2)

make("least")
feed = Feed("least", 100)
running = query("subscribe", "least", minOffsetsPerTrigger=400, maxTriggerDelay="5m")
await_batches(running, 3)
report("least batch", watch(10, feed))
running.stop()
feed.stop()
make("transactions")
feed = Feed("transactions", 40, transactions=True)
running = query("subscribe", "transactions", **{"kafka.isolation.level": "read_committed"})
await_batches(running, 4)
report("transactions", watch(8, feed))
running.stop()
feed.stop()
make("again")
feed = Feed("again", 200)
running = query("subscribe", "again")
await_batches(running, 8)
feed.stop()
drop("again")
make("again")
feed = Feed("again", 200)
report("made again", watch(10, feed))
running.stop()
feed.stop()
make("day-1")
make("day-2")
feed, other = Feed("day-1", 150), Feed("day-2", 50)
running = query("subscribePattern", "day-.*", **{"kafka.metadata.max.age.ms": "500"})
await_batches(running, 8)
feed.stop()
drop("day-1")
make("day-3")
feed = Feed("day-3", 150)
report("pattern", watch(10, feed, other))
feed.stop()
other.stop()
running.stop()
spark.stop()
"""
)


@pytest.fixture(scope="module")
def trials(tmp_path_factory):
    with running_broker(tmp_path_factory.mktemp("broker") / "broker", partitions=1) as broker:
        return results(PROGRAM, broker.bootstrap, jars=connector_jars())


@pytest.mark.parametrize(
    ("name", "least", "most"),
    [
        ("least batch", 0.8, 1.2),  # 100 rows/s in batches of 400
        ("transactions", 0.75, 1.25),  # 40 rows/s; the offsets grow by 80
        # 200 rows/s; fewer in a window that holds the seconds in which the topic is missing
        ("made again", 0.2, 1.5),
        ("pattern", 0.2, 1.5),
    ],
)
def test_the_load_is_that_of_the_rows(trials, name, least, most):
    ratios = trials[0][name]["ratios"]
    known = [ratio for ratio in ratios if ratio is not None]
    assert len(known) >= len(ratios) / 2, ratios
    assert least <= median(known) <= most, ratios
    assert all(0 < ratio <= most for ratio in known), ratios


def test_counters_that_began_again_are_named(trials):
    assert "source-counter-restarted" in logged_codes(trials[1])
