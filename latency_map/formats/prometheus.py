"""Answers of the HTTP API of Prometheus with delays of ping_exporter, blackbox, Cilium, Liqo and others."""

import math
import re
from dataclasses import dataclass, replace

from gesscale.common.errors import Problem
from latency_map.errors import LatencyMapError
from latency_map.formats.columns import find_columns, is_delay_label, parse_label, words_of
from latency_map.formats.json_text import Json, at, listed, members
from latency_map.formats.rows import parse_delay, parse_time
from latency_map.formats.samples import DelaySample, Readings
from latency_map.formats.source import ImportOptions, MapSource
from latency_map.kinds import DelayKind

#: Labels of the two nodes in metrics where several could be; the source is the server of the metric if it is None.
_KNOWN: dict[str, tuple[str | None, str]] = {
    "cilium_node_connectivity_latency_seconds": ("source_node_name", "target_node_name"),
    "liqo_peer_latency_us": (None, "cluster_name"),
    "probe_icmp_duration_seconds": (None, "instance"),
    "probe_duration_seconds": (None, "instance"),
}
#: Labels that tell several figures of one pair apart, and the value that is used.
_CHOSEN = {
    "type": ("mean", "avg", "median", "node"),
    "quantile": ("0.5",),
    "protocol": ("icmp",),
    "phase": ("rtt",),
    "address_type": ("primary",),
}
_TARGETS = {"target", "destination", "dst", "dest", "peer", "remote"}
#: Port of an address, which is that of the exporter, not of the node.
_PORT = re.compile(r"(?<=[\w\]]):\d{1,5}$")
_DELAYS = {"latency", "delay", "rtt", "ping", "duration"}
#: Words of metrics that are figures of other kinds.
_OTHER = {
    "bucket",
    "sum",
    "count",
    "total",
    "loss",
    "ratio",
    "dev",
    "deviation",
    "jitter",
    "best",
    "worst",
    "min",
    "max",
}
_SERVERS = ("exported_instance", "instance", "node", "host")


@dataclass(slots=True)
class _Series:
    """A series of an answer."""

    labels: dict[str, str]
    points: list[tuple[Json, Json]]

    @property
    def metric(self) -> str:
        """Name of the metric; blank for the result of an expression."""
        return self.labels.get("__name__", "")

    def pair(self) -> frozenset[tuple[str, str]]:
        """Return the labels without the name, which are equal for all metrics of a pair."""
        return frozenset(self.labels.items() - {("__name__", self.metric)})


def _series(content: Json) -> _Series:
    points = [at(content, "value"), *listed(content, "values")]
    labels = {label: str(value) for label, value in members(content, "metric").items()}
    return _Series(labels, [(each[0], each[1]) for each in points if isinstance(each, list) and len(each) == 2])


def read_prometheus(source: MapSource, content: Json, options: ImportOptions) -> Readings:
    """Read the answer to a query, for one or several points in time.

    Raises
    ------
    LatencyMapError
        It has several metrics of a delay or none, or its labels do not name the nodes.
    """
    series = [_series(each) for each in listed(content, "data", "result") or listed(content, "result")]
    metric = _metric(source.name, sorted({each.metric for each in series}), options.delay_column)
    losses = {each.pair(): each for each in series if "loss" in words_of(each.metric)}
    found = _without_variants(source.name, [each for each in series if each.metric == metric])
    start, end = _ends(source.name, metric, sorted({label for each in found for label in each.labels}), options)
    samples = []
    for number, each in enumerate(found, 1):
        a, b = (
            _PORT.sub("", each.labels.get(start or "", "")) or options.probed_from,
            _PORT.sub("", each.labels.get(end, "")),
        )
        if not a:
            raise LatencyMapError("map-source-missing", source=source.name, targets=[b])
        loss_ratio = _last_loss(losses.get(each.pair()), source.name)
        for at_s, value in each.points:
            delay, _ = parse_delay(value, source.name, f"series {number}")
            samples.append(DelaySample(a, b, delay, f"series {number}", loss_ratio=loss_ratio, at_s=parse_time(at_s)))
    unit, kind = parse_label(metric)
    if metric in _KNOWN or "ping" in words_of(metric):
        kind = DelayKind.RTT
    warnings = [Problem("map-probe-durations", {"metric": metric})] if metric == "probe_duration_seconds" else []
    return Readings(samples=samples, unit=unit, kind=kind, stated_at=f"the metric {metric}", warnings=warnings)


def _metric(source: str, names: list[str], chosen: str | None) -> str:
    """Return the metric of the delay."""
    found = [name for name in names if (name == chosen if chosen else name in _KNOWN or is_delay_label(name))]
    if not found and len(names) == 1 and chosen is None:
        words = set(words_of(names[0]))
        found = names if not words or (words & _DELAYS and not words & _OTHER) else []
    if len(found) == 1:
        return found[0]
    code = "map-columns-ambiguous" if found else "map-column-missing"
    raise LatencyMapError(code, source=source, wanted="a delay", found=found or names, option="--delay")


def _without_variants(source: str, series: list[_Series]) -> list[_Series]:
    """Return the series of one figure for each pair, where a label tells several of them apart."""
    for label, preferred in _CHOSEN.items():
        values = {each.labels.get(label, "") for each in series}
        if len(values) > 1:
            chosen = next((value for value in preferred if value in values), None)
            if chosen is None:
                fields = {"wanted": "a delay", "found": sorted(values), "option": f"a query by the label {label}"}
                raise LatencyMapError("map-columns-ambiguous", source=source, **fields)
            series = [each for each in series if each.labels.get(label) == chosen]
    return series


def _ends(source: str, metric: str, labels: list[str], options: ImportOptions) -> tuple[str | None, str]:
    """Return the labels of the two nodes; None for the first one if it is the server of the metric."""
    if options.from_column is None and metric in _KNOWN:
        start, end = _KNOWN[metric]
        renamed = [f"exported_{label}" if f"exported_{label}" in labels else label for label in (start or "", end)]
        if renamed[1] in labels and (start is None or renamed[0] in labels):
            return renamed[0] if start else _server(labels, renamed[1]), renamed[1]
    labels = [label for label in labels if f"exported_{label}" not in labels]  # renamed since it clashed
    try:
        columns = find_columns(source, [*labels, metric], replace(options, delay_column=metric))
    except LatencyMapError as error:
        targets = [label for label in labels if set(words_of(label)) & _TARGETS]
        if error.code != "map-column-missing" or len(targets) != 1:
            raise
        return _server(labels, targets[0]), targets[0]
    return labels[columns.source], labels[columns.target]


def _server(labels: list[str], end: str) -> str | None:
    return next((label for label in _SERVERS if label in labels and label != end), None)


def _last_loss(series: _Series | None, source: str) -> float | None:
    """Return the loss of a pair, if the answer has it."""
    if series is None or not series.points:
        return None
    loss, _ = parse_delay(series.points[-1][1], source, series.metric)
    return None if math.isnan(loss) else loss / (100 if "percent" in words_of(series.metric) else 1)
