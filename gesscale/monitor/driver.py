"""Monitor, straight from the Spark drivers: the batch records that `gesscale.spark` serves."""

import logging
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field

from gesscale.monitor.by_node import WorkByNode
from gesscale.monitor.fetch import check_url, fetch
from gesscale.monitor.records import parse_document, to_batches
from gesscale.monitor.source import WindowedReader
from gesscale.observation import OperatorReading, Unseen, WorkflowObservation
from latency_map.measure.fetch import Resolve, resolve_host

_LOG = logging.getLogger(__name__)
_MAX_BYTES = 1 << 20
_CLOCKS_AGREE_S = 2.0


@dataclass(frozen=True, slots=True)
class DriverMetrics(WindowedReader):
    """A metric source that asks each operator's driver for its recent batches.

    It remembers nothing: a driver keeps its batches itself, and they bear their own times. Where a driver's
    clock is more than 2 s off the scaler's, its times are corrected by the difference, and that is logged.

    Attributes
    ----------
    urls
        Address of the listener by operator, such as ``http://10.0.0.1:9108``.
    hosts
        Node names by the host addresses of executors; an unknown address stands for itself.
    resolve
        Says where a host is, and so what may be asked; see `latency_map.measure.fetch.fetch`.
    """

    urls: Mapping[str, str]
    _: KW_ONLY
    hosts: Mapping[str, str] = field(default_factory=dict)
    resolve: Resolve = field(default=resolve_host, repr=False)

    def __post_init__(self) -> None:
        WindowedReader.__post_init__(self)
        for operator, url in self.urls.items():
            check_url(url, f"metrics of operator {operator!r}")

    def observe(self, now_s: float) -> WorkflowObservation:
        """Read every operator over the window that ends now; see `gesscale.ports.MetricSource`."""
        began_s = self.monotonic_s()
        return self.observe_each(self.urls, lambda operator: self._read(operator, now_s, began_s), now_s)

    def _read(self, operator: str, now_s: float, began_s: float) -> OperatorReading | Unseen:
        url = f"{self.urls[operator].rstrip('/').removesuffix('/batches')}/batches"
        timeout_s = 0.9 * self.timeout_s  # so that its own reason arrives before the common deadline
        body = fetch(url, timeout_s=timeout_s, max_bytes=_MAX_BYTES, resolve=self.resolve)
        document = parse_document(body, operator)
        ahead_s = document.now_s - (now_s + self.monotonic_s() - began_s)
        if abs(ahead_s) <= _CLOCKS_AGREE_S:
            ahead_s = 0.0
        else:
            _LOG.warning("operator %s: its driver's clock is %+.6g s off and corrected", operator, ahead_s)
        told = to_batches(document.batches, self.hosts, ahead_s=ahead_s)
        heard_s = document.last_progress_at_s
        return self.read(
            operator,
            told.batches,
            now_s=now_s,
            last_progress_at_s=None if heard_s is None else heard_s - ahead_s,
            complaints=told.complaints,
            by_node=WorkByNode(told.work),
        )
