"""A job with state: the mean temperature of each sensor in windows of ten seconds, read from Kafka.

Run it with ``python examples/kafka_window/job.py`` while feed.py writes; Ctrl-C ends it.
"""

import os
import shutil
import signal
import sys
import tempfile
import threading

BOOTSTRAP = os.environ.get("BOOTSTRAP", "127.0.0.1:19092")  # another one also goes into gesscale.yaml
TOPIC = "readings"
CAP_ROWS = 5000  # maximum rows of a batch: without a cap, the batch after a pause would take the whole backlog
TRIGGER_S = 2.0
PORT = int(os.environ.get("PORT", "9118"))  # the same


def main() -> None:
    """Run the job until Ctrl-C."""
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        sys.exit("job: Spark needs Java 17 or newer; install it (Debian: apt install default-jre-headless)")
    try:
        from pyspark.sql import SparkSession
        from pyspark.sql import functions as f
    except ModuleNotFoundError:
        sys.exit("job: this needs PySpark; in a checkout of gesscale: pip install '.[spark,controller]'")

    import gesscale.spark
    from testbed.pipeline.kafka_jars import connector_jars

    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")  # Spark warns of a host name that is a loopback address
    spark = (
        SparkSession.builder.appName("kafka-window")
        .master("local[2]")
        # In your own job: .config("spark.jars.packages", "org.apache.spark:spark-sql-kafka-0-10_2.13:VERSION")
        .config("spark.jars", ",".join(map(str, connector_jars())))
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.locality.wait", "0s")  # else the state of a new replica waits for an old one
        .config("spark.sql.shuffle.partitions", "4")  # number of state partitions, so more replicas do not help
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    stopping = threading.Event()
    signal.signal(signal.SIGINT, lambda *_: stopping.set())  # PySpark's own handler prints a traceback

    attached = gesscale.spark.attach(
        spark, operator="means", port=PORT, trigger_s=TRIGGER_S, cap_rows=CAP_ROWS, max_replicas=3
    )
    if attached.url is None:
        sys.exit(f"job: port {PORT} is in use; choose another one: PORT=9119 python examples/kafka_window/job.py")

    rows = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", BOOTSTRAP)
        .option("subscribe", TOPIC)
        .option("maxOffsetsPerTrigger", CAP_ROWS)
        .load()
    )
    reading = f.from_json(f.col("value").cast("string"), "sensor STRING, celsius DOUBLE, at_s DOUBLE")
    means = (
        rows.select(reading.alias("reading"))
        .select("reading.sensor", "reading.celsius", f.timestamp_seconds("reading.at_s").alias("at"))
        .withWatermark("at", "5 seconds")  # a later row is dropped
        .groupBy(f.window("at", "10 seconds"), "sensor")
        .agg(f.avg("celsius").alias("mean"), f.count("*").alias("rows"))
    )
    with tempfile.TemporaryDirectory() as checkpoint:
        query = (
            means.writeStream.format("console")
            .option("numRows", 3)
            .option("truncate", "false")
            .option("checkpointLocation", checkpoint)
            .outputMode("append")  # each window once, when it is complete
            .trigger(processingTime=f"{TRIGGER_S} seconds")
            .start()
        )
        print(f"job: running; figures at {attached.url}/batches", flush=True)
        while not (stopping.is_set() or query.awaitTermination(1)):
            pass
        query.stop()
    spark.stop()


if __name__ == "__main__":
    main()
