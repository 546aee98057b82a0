"""Gauges that an agent exports, rebuilt for each scrape, so that a removed peer leaves no series.

They are in the base units of Prometheus, seconds and ratios; the labels are names of nodes.
"""

from collections.abc import Iterator, Mapping

from gesscale.common.metrics_text import LabelledValue, MetricFamily
from latency_map.measure.sweep import Measured

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
    LOSS_RATIO: "Share of the probes within the window without a reply.",
    PROBES: "Probes within the window.",
    MEASURED_TIMESTAMP_SECONDS: "Time at which the last probe with a reply was sent.",
}


def agent_metrics(
    node: str, measured: Mapping[str, Measured], *, now_s: float, clock_s: float, sent: int, rounds: int
) -> Iterator[MetricFamily]:
    """Yield the measurements of one agent.

    Parameters
    ----------
    now_s, clock_s
        The current time in seconds since the epoch, and on the clock of the probes.
    """
    figures = {peer: _figures(each, now_s - clock_s) for peer, each in measured.items()}
    for name, text in _GAUGES.items():
        samples = [
            LabelledValue({SOURCE: node, TARGET: peer}, values[name])
            for peer, values in figures.items()
            if values[name] is not None
        ]
        yield MetricFamily(name, text, samples)
    yield MetricFamily(SENT_TOTAL, "Probes sent.", [LabelledValue({SOURCE: node}, sent)])
    yield MetricFamily(ROUNDS_TOTAL, "Rounds of probing that ended.", [LabelledValue({SOURCE: node}, rounds)])


def _figures(measured: Measured, epoch_s: float) -> dict[str, float | None]:
    summary, replied_at_s = measured.summary, measured.replied_at_s
    return {
        RTT_SECONDS: _seconds(summary.median_ms),
        RTT_P95_SECONDS: _seconds(summary.p95_ms),
        JITTER_SECONDS: _seconds(summary.jitter_ms),
        LOSS_RATIO: summary.loss_ratio,
        PROBES: summary.probes,
        MEASURED_TIMESTAMP_SECONDS: None if replied_at_s is None else epoch_s + replied_at_s,
    }


def _seconds(value_ms: float | None) -> float | None:
    return None if value_ms is None else value_ms * _S_PER_MS
