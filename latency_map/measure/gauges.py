"""The gauges that an agent exports, made again for each scrape: what has gone leaves no series.

Seconds and ratios, as Prometheus has them; the labels are names of nodes.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from latency_map.measure.measurements import Measured

PREFIX = "gesscale_latency_"

RTT_SECONDS = f"{PREFIX}rtt_seconds"
RTT_P95_SECONDS = f"{PREFIX}rtt_p95_seconds"
JITTER_SECONDS = f"{PREFIX}jitter_seconds"
LOSS_RATIO = f"{PREFIX}loss_ratio"
PROBES = f"{PREFIX}probes"
MEASURED_TIMESTAMP_SECONDS = f"{PREFIX}measured_timestamp_seconds"
SENT_TOTAL = f"{PREFIX}sent_total"
ROUNDS_TOTAL = f"{PREFIX}rounds_total"

SOURCE = "source"
TARGET = "target"

_S_PER_MS = 1e-3


@dataclass(frozen=True, slots=True)
class AgentGauges(Collector):
    """Collects what one agent measured.

    Attributes
    ----------
    node
        The node that it is on.
    measured
        The pairs as they stand now, by peer.
    age_s
        How long ago an instant of their clock was.
    now_s
        Seconds since the epoch.
    sent, rounds
        How many probes and rounds there were so far.
    """

    node: str
    measured: Callable[[], Mapping[str, Measured]]
    age_s: Callable[[float], float]
    now_s: Callable[[], float]
    sent: Callable[[], int]
    rounds: Callable[[], int]

    def collect(self) -> Iterator[Metric]:
        """Yield the metric families."""
        pairs = self.measured()
        for name, text, figure in (
            (RTT_SECONDS, "Median round trip of the probes within the window.", _median_s),
            (RTT_P95_SECONDS, "95th percentile of them.", _p95_s),
            (JITTER_SECONDS, "Mean difference of one round trip to the next.", _jitter_s),
            (LOSS_RATIO, "Share of the probes within the window that were not answered.", _loss_ratio),
            (PROBES, "Probes within the window.", _probes),
            (MEASURED_TIMESTAMP_SECONDS, "When the last answered probe was sent.", self._replied_at_s),
        ):
            family = GaugeMetricFamily(name, text, labels=(SOURCE, TARGET))
            for peer, measured in pairs.items():
                value = figure(measured)
                if value is not None:
                    family.add_metric([self.node, peer], value)
            yield family
        for name, text, total in (
            (SENT_TOTAL, "Probes sent.", self.sent()),
            (ROUNDS_TOTAL, "Rounds of probing that ended.", self.rounds()),
        ):
            counter = CounterMetricFamily(name.removesuffix("_total"), text, labels=(SOURCE,))
            counter.add_metric([self.node], total)
            yield counter

    def _replied_at_s(self, measured: Measured) -> float | None:
        return None if measured.replied_at_s is None else self.now_s() - self.age_s(measured.replied_at_s)


def _median_s(measured: Measured) -> float | None:
    return _seconds(measured.summary.median_ms)


def _p95_s(measured: Measured) -> float | None:
    return _seconds(measured.summary.p95_ms)


def _jitter_s(measured: Measured) -> float | None:
    return _seconds(measured.summary.jitter_ms)


def _loss_ratio(measured: Measured) -> float | None:
    return measured.summary.loss_ratio


def _probes(measured: Measured) -> float:
    return measured.summary.probes


def _seconds(value_ms: float | None) -> float | None:
    return None if value_ms is None else value_ms * _S_PER_MS
