"""Runs cases on a Spark cluster, one task each, through PySpark."""

import os
import socket
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from tempfile import TemporaryFile
from typing import IO, Any

from gesscale.common.errors import Problem
from gesscale.errors import GesscaleError, InputError
from testbed.arena.case import Case, CaseResult
from testbed.arena.experiments.experiment import Experiment
from testbed.arena.runs.case_runner import ONE_THREAD, CaseRunner, attempt_case

#: Longest time until the first worker completes a task, seconds.
START_LIMIT_S = 120.0

_CONNECT_LIMIT_S = 5.0
_MIN_IN_FLIGHT = 32
_CONF = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "OFF",
    "spark.task.maxFailures": "2",  # a policy that kills its worker will do so again; a lost node will not
    **{f"spark.executorEnv.{name}": value for name, value in ONE_THREAD.items()},
}


def run_on_spark(
    experiment: Experiment,
    cases: Sequence[Case],
    *,
    master: str,
    done: Callable[[CaseResult], None],
    run_case: CaseRunner,
) -> None:
    """Run cases on a cluster, with the same results as `testbed.arena.runs.case_runner.run_locally`.

    Each case is a Spark job of one task, many of them in flight: a result arrives as soon as its task has ended, and a
    task that kills its worker twice loses only its own case. The workers need the same Python and packages as this
    process, at the same paths, and the files that the experiment names.

    Raises
    ------
    InputError
        If the experiment is wrong, or the master does not exist.
    GesscaleError
        If no worker starts in time, or workers cannot run a case.
    """
    if not cases:
        return
    with _context(master) as context:
        _check_workers(context, master)
        shared = context.broadcast((experiment, run_case))
        in_flight = max(_MIN_IN_FLIGHT, 2 * context.defaultParallelism)
        with ThreadPoolExecutor(in_flight) as threads:
            jobs = [threads.submit(_run_one, context, shared, case) for case in cases]
            try:
                _collect(jobs, done)
            except BaseException:
                threads.shutdown(wait=False, cancel_futures=True)
                context.cancelAllJobs()
                raise


def _collect(jobs: Sequence[Future[CaseResult]], done: Callable[[CaseResult], None]) -> None:
    waiting = set(jobs)
    while waiting:
        finished, waiting = wait(waiting, return_when=FIRST_COMPLETED)
        for job in finished:
            done(job.result())


def _run_one(context: Any, shared: Any, case: Case) -> CaseResult:
    """Run a job of one task, in a thread of the driver."""

    def task(case: Case) -> CaseResult | InputError:
        experiment, run_case = shared.value
        try:
            return attempt_case(run_case, experiment, case)
        except InputError as fault:
            return fault

    from py4j.protocol import Py4JJavaError

    try:
        (result,) = context.parallelize([case], 1).map(task).collect()
    except Py4JJavaError as fault:
        return CaseResult.of_lost(case, Problem("spark-task-failed", {"cause": _first_line(fault)}))
    if isinstance(result, InputError):
        raise result
    assert isinstance(result, CaseResult)  # noqa: S101 - for mypy: tasks return nothing else
    return result


@contextmanager
def _context(master: str) -> Iterator[Any]:
    """Open a Spark context in a separate JVM, without its log."""
    _check_reachable(master)
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ.update(ONE_THREAD)
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway

    settings = {**_CONF, "spark.master": master, "spark.app.name": "gesscale arena"}
    conf = SparkConf(loadDefaults=False).setAll(list(settings.items()))
    with TemporaryFile() as log, warnings.catch_warnings():
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
        try:
            gateway = launch_gateway(conf, popen_kwargs={"stderr": log})
            context = SparkContext(conf=conf, gateway=gateway)
        except Exception as fault:
            cause = _exception_in_log(log) or _first_line(fault)
            raise InputError("spark-start-failed", place=f"--spark {master}", cause=cause) from fault
    try:
        yield context
    finally:
        context.stop()
        gateway.shutdown()
        gateway.proc.stdin.close()  # ends the JVM
        gateway.proc.wait()
        SparkContext._gateway = SparkContext._jvm = None  # so that the next context gets a new JVM


def _check_reachable(master: str) -> None:
    """Reject a standalone master where no process listens; Spark itself would try for a minute."""
    if not master.startswith("spark://"):
        return
    faults = []
    for place in master.removeprefix("spark://").split(","):
        host, _, port = place.rpartition(":")
        try:
            with socket.create_connection((host, int(port)), _CONNECT_LIMIT_S):
                return
        except (OSError, ValueError) as fault:
            faults.append(f"{place}: {fault}")
    raise InputError("spark-master-unreachable", place=f"--spark {master}", causes=faults)


def _check_workers(context: Any, master: str) -> None:
    """Run one small task, so that a problem with the workers is reported once."""
    from py4j.protocol import Py4JJavaError

    thread = ThreadPoolExecutor(1)
    try:
        thread.submit(context.parallelize([0], 1).map(_probe).collect).result(START_LIMIT_S)
    except TimeoutError:
        context.cancelAllJobs()
        raise GesscaleError("spark-worker-timeout", place=f"--spark {master}", timeout_s=START_LIMIT_S) from None
    except Py4JJavaError as fault:
        raise GesscaleError("spark-worker-failed", place=f"--spark {master}", cause=_first_line(fault)) from fault
    finally:
        thread.shutdown(wait=False)


def _probe(_: int) -> bool:
    return True


def _exception_in_log(log: IO[bytes]) -> str:
    """Return the first exception in the log of a JVM that did not start; empty if there is none."""
    log.seek(0)
    lines = log.read().decode(errors="replace").splitlines()
    return next((line.rpartition("Exception: ")[2] for line in lines if "Exception: " in line), "")


def _first_line(fault: Exception) -> str:
    """Return an error in a line: the Python one if Java wraps it."""
    java = getattr(fault, "java_exception", None)
    text = str(fault if java is None else java.getMessage()).partition("\n\tat ")[0].strip()
    if "Traceback (most recent call last)" in text:
        return text.splitlines()[-1]
    return text.splitlines()[0].rpartition("Exception: ")[2].partition(" Consider setting")[0]
