"""Metric source that reads the batch records which `gesscale.spark` serves in the drivers."""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from threading import Lock

from gesscale.common.http_client import UNRESTRICTED_CLIENT, HttpClient
from gesscale.model.observation import MissingReading, OperatorReading, WorkflowObservation
from gesscale.monitor.fetch import check_url, metrics_page
from gesscale.monitor.records import parse_document, query_problem, to_batches
from gesscale.monitor.source import WindowedReader
from gesscale.monitor.window import WorkByNode, missing_reading

#: Largest response; 512 batches on 50 replicas need 3 MB.
_MAX_BYTES = 4 << 20
#: Parsing takes ten times the memory of a response, so one is parsed at a time.
_PARSING = Lock()
_CLOCKS_AGREE_S = 2.0


@dataclass(frozen=True, slots=True)
class DriverMetrics(WindowedReader):
    """A metric source that requests the recent batches from each operator's driver.

    It has no state: the driver keeps its batches, with their times. If a driver's clock differs from ours by more
    than 2 s, its times are corrected by the difference, and a warning is logged.
    """

    #: Address of the listener by operator, such as ``http://10.0.0.1:9108``.
    urls: Mapping[str, str]
    _: KW_ONLY
    #: Node names by the host addresses of executors; an unknown address is its own name.
    hosts: Mapping[str, str] = field(default_factory=dict)
    #: Sends the requests.
    client: HttpClient = field(default=UNRESTRICTED_CLIENT, repr=False)

    def __post_init__(self) -> None:
        for operator, url in self.urls.items():
            check_url(url, f"metrics of operator {operator!r}")

    def observe(self, now_s: float) -> WorkflowObservation:
        """Read every operator over the window that ends now; see `gesscale.ports.MetricSource`."""
        began_s = self.monotonic_s()
        return self.observe_each(self.urls, lambda operator: self._read(operator, now_s, began_s), now_s)

    def _read(self, operator: str, now_s: float, began_s: float) -> OperatorReading | MissingReading:
        url = f"{self.urls[operator].rstrip('/').removesuffix('/batches')}/batches"
        sent_s = now_s + self.monotonic_s() - began_s
        timeout_s = 0.9 * self.timeout_s  # fails with its own reason before the common deadline
        with metrics_page(url, timeout_s=timeout_s, max_bytes=_MAX_BYTES, client=self.client) as body, _PARSING:
            document = parse_document(body, operator)
            if (problem := query_problem(document)) is not None:
                return missing_reading(operator, problem.code, **problem.fields)
            ahead_s = self._ahead_s(operator, document.now_s, sent_s, now_s + self.monotonic_s() - began_s)
            parsed = to_batches(document.batches, self.hosts, ahead_s=ahead_s)
        progress_at_s = document.last_progress_at_s
        return self.read(
            operator,
            parsed.batches,
            now_s=now_s,
            last_progress_at_s=None if progress_at_s is None else progress_at_s - ahead_s,
            running_s=document.running_s,
            problems=parsed.problems,
            by_node=WorkByNode(parsed.work),
            executor_refusal=document.executor_refusal,
        )

    def _ahead_s(self, operator: str, driver_now_s: float, sent_s: float, received_s: float) -> float:
        """Return how far a driver's clock is ahead of the time of the request; 0 within a tolerance."""
        ahead_s = driver_now_s - min(max(driver_now_s, sent_s), received_s)
        if abs(ahead_s) <= _CLOCKS_AGREE_S:
            return 0.0
        self.warnings.warn("driver-clock-off", operator=operator, ahead_s=ahead_s)
        return ahead_s
