"""An ordinary streaming job, a source, work on each row and a sink, with one line for gesscale.

Run it with ``python examples/own_job/job.py``; Ctrl-C ends it.
"""

import os
import shutil
import signal
import sys
import tempfile
import threading

ROWS_PER_S = 1000
TRIGGER_S = 2.0
PORT = int(os.environ.get("PORT", "9108"))  # change it in gesscale.yaml too


def main() -> None:
    """Run the job until it is stopped."""
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        sys.exit("job: Spark needs Java 17 or newer; install it (Debian: apt install default-jre-headless)")
    try:
        from pyspark.sql import SparkSession
        from pyspark.sql import functions as f
    except ModuleNotFoundError:
        sys.exit("job: this needs PySpark; in a checkout of gesscale: pip install '.[spark]'")

    import gesscale.spark

    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")  # Spark warns of a host name that is a loopback address
    spark = (
        SparkSession.builder.appName("own-job")
        .master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "2")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    stopping = threading.Event()
    signal.signal(signal.SIGINT, lambda *_: stopping.set())  # PySpark's own handler prints a traceback

    # The line for gesscale. Give cap_rows too if the source has a cap on the rows of a batch.
    attached = gesscale.spark.attach(spark, operator="hashes", port=PORT, trigger_s=TRIGGER_S)
    if attached.url is None:
        sys.exit(f"job: port {PORT} is in use; choose another one: PORT=9109 python examples/own_job/job.py")

    rows = spark.readStream.format("rate").option("rowsPerSecond", ROWS_PER_S).load()
    hashes = rows.select("timestamp", f.sha2(f.col("value").cast("string"), 256).alias("hash"))
    with tempfile.TemporaryDirectory() as checkpoint:
        query = (
            hashes.writeStream.format("noop")
            .option("checkpointLocation", checkpoint)
            .trigger(processingTime=f"{TRIGGER_S} seconds")
            .start()
        )
        print(f"job: running; metrics at {attached.url}/batches", flush=True)
        while not (stopping.is_set() or query.awaitTermination(1)):
            pass
        query.stop()
    spark.stop()


if __name__ == "__main__":
    main()
