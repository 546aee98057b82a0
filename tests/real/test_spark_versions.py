"""`attach` on each version of Spark, and what pip does to the PySpark of a job; environments from PyPI, kept."""

import json
import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from gesscale.spark.versions import acting_problem
from testbed.cluster.state import cache_directory

pytestmark = pytest.mark.real

ROOT = Path(__file__).parents[2]
PROGRAM = """
import json, time
from urllib.request import urlopen
from pyspark.sql import SparkSession
from pyspark.sql import functions as f
from gesscale.spark import attach

builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
spark = builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()
attachment = attach(spark, operator="trial", port=0, cap_rows=10)
rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 10).load()
counts = rows.groupBy((f.col("value") % 3).alias("key")).count()
query = counts.writeStream.format("noop").outputMode("update").trigger(processingTime="500 milliseconds").start()
deadline = time.monotonic() + 400
while True:
    with urlopen(attachment.url + "/batches", timeout=60) as response:
        document = json.load(response)
    known = [each for each in document["batches"] if each["by_host"]]
    if len(known) >= 2 or time.monotonic() > deadline:
        break
    time.sleep(0.2)
result = {"version": spark.version, "active": query.isActive, "batches": known, "errors": document["listener_errors"]}
print("RESULT " + json.dumps(result))
query.stop()
spark.stop()
"""


def python_with_spark(version):
    """Return the Python of an environment with a minor version of PySpark."""
    folder = cache_directory() / "spark-versions" / version
    python = folder / "bin" / "python"
    if not (folder / "whole").exists():
        venv.create(folder, with_pip=True)
        install = [python, "-m", "pip", "install", "-q", f"pyspark=={version}.*"]
        if subprocess.run(install, capture_output=True, timeout=1800, check=False).returncode:
            pytest.skip(f"needs PyPI, for PySpark {version}")
        (folder / "whole").touch()
    return python


def long(version):
    return pytest.param(version, marks=pytest.mark.long)


@pytest.mark.parametrize("version", ["3.5", long("4.0"), long("4.1"), long("4.2"), "4.3"])
def test_attach_serves_the_batches_of_a_query_with_state(version):
    python = sys.executable if version == "4.3" else python_with_spark(version)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "SPARK_LOCAL_IP": "127.0.0.1"}
    done = subprocess.run(
        [python, "-c", PROGRAM], capture_output=True, text=True, timeout=900, check=False, env=environment
    )
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("RESULT ")] or [done.stderr[-3000:]]
    result = json.loads(line.removeprefix("RESULT "))
    assert result["version"].startswith(f"{version}.")
    assert result["active"] is True
    assert result["errors"] == 0
    assert len(result["batches"]) >= 2
    for batch in result["batches"]:  # ten rows of three keys in two partitions
        assert (batch["rows"], batch["output_rows"], batch["state_rows"], batch["state_partitions"]) == (10, 3, 3, 2)
        (host,) = batch["by_host"].values()
        assert (host["rows"], host["state_partitions"]) == (10.0, 2)
        assert host["cpu_s"] > 0
    assert (acting_problem(result["version"]) is None) is (version == "4.3")


@pytest.mark.long
@pytest.mark.parametrize("extra", ["", "[spark]", "[spark,controller]"])
def test_pip_keeps_the_spark_of_a_job(tmp_path, extra):
    python, report = python_with_spark("3.5"), tmp_path / "report.json"
    install = ["-m", "pip", "install", "-q", "--dry-run", "--report", report, f"{ROOT}{extra}"]
    done = subprocess.run([python, *install], capture_output=True, text=True, timeout=1800, check=False)
    if done.returncode:
        pytest.skip(f"needs PyPI: {done.stderr[-300:]}")
    names = {each["metadata"]["name"].lower() for each in json.loads(report.read_text())["install"]}
    assert "gesscale" in names
    assert not names & {"pyspark", "py4j"}
    assert extra or names == {"gesscale"}
