"""Base of the metric sources: their periods, and bounded parallel requests for all operators."""

import logging
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from typing import Any

from gesscale.common.counted_warnings import CountedWarnings
from gesscale.common.errors import Problem
from gesscale.common.logs import log_problem
from gesscale.common.threads import in_thread
from gesscale.errors import MetricsUnavailableError
from gesscale.formatting import describe_exception
from gesscale.model.cycles import recent_batches
from gesscale.model.observation import Batch, MissingReading, OperatorReading, WorkflowObservation
from gesscale.monitor.batch_screen import screen_batches
from gesscale.monitor.window import ByNode, missing_reading, summarise

#: The settings of a `WindowedReader`.
PERIODS = ("window_s", "stale_after_s", "history_s", "timeout_s")

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class WindowedReader:
    """Reads several operators in parallel and turns their batches into readings."""

    _: KW_ONLY
    #: Length of the window of a reading, and age from which figures are stale, seconds; longer for a query with long
    #: cycles (window_s, stale_after_s).
    window_s: float
    stale_after_s: float
    #: How far back a reading's batches reach, seconds, at least the window; the newest ones are always read.
    history_s: float
    #: Timeout of the requests for all operators, seconds.
    timeout_s: float
    monotonic_s: Callable[[], float] = field(default=time.monotonic, repr=False)
    #: Logs what is wrong with records; a step repeats it.
    warnings: CountedWarnings = field(default_factory=lambda: CountedWarnings(_LOG), repr=False, compare=False)

    def read(
        self,
        operator: str,
        batches: Iterable[Batch],
        *,
        now_s: float,
        last_progress_at_s: float | None,
        running_s: float | None = None,
        problems: Iterable[Problem] = (),
        by_node: ByNode | None = None,
        executor_refusal: str = "",
    ) -> OperatorReading | MissingReading:
        """Summarise the batches of an operator and log invalid ones.

        Parameters
        ----------
        problems
            Of records that could not be parsed.
        last_progress_at_s
            When its query last reported progress; None if unknown.
        running_s
            How long a batch has been running; None if none is, or it is unknown.
        by_node
            Computes the figures of each replica; None if they are not measured.
        executor_refusal
            Why the API server refuses further executors; empty if it does not.
        """
        since_s = now_s - self.history_s
        screened = screen_batches(recent_batches(list(batches), since_s), now_s)
        found = (*problems, *screened.problems)
        if screened.batches and found:
            latest = found[-1]
            self.warnings.warn(latest.code, operator=operator, problems=len(found), **latest.fields)
        reading = summarise(
            operator,
            screened._replace(problems=found),
            now_s=now_s,
            window_s=self.window_s,
            stale_after_s=self.stale_after_s,
            last_progress_at_s=last_progress_at_s,
            running_s=running_s,
            by_node=by_node,
        )
        return replace(reading, executor_refusal=executor_refusal) if isinstance(reading, OperatorReading) else reading

    def observe_each(
        self, operators: Iterable[str], read: Callable[[str], OperatorReading | MissingReading], now_s: float
    ) -> WorkflowObservation:
        """Read operators in parallel; a failure or timeout of one does not affect the others."""
        futures = {
            operator: in_thread(partial(_read_safely, operator, read), name=f"monitor-{operator}")
            for operator in operators
        }
        deadline_s = self.monotonic_s() + self.timeout_s
        summaries = [
            self._await(operator, future, deadline_s - self.monotonic_s()) for operator, future in futures.items()
        ]
        return WorkflowObservation(
            at_s=now_s,
            readings={item.operator: item for item in summaries if isinstance(item, OperatorReading)},
            missing_readings={item.operator: item for item in summaries if isinstance(item, MissingReading)},
        )

    def _await(
        self, operator: str, future: "Future[OperatorReading | MissingReading]", left_s: float
    ) -> OperatorReading | MissingReading:
        try:
            return future.result(timeout=max(0.0, left_s))
        except TimeoutError:
            return missing_reading(operator, "metrics-timeout", timeout_s=self.timeout_s)


def _read_safely(
    operator: str, read: Callable[[str], OperatorReading | MissingReading]
) -> OperatorReading | MissingReading:
    # Catch every error here: a future would keep it alive, with its traceback and the response in the frames.
    try:
        return read(operator)
    except MetricsUnavailableError as error:
        return missing_reading(operator, error.code, **error.fields)
    except Exception as error:  # noqa: BLE001 - a malformed response must not stop the other operators
        problem: dict[str, Any] = {"operator": operator, "cause": describe_exception(error)}
        log_problem(_LOG, logging.ERROR, "metrics-read-failed", exc_info=True, **problem)
        return missing_reading(operator, "metrics-read-failed", **problem)


def nodes_of(hosts: Iterable[str], names: Mapping[str, str]) -> tuple[str, ...]:
    """Return the sorted node names of host addresses; an unknown address is its own name."""
    return tuple(sorted({names.get(host, host) for host in hosts}))
