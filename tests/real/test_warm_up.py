"""Spark schedules the first task of a new executor after its warm-up; a failed warm-up stops no executor."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from warm_up_jar import build

from gesscale.common.shell import command_line
from gesscale.spark.warm_up import DAEMON_SETTING, JAR, warm_up_settings
from testbed.cluster import processes, spark_command

pytestmark = pytest.mark.real
PATIENT_S = 100  # a busy machine warms slowly
LOOPBACK = "127.0.0.1"
PROGRAM = """
import json, subprocess, sys
import gesscale.spark
from pyspark.sql import SparkSession
from gesscale.spark.scheduler import live_executors

builder = SparkSession.builder
if "warm" in sys.argv:
    builder = gesscale.spark.warm_new_executors(builder, ["json"], timeout_s=100)
spark = builder.getOrCreate()
sc = spark.sparkContext

def same(frames):
    yield from frames

def work():
    return spark.range(100, numPartitions=2).mapInPandas(same, "id long").count()

def executor(number):
    fields = {"PORT": sc.getConf().get("spark.driver.port"), "APPLICATION": sc.applicationId, "NUMBER": str(number)}
    words = json.loads(open(f"{sys.argv[1]}/executor.json").read())
    for name, value in fields.items():
        words = [word.replace(name, value) for word in words]
    with open(f"{sys.argv[1]}/{number}.log", "w") as log:
        return subprocess.Popen(words, stdout=log, stderr=log, cwd=sys.argv[1])

for number in (1, 2):  # the second learns from the first which worker to prepare
    started = executor(number)
    assert work() == 100
    assert work() == 100
    print("WARM", all(each.is_warm for each in live_executors(spark)), flush=True)
    started.terminate()
    started.wait(60)
print("DONE", flush=True)
spark.stop()
"""


def executor_words() -> list[str]:
    """Return the command of an executor in an image without the jar, with names where the driver knows more."""
    words = spark_command.executor_command(
        LOOPBACK, driver_address=LOOPBACK, driver_port=0, application="APPLICATION", executor_id=0
    )
    at = words.index("--executor-id") + 1
    named = (*words[:at], "NUMBER", *words[at + 1 :])
    return [word.replace(f"@{LOOPBACK}:0", f"@{LOOPBACK}:PORT").replace(str(JAR), "") for word in named]


def logs(folder: Path, settings: dict[str, str], *, submitted: bool = False) -> list[list[str]]:
    (folder / "program.py").write_text(PROGRAM)
    (folder / "executor.json").write_text(json.dumps(executor_words()))
    fixed = spark_command.driver_settings(LOOPBACK, driver_port=0, ui_port=0)
    fixed = {name: value for name, value in fixed.items() if name != "spark.ui.port"} | {"spark.ui.enabled": "false"}
    words = [word for name, value in {**settings, **fixed}.items() for word in ("--conf", f"{name}={value}")]
    environment = {**processes.base_environment(), **spark_command.node_environment(LOOPBACK, folder, sys.executable)}
    program = (str(folder / "program.py"), str(folder))
    if submitted:
        command = (f"{spark_command.spark_home()}/bin/spark-submit", *words, *program, "warm")
    else:
        command = (sys.executable, *program)
        environment["PYSPARK_SUBMIT_ARGS"] = command_line((*words, "pyspark-shell"))
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=1200, check=False)
    assert "DONE" in done.stdout, done.stderr[-3000:]
    assert done.stdout.count("WARM True") == 2
    return [(folder / f"{number}.log").read_text().splitlines() for number in (1, 2)]


def position(log: list[str], words: str) -> int:
    return next((number for number, line in enumerate(log) if words in line), -1)


@pytest.mark.parametrize("submitted", [False, True], ids=["settings", "program"])
def test_the_first_task_comes_after_the_warm_up(tmp_path: Path, *, submitted: bool) -> None:
    both = logs(tmp_path, {} if submitted else warm_up_settings(["json"], timeout_s=PATIENT_S), submitted=submitted)
    # Spark counts "boot" from the task's start to that of its worker: below 0, the worker was there before the task
    assert "boot = -" not in both[0][position(both[0], "Times: total")]
    assert "boot = -" in both[1][position(both[1], "Times: total")]
    for log in both:
        assert position(log, "warm-up is incomplete") == -1, "\n".join(log)
        assert 0 <= position(log, "gesscale: warm-up finished") < position(log, "gesscale: first task"), "\n".join(log)


def test_a_warm_up_that_fails_stops_no_executor(tmp_path: Path) -> None:
    # no time for it, and a module that does not exist
    first, second = logs(tmp_path, warm_up_settings(["no_such_module"], timeout_s=0))
    for log in (first, second):
        assert position(log, "gesscale: the warm-up is incomplete") >= 0
        assert position(log, "gesscale: first task") >= 0
    assert position(second, "gesscale: module no_such_module") >= 0


def test_an_image_without_gesscale_uses_sparks_own_daemon(tmp_path: Path) -> None:
    _, second = logs(tmp_path, {**warm_up_settings(timeout_s=PATIENT_S), DAEMON_SETTING: "no_such_daemon"})
    assert position(second, "gesscale: the daemon no_such_daemon did not start") >= 0
    assert "boot = -" in second[position(second, "Times: total")]  # a worker of it was there before the task


def test_the_jar_is_what_its_source_makes(tmp_path: Path) -> None:
    compiler = shutil.which("javac")
    if compiler is None or " 17" not in subprocess.check_output((compiler, "-version"), text=True):
        pytest.skip("the same bytes come from javac 17 only, and there is none")
    build(tmp_path / "again.jar")
    assert (tmp_path / "again.jar").read_bytes() == JAR.read_bytes()
