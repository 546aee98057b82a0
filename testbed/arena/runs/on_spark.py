"""Cases on a Spark cluster, one task each, through PySpark."""

import os
import socket
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from tempfile import TemporaryFile
from typing import IO, Any

from gesscale.errors import GesscaleError, InputError
from gesscale.extras import how_to_install
from testbed.arena.case import Case, CaseResult
from testbed.arena.experiments.experiment import Experiment
from testbed.arena.runs.running import ONE_THREAD, CaseRunner, attempt_case

#: The first worker must have answered after this time.
START_LIMIT_S = 120.0

_CONNECT_LIMIT_S = 5.0
_IN_FLIGHT_LEAST = 32
_CONF = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "OFF",
    "spark.task.maxFailures": "2",  # a policy that kills its worker does so again; a node that is lost does not
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
    """Play cases on a cluster; the results are those that `testbed.arena.runs.running.run_locally` gives.

    Each case is a Spark job of one task, many of them in flight: a result is here as soon as its task has ended, and
    a task that kills its worker twice loses its own case only. The workers need the same Python and packages as this
    process, at the same paths, and the files that the experiment names.

    Raises
    ------
    InputError
        The experiment is wrong, or there is no such master.
    GesscaleError
        No worker came in time, or it cannot play.
    """
    if not cases:
        return
    with _context(master) as context:
        _check_workers(context, master)
        shared = context.broadcast((experiment, run_case))
        in_flight = max(_IN_FLIGHT_LEAST, 2 * context.defaultParallelism)
        with ThreadPoolExecutor(in_flight) as threads:
            jobs = [threads.submit(_play_one, context, shared, case) for case in cases]
            try:
                _hand_over(jobs, done)
            except BaseException:
                threads.shutdown(wait=False, cancel_futures=True)
                context.cancelAllJobs()
                raise


def _hand_over(jobs: Sequence[Future[CaseResult]], done: Callable[[CaseResult], None]) -> None:
    waiting = set(jobs)
    while waiting:
        finished, waiting = wait(waiting, return_when=FIRST_COMPLETED)
        for job in finished:
            done(job.result())


def _play_one(context: Any, shared: Any, case: Case) -> CaseResult:
    """Run a job of one task; in a thread of the driver."""

    def task(case: Case) -> CaseResult | InputError:
        experiment, run_case = shared.value
        try:
            return attempt_case(run_case, experiment, case)
        except InputError as fault:
            return fault

    from py4j.protocol import Py4JJavaError

    try:
        (answer,) = context.parallelize([case], 1).map(task).collect()
    except Py4JJavaError as fault:
        return CaseResult(case=case, lost=f"its task failed on Spark: {_said(fault)}")
    if isinstance(answer, InputError):
        raise answer
    result: CaseResult = answer
    return result


@contextmanager
def _context(master: str) -> Iterator[Any]:
    """Open a Spark context in a JVM of its own, without its log."""
    _check_reachable(master)
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ.update(ONE_THREAD)
    try:
        from pyspark import SparkConf, SparkContext
        from pyspark.java_gateway import launch_gateway
    except ImportError as error:
        raise InputError(f"--spark: expected PySpark to be installed ({error}); {how_to_install('spark')}") from error
    settings = {**_CONF, "spark.master": master, "spark.app.name": "gesscale arena"}
    conf = SparkConf(loadDefaults=False).setAll(list(settings.items()))
    with TemporaryFile() as log, warnings.catch_warnings():
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
        try:
            gateway = launch_gateway(conf, popen_kwargs={"stderr": log})
            context = SparkContext(conf=conf, gateway=gateway)
        except Exception as fault:
            raise InputError(
                f"--spark {master}: Spark cannot start there: {_fault_in_log(log) or _said(fault)}"
            ) from fault
    try:
        yield context
    finally:
        context.stop()
        gateway.shutdown()
        gateway.proc.stdin.close()  # which is what ends the JVM
        gateway.proc.wait()
        SparkContext._gateway = SparkContext._jvm = None  # so that another context can have another JVM


def _check_reachable(master: str) -> None:
    """Refuse a standalone master where no process listens; Spark itself would try for a minute."""
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
    raise InputError(f"--spark {master}: expected a master that listens, got {'; '.join(faults)}")


def _check_workers(context: Any, master: str) -> None:
    """Run one small task, so that what is wrong with the workers is said once."""
    from py4j.protocol import Py4JJavaError

    thread = ThreadPoolExecutor(1)
    try:
        thread.submit(context.parallelize([0], 1).map(_able).collect).result(START_LIMIT_S)
    except TimeoutError:
        context.cancelAllJobs()
        raise GesscaleError(
            f"--spark {master}: no worker took a task within {START_LIMIT_S:g} s; has it any with free cores?"
        ) from None
    except Py4JJavaError as fault:
        raise GesscaleError(f"--spark {master}: its workers cannot play: {_said(fault)}") from fault
    finally:
        thread.shutdown(wait=False)


def _able(_: int) -> bool:
    return True


def _fault_in_log(log: IO[bytes]) -> str:
    """Return what a JVM that did not start complained of; empty where it did not."""
    log.seek(0)
    lines = log.read().decode(errors="replace").splitlines()
    return next((line.rpartition("Exception: ")[2] for line in lines if "Exception: " in line), "")


def _said(fault: Exception) -> str:
    """Return a fault in a line; where Java reports one of Python, Python's own."""
    java = getattr(fault, "java_exception", None)
    text = str(fault if java is None else java.getMessage()).partition("\n\tat ")[0].strip()
    if "Traceback (most recent call last)" in text:
        return text.splitlines()[-1]
    return text.splitlines()[0].rpartition("Exception: ")[2].partition(" Consider setting")[0]
