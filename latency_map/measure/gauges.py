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
_GAUGES = {
    RTT_SECONDS: "Median round trip of the probes within the window.",
    RTT_P95_SECONDS: "95th percentile of them.",
    JITTER_SECONDS: "Mean difference of one round trip to the next.",
    LOSS_RATIO: "Share of the probes within the window that were not answered.",
    PROBES: "Probes within the window.",
    MEASURED_TIMESTAMP_SECONDS: "When the last answered probe was sent.",
}


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
        families = {
            name: GaugeMetricFamily(name, text, labels=(SOURCE, TARGET)) for name, text in _GAUGES.items()
        }
        for peer, measured in self.measured().items():
            for name, value in self._figures(measured).items():
                if value is not None:
                    families[name].add_metric([self.node, peer], value)
        yield from families.values()
        for name, text, total in (
            (SENT_TOTAL, "Probes sent.", self.sent()),
            (ROUNDS_TOTAL, "Rounds of probing that ended.", self.rounds()),
        ):
            counter = CounterMetricFamily(name.removesuffix("_total"), text, labels=(SOURCE,))
            counter.add_metric([self.node], total)
            yield counter

    def _figures(self, measured: Measured) -> dict[str, float | None]:
        summary, replied_at_s = measured.summary, measured.replied_at_s
        return {
            RTT_SECONDS: _seconds(summary.median_ms),
            RTT_P95_SECONDS: _seconds(summary.p95_ms),
            JITTER_SECONDS: _seconds(summary.jitter_ms),
            LOSS_RATIO: summary.loss_ratio,
            PROBES: summary.probes,
            MEASURED_TIMESTAMP_SECONDS: (
                None if replied_at_s is None else self.now_s() - self.age_s(replied_at_s)
            ),
        }


def _seconds(value_ms: float | None) -> float | None:
    return None if value_ms is None else value_ms * _S_PER_MS
