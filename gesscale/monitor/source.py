"""What every metric source shares: its periods, and operators asked in parallel in bounded time."""

import logging
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from dataclasses import KW_ONLY, dataclass, field
from functools import partial

from gesscale.common.threads import in_thread
from gesscale.errors import MetricsUnavailableError
from gesscale.model.observation import Batch, MissingReading, OperatorReading, WorkflowObservation
from gesscale.monitor.screen import screen
from gesscale.monitor.window import ByNode, summarise

#: The settings of a `WindowedReader`.
PERIODS = ("window_s", "stale_after_s", "history_s", "timeout_s")

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class WindowedReader:
    """Turns fetched batches into readings, and asks for several operators at once."""

    _: KW_ONLY
    #: Length of the window of a reading, seconds.
    window_s: float
    #: Age from which figures are too old, seconds; longer than the longest batch that is to be read.
    stale_after_s: float
    #: How far back a reading's batches reach, seconds; at least the window.
    history_s: float
    #: Time within which all operators must have answered, seconds.
    timeout_s: float
    monotonic_s: Callable[[], float] = field(default=time.monotonic, repr=False)

    def read(
        self,
        operator: str,
        batches: Iterable[Batch],
        *,
        now_s: float,
        last_progress_at_s: float | None,
        faults: Iterable[str] = (),
        by_node: ByNode | None = None,
    ) -> OperatorReading | MissingReading:
        """Summarise an operator's batches and log what could not be believed.

        Parameters
        ----------
        last_progress_at_s
            When its query last said anything; None where unknown.
        by_node
            Tells what single replicas did; None where that is not known.
        """
        since_s = now_s - self.history_s
        listed = list(batches)
        # The newest one always counts: of a query that idles for hours it tells where the replicas are.
        recent = [batch for batch in listed if not batch.ended_at_s < since_s] or listed[-1:]
        screened = screen(recent, now_s)
        doubts = (*faults, *screened.faults)
        if screened.batches and doubts:
            _LOG.warning("operator %s: %d faults, the latest: %s", operator, len(doubts), doubts[-1])
        return summarise(
            operator,
            screened._replace(faults=doubts),
            now_s=now_s,
            window_s=self.window_s,
            stale_after_s=self.stale_after_s,
            last_progress_at_s=last_progress_at_s,
            by_node=by_node,
        )

    def observe_each(
        self, operators: Iterable[str], read: Callable[[str], OperatorReading | MissingReading], now_s: float
    ) -> WorkflowObservation:
        """Read operators in parallel; one that fails or is late does not touch the others."""
        answers = {
            operator: in_thread(partial(_read_or_say, operator, read), name=f"monitor-{operator}")
            for operator in operators
        }
        deadline_s = self.monotonic_s() + self.timeout_s
        summaries = [
            self._await(operator, answer, deadline_s - self.monotonic_s()) for operator, answer in answers.items()
        ]
        return WorkflowObservation(
            at_s=now_s,
            readings={item.operator: item for item in summaries if isinstance(item, OperatorReading)},
            missing_readings={item.operator: item for item in summaries if isinstance(item, MissingReading)},
        )

    def _await(
        self, operator: str, answer: "Future[OperatorReading | MissingReading]", left_s: float
    ) -> OperatorReading | MissingReading:
        try:
            return answer.result(timeout=max(0.0, left_s))
        except TimeoutError:
            return MissingReading(operator=operator, detail=f"no answer within {self.timeout_s:g} s")


def _read_or_say(
    operator: str, read: Callable[[str], OperatorReading | MissingReading]
) -> OperatorReading | MissingReading:
    # The error ends here. A future would keep it, and with it the frames that it came through and the answer in them.
    try:
        return read(operator)
    except MetricsUnavailableError as error:
        return MissingReading(operator=operator, detail=str(error))
    except Exception as error:  # noqa: BLE001 - one operator's nonsense must not stop the others' loop
        _LOG.exception("operator %s: its metrics could not be read", operator)
        return MissingReading(operator=operator, detail=f"reading its metrics failed: {error!r}")


def nodes_of(hosts: Iterable[str], names: Mapping[str, str]) -> tuple[str, ...]:
    """Return the sorted node names of host addresses; an address without a name stands for itself."""
    return tuple(sorted({names.get(host, host) for host in hosts}))
