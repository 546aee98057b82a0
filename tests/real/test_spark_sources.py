"""Each row of docs/reference/spark_sources.md on a real Spark, and the modes in which nothing can be scaled."""

import pytest
from refusals import logged_codes
from spark_trials import BEGIN, results

from testbed.pipeline.kafka_broker import running_broker
from testbed.pipeline.kafka_jars import connector_jars
from testbed.pipeline.kafka_topic import create_topics

pytestmark = pytest.mark.real

SOURCES = (
    BEGIN
    + """
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition, SimpleDataSourceStreamReader
from pyspark.sql.streaming.datasource import ReadMaxRows

class Range(InputPartition):
    def __init__(self, start, end):
        self.start, self.end = start, end

class Capped(DataSourceStreamReader):
    def initialOffset(self):
        return {"index": 0}
    def getDefaultReadLimit(self):
        return ReadMaxRows(7)
    def latestOffset(self, start, limit):
        return {"index": min(start["index"] + limit.max_rows, 100)}
    def reportLatestOffset(self):
        return {"index": 100}
    def partitions(self, start, end):
        return [Range(start["index"], end["index"])]
    def read(self, partition):
        return ((number,) for number in range(partition.start, partition.end))

class CountedInRows(Capped):
    def initialOffset(self):
        return {"rows": 0}
    def latestOffset(self, start, limit):
        return {"rows": min(start["rows"] + limit.max_rows, 100)}
    def reportLatestOffset(self):
        return {"rows": 100}
    def partitions(self, start, end):
        return [Range(start["rows"], end["rows"])]

class Uncapped(Capped):
    getDefaultReadLimit = DataSourceStreamReader.getDefaultReadLimit
    reportLatestOffset = DataSourceStreamReader.reportLatestOffset
    end = 0
    def latestOffset(self):
        self.end += 4
        return {"index": self.end}

class Simple(SimpleDataSourceStreamReader):
    def initialOffset(self):
        return {"offset": 0}
    def read(self, start):
        end = {"offset": start["offset"] + 3}
        return self.readBetweenOffsets(start, end), end
    def readBetweenOffsets(self, start, end):
        return iter([(number,) for number in range(start["offset"], end["offset"])])

class CappedSource(DataSource):
    @classmethod
    def name(cls):
        return "capped"
    def schema(self):
        return "n long"
    def streamReader(self, schema):
        return Capped()

class SimpleSource(CappedSource):
    @classmethod
    def name(cls):
        return "simple"
    streamReader = DataSource.streamReader
    def simpleStreamReader(self, schema):
        return Simple()

class RowsSource(CappedSource):
    @classmethod
    def name(cls):
        return "rows"
    def streamReader(self, schema):
        return CountedInRows()

class UncappedSource(CappedSource):
    @classmethod
    def name(cls):
        return "uncapped"
    def streamReader(self, schema):
        return Uncapped()

class Clock(Capped):
    def initialOffset(self):
        return {"plc": {"0": int(time.time() * 1000)}}
    def latestOffset(self, start, limit):
        return {"plc": {"0": int(time.time() * 1000)}}
    def reportLatestOffset(self):
        return {"plc": {"0": int(time.time() * 1000)}}
    def partitions(self, start, end):
        return [Range(start["plc"]["0"], end["plc"]["0"])]

class ClockSource(CappedSource):
    @classmethod
    def name(cls):
        return "clock"
    def streamReader(self, schema):
        return Clock()

def write(batch):
    batch.write.format("noop").mode("append").save()

def write_if_any(batch, _):
    if not batch.isEmpty():
        write(batch)

def write_twice(batch, _):
    write(batch.filter("value % 2 = 0"))
    write(batch.filter("value % 2 = 1"))

def write_cached(batch, _):
    batch.persist()
    write_twice(batch, _)
    batch.unpersist()

for source in (CappedSource, SimpleSource, RowsSource, UncappedSource, ClockSource):
    spark.dataSource.register(source)
server = socket.create_server(("127.0.0.1", 0))

def talk():
    connection, _ = server.accept()
    with contextlib.suppress(OSError):  # until the query has seen enough of it
        while True:
            connection.send(b"row\\n" * 5)
            time.sleep(0.1)

threading.Thread(target=talk, daemon=True).start()
folder = tempfile.mkdtemp() + "/files"
for _ in range(5):
    spark.range(10).write.mode("append").parquet(folder)
rate = read("rate").option("rowsPerSecond", 50)
run("rate", rate.load())
run("ramp", read("rate").option("rowsPerSecond", 50).option("rampUpTime", "4s").load())
run("rate-micro-batch", read("rate-micro-batch").option("rowsPerBatch", 10).load())
run("files", read("parquet").schema("id long").option("maxFilesPerTrigger", 1).load(folder))
run("socket", read("socket").option("host", "127.0.0.1").option("port", server.getsockname()[1]).load())
run("Python", read("capped").load())
run("Python, rows", read("rows").load())
run("Python, no cap", read("uncapped").load())
run("Python, simple", read("simple").load())
run("two", rate.load().selectExpr("value n").union(read("capped").load()))
run("clock", read("clock").load())
run("isEmpty", rate.load(), each_batch=write_if_any)
run("written twice", rate.load(), each_batch=write_twice)
run("written twice, cached", rate.load(), each_batch=write_cached)
run("union with itself", (lambda rows: rows.union(rows))(rate.load()))
run("state", read("capped").load().groupBy("n").count(), mode="update")
run("now", read("capped").load(), batches=10**6, availableNow=True)
spark.stop()
"""
)

KAFKA = (
    BEGIN
    + """
servers = {"kafka.bootstrap.servers": sys.argv[1]}
rides = spark.range(100).selectExpr("cast(id as string) value")
rides.write.format("kafka").options(**servers).option("topic", "rides").save()
rows = read("kafka").options(**servers).option("subscribe", "rides").option("startingOffsets", "earliest")
run("real time", rows.load().select("value"), batches=1, sink="kafka", mode="update", realTime="5 seconds")
run("Kafka", rows.option("maxOffsetsPerTrigger", 30).load())
spark.stop()
"""
)


@pytest.fixture(scope="module")
def sources():
    return results(SOURCES)


@pytest.fixture(scope="module")
def kafka(tmp_path_factory):
    with running_broker(tmp_path_factory.mktemp("broker") / "broker", partitions=2) as broker:
        create_topics(broker.bootstrap, ["rides", "out"], partitions=2)
        return results(KAFKA, broker.bootstrap, jars=connector_jars())


@pytest.mark.parametrize(
    "name", ["rate", "ramp", "socket", "isEmpty", "written twice", "written twice, cached", "union with itself"]
)
def test_a_source_without_backlog_offers_the_processed_rows(sources, name):
    batches = sources[0][name]["batches"]
    assert len(batches) >= 2
    for batch in batches:
        assert (batch["offered_rows_total"], batch["backlog_rows"]) == (batch["processed_rows_total"], 0)


def test_a_python_source_offers_what_it_reports(sources):
    batches = sources[0]["Python"]["batches"]
    assert batches[0]["offered_rows_total"] is None  # nothing to compare with yet
    # 100 rows, 7 in each batch
    for batch in batches[1:]:
        assert (batch["offered_rows_total"], batch["backlog_rows"]) == (100, 100 - batch["processed_rows_total"])


def test_two_sources_add_up(sources):
    for batch in sources[0]["two"]["batches"][1:]:
        # the rate source holds nothing back, and the Python source has taken 7 rows in each batch
        assert batch["backlog_rows"] == 100 - 7 * (batch["batch_id"] + 1)
        assert batch["offered_rows_total"] == batch["processed_rows_total"] + batch["backlog_rows"]


@pytest.mark.parametrize("name", ["rate-micro-batch", "files", "Python, simple", "clock"])
def test_unreported_rows_are_null(sources, name):
    found, _ = sources
    assert {batch["offered_rows_total"] for batch in found[name]["batches"]} == {None}
    assert {batch["backlog_rows"] for batch in found[name]["batches"]} == {None}
    assert found[name]["errors"] == 0


def test_each_warning_is_logged_once(sources):
    _, log = sources
    for code in (
        "source-files-uncounted",
        "source-without-backlog",
        "source-offset-missing",
        "source-offset-is-time",
        "batch-cap-missing",
        "state-partitions-few",
        "trigger-ends",
    ):
        assert logged_codes(log).count(code) == 1, code


def test_rows_that_are_read_twice_are_named(sources):
    assert "source-rows-repeated" in logged_codes(sources[1])


def test_kafka_counts_its_rows(kafka):
    batches = kafka[0]["Kafka"]["batches"]
    # 100 rows were in the topic, 30 at most go into a batch
    assert [batch["offered_rows_total"] for batch in batches] == [100.0] * len(batches)
    assert [batch["backlog_rows"] for batch in batches][:2] == [70.0, 40.0]
    assert {batch["fixed_slots"] for batch in batches} == {0}
    assert {batch["trigger_s"] for batch in batches} == {0.5}


def test_real_time_mode_is_recognised(kafka):
    found, log = kafka
    assert {(batch["fixed_slots"], batch["trigger_s"]) for batch in found["real time"]["batches"]} == {(1, None)}
    assert "trigger-real-time" in logged_codes(log)
