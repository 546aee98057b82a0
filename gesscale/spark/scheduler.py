"""Calls into Spark's scheduler; the only module that uses its Java classes.

Verified on PySpark 4.3.0 with real pods: docs/howto/spark_on_kubernetes.md. Spark reads the pod template from the
context's live settings for each new executor.
"""

import json
import os
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from gesscale.spark.active_queries import stream_executions
from gesscale.spark.executors import NO_TASKS, SparkJob, TaskTotals
from gesscale.spark.pod_template import NODE_ATTRIBUTE, ORDER_ATTRIBUTE
from gesscale.spark.reconcile_actions import LiveExecutor

TEMPLATE_SETTING = "spark.kubernetes.executor.podTemplateFile"
PLUGIN, PLUGINS_SETTING = "gesscale.warmup.WarmUp", "spark.plugins"
#: Setting of the driver in which the plugin lists the executors that have finished their warm-up.
WARM_SETTING = "spark.gesscale.warmUp.warm"
#: Part of the names of Spark's RDDs whose tasks open a state partition.
_STATE_RDD = "StateStore"
#: Fields of a task that are read, by class of Spark.
_NEEDED = {
    "TaskData": {"executorId", "status", "duration", "taskMetrics"},
    "TaskMetrics": {"executorCpuTime", "inputMetrics"},
    "InputMetrics": {"recordsRead"},
}
_MAX_TASKS = 100_000  # Spark retains no more
_REASON = "gesscale: its node is not in the placement"


class Scheduler:
    """Requests and removes executors of a running application."""

    def __init__(self, spark: Any) -> None:
        self._spark = spark
        self._context = spark._jsc.sc()
        self._jvm = spark._jvm

    @property
    def is_stopped(self) -> bool:
        """Whether the session has ended."""
        return bool(self._context.isStopped())

    @property
    def application(self) -> str:
        """The application id, which is the label ``spark-app-selector`` of its pods."""
        return str(self._context.applicationId())

    def setting(self, name: str) -> str:
        """Return a live setting; empty if it is not set."""
        return str(self._context.conf().get(name, ""))

    def change_setting(self, name: str, value: str) -> None:
        """Change a live setting."""
        self._context.conf().set(name, value)

    def use_template(self, path: Path, template: Mapping[str, Any]) -> None:
        """Set the pod template of new executors."""
        write_template(path, template)
        self.change_setting(TEMPLATE_SETTING, str(path))

    def request_total(self, executors: int) -> None:
        """Set the number of executors that Spark keeps; a lower number kills none."""
        no_hints = self._jvm.org.apache.spark.api.python.PythonUtils.toScalaMap(self._jvm.java.util.HashMap())
        self._context.requestTotalExecutors(executors, 0, no_hints)

    def decommission(self, executors: Collection[str]) -> None:
        """Let executors finish their tasks and exit, without changing the requested total.

        Otherwise Spark would decrease the total, from 0 if it was never requested.
        """
        backend = self._context.schedulerBackend()
        for executor in executors:
            reason = self._jvm.org.apache.spark.scheduler.ExecutorDecommissionInfo(
                _REASON, self._jvm.scala.Option.empty()
            )
            backend.decommissionExecutor(executor, reason, False, False)

    def kill(self, executors: Collection[str]) -> None:
        """Remove executors at once and run their tasks again, without changing the requested total.

        Spark's Kubernetes backend does not wait for an answer, so it works for unreachable ones.
        """
        listed = self._jvm.java.util.ArrayList()
        for executor in executors:
            listed.add(executor)
        ids = self._jvm.org.apache.spark.api.python.PythonUtils.toSeq(listed)
        self._context.schedulerBackend().killExecutors(ids, False, False, True)

    def is_between_batches(self) -> bool:
        """Return whether no query of the application is processing a batch."""
        return not any(query.status().isTriggerActive() for query in stream_executions(self._spark))


def live_executors(spark: Any) -> list[LiveExecutor]:
    """Return the live executors of a session; in local mode the driver is the one executor."""
    context = spark._jsc.sc()
    listed = context.statusStore().executorList(True)
    is_local = context.isLocal()
    warm = _warm(context)
    found = [_executor(listed.apply(index), warm) for index in range(listed.size())]
    # an executor that is registering has no address yet
    return [each for each in found if each.host and (each.id != "driver" or is_local)]


def _warm(context: Any) -> frozenset[str] | None:
    """Return the executors that have finished their warm-up; None without the plugin."""
    if PLUGIN not in str(context.conf().get(PLUGINS_SETTING, "")):
        return None
    return frozenset(str(context.conf().get(WARM_SETTING, "")).split(","))


def _executor(summary: Any, warm: frozenset[str] | None) -> LiveExecutor:
    attributes, identity = summary.attributes(), str(summary.id())
    has_worked = bool(summary.totalTasks() > 0)
    return LiveExecutor(
        id=identity,
        host=str(summary.hostPort()).rpartition(":")[0],
        node=_attribute(attributes, NODE_ATTRIBUTE),
        order=_attribute(attributes, ORDER_ATTRIBUTE) or "",
        added_at_s=summary.addTime().getTime() / 1000,
        has_worked=has_worked,
        slots=max(1, int(summary.maxTasks())),
        is_warm=has_worked or warm is None or identity in warm,
    )


class SparkJobs:
    """The jobs in the status store of a session; a `gesscale.spark.executors.JobStore`.

    Notes
    -----
    A stage needs about ten calls of 0.03 ms, however many executors and tasks it has, and one search in the last
    ``spark.ui.retainedStages`` (1000) stages of 0.6 ms, measured on PySpark 4.3.0 in local mode.
    """

    def __init__(self, spark: Any) -> None:
        self._context = spark._jsc.sc()
        self._graphs = spark._jvm.org.apache.spark.ui.scope.RDDOperationGraph
        self._json = _task_writer(spark._jvm)

    def job_count(self) -> int:
        """Return the number of jobs so far."""
        return int(self._context.dagScheduler().numTotalJobs())

    def job(self, number: int) -> SparkJob | None:
        """Return a job; None if the store does not have it."""
        from py4j.protocol import Py4JJavaError

        try:
            found = self._context.statusStore().job(number)
        except Py4JJavaError as error:
            if error.java_exception.getClass().getSimpleName() == "NoSuchElementException":
                return None
            raise
        stages = str(found.stageIds().mkString(","))
        return SparkJob(
            description=_text(found.description()),
            is_running=str(found.status().toString()) == "RUNNING",
            stages=tuple(int(stage) for stage in stages.split(",") if stage),
        )

    def task_totals(self, stage: int) -> Mapping[str, TaskTotals]:
        """Return the work of the tasks in the first attempt of a stage, by executor."""
        tasks = json.loads(self._json.writeValueAsString(self._context.statusStore().taskList(stage, 0, _MAX_TASKS)))
        has_state = bool(tasks) and self._has_state(stage)
        totals: dict[str, TaskTotals] = {}
        for task in tasks:
            executor = task["executorId"]
            totals[executor] = totals.get(executor, NO_TASKS) + _task_totals(task, has_state)
        return totals

    def _has_state(self, stage: int) -> bool:
        """Return whether each task of a stage has a state partition, by the names in its graph of RDDs."""
        graph = self._context.statusStore().operationGraphForStage(stage)
        return _STATE_RDD in str(self._graphs.makeDotFile(graph))


def _text(option: Any) -> str:
    return str(option.get()) if option.isDefined() else ""  # py4j cannot pass `getOrElse` its function


def _task_writer(jvm: Any) -> Any:
    """Return a JSON writer of tasks that writes the needed fields only: 2 % of the text of all."""
    jackson = jvm.com.fasterxml.jackson
    mapper = jackson.databind.ObjectMapper()
    mapper.registerModule(jackson.module.scala.DefaultScalaModule())
    for name, needed in _NEEDED.items():
        written = jvm.java.lang.Class.forName(f"org.apache.spark.status.api.v1.{name}")
        ignored = jvm.java.util.HashSet()
        for each in written.getDeclaredFields():
            if each.getName() not in needed:
                ignored.add(each.getName())
        value = jackson.annotation.JsonIgnoreProperties.Value.forIgnoredProperties(ignored)
        mapper.configOverride(written).setIgnorals(value)
    return mapper


def _task_totals(task: Mapping[str, Any], has_state: bool) -> TaskTotals:
    metrics, is_done = task.get("taskMetrics") or {}, int(task["status"] == "SUCCESS")
    return TaskTotals(
        records=metrics.get("inputMetrics", {}).get("recordsRead", 0),
        seconds=(task.get("duration") or 0) / 1000,
        with_state=is_done if has_state else 0,
        tasks=is_done,
        cpu_s=metrics.get("executorCpuTime", 0) / 1e9,
    )


def _attribute(attributes: Any, name: str) -> str | None:
    return str(attributes.apply(name)) if attributes.contains(name) else None


def write_template(path: Path, template: Mapping[str, Any]) -> None:
    """Write a pod template atomically."""
    fresh = path.with_suffix(f".{os.getpid()}.new")
    fresh.write_text(json.dumps(template, indent=1) + "\n", "utf-8")  # JSON is YAML
    fresh.replace(path)
