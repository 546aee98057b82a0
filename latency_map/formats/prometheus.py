"""Answers of the HTTP API of Prometheus with delays of ping_exporter, blackbox, Cilium, Liqo and others."""

import re
from collections.abc import Mapping
from dataclasses import replace

from gesscale.common.errors import Problem
from latency_map.errors import LatencyMapError
from latency_map.formats.columns import find_columns, is_delay_label, is_other_figure, parse_label, words_of
from latency_map.formats.json_table import Object, ObjectList, read_list
from latency_map.formats.json_text import Json, at, listed, members
from latency_map.formats.samples import Readings
from latency_map.formats.source import DEFAULT_OPTIONS, ImportOptions, MapSource

#: Labels of the two nodes in metrics where several could be; the first is the server of the metric if it is None.
_KNOWN: dict[str, tuple[str | None, str]] = {
    "cilium_node_connectivity_latency_seconds": ("source_node_name", "target_node_name"),
    "liqo_peer_latency_us": (None, "cluster_name"),
    "probe_icmp_duration_seconds": (None, "instance"),
    "probe_duration_seconds": (None, "instance"),
}
#: Labels that distinguish several figures of one pair, and the values that are used, by preference.
_CHOSEN = {"type": "mean avg median node", "quantile": "0.5", "protocol": "icmp", "phase": "rtt", "le": ""}
_CHOSEN |= {"address_type": "primary"}
#: Those of them that have no other value for a delay.
_STRICT = {"quantile", "phase", "le"}
_TARGETS = {"target", "destination", "dst", "dest", "peer", "remote"}
_SERVERS = ("exported_node", "node", "nodename", "kubernetes_node", "exported_instance", "instance", "host")
#: Port of an address, which is that of the exporter, not of the node.
_PORT = re.compile(r"(?<=[\w\]]):\d{1,5}$")
#: Labels of a series, and its times and values.
_Series = tuple[dict[str, str], list[tuple[Json, Json]]]


def read_prometheus(source: MapSource, content: Json, options: ImportOptions) -> Readings:
    """Read the answer to a query, for one or several points in time.

    Raises
    ------
    LatencyMapError
        It has several metrics of a delay or none, or its labels do not name the nodes.
    """
    every: dict[str, list[_Series]] = {}
    for each in listed(content, "data", "result") or listed(content, "result"):
        labels = {label: str(value) for label, value in members(each, "metric").items()}
        points = [point for point in (at(each, "value"), *listed(each, "values")) if isinstance(point, list)]
        pairs = [(point[0], point[1]) for point in points if len(point) == 2]
        every.setdefault(labels.pop("__name__", ""), []).append((labels, pairs))
    metric = _metric(source.name, sorted(every), options.delay_column)
    found = _without_variants(source.name, every[metric])
    start, end = _ends(source.name, metric, sorted({label for labels, _ in found for label in labels}), options)
    losses: dict[frozenset[tuple[str, str]], dict[Json, dict[str, Json]]] = {}
    for name, series in every.items():
        fact = {"probe_success": "success"}.get(name, "loss_pct" if "percent" in words_of(name) else "loss_ratio")
        for labels, pairs in series if fact == "success" or "loss" in words_of(name) else ():
            of_pair = losses.setdefault(_pair_of(labels), {})
            for when, value in pairs:
                of_pair.setdefault(when, {})[fact] = value
    unit, kind = parse_label(metric)
    known = kind or metric in _KNOWN or "ping" in words_of(metric)
    delay = "_".join(("rtt" if known else "latency", *filter(None, (unit,))))
    rows: list[Object] = []
    for labels, pairs in found:
        a, b = (_PORT.sub("", labels.get(label or "", "")) for label in (start, end))
        if not (a := a or options.probed_from or ""):
            raise LatencyMapError("map-source-missing", source=source.name, targets=[b])
        lost = losses.get(_pair_of(labels), {})
        usual = next(iter(lost.values())) if len(lost) == 1 else {}
        rows += [
            {"source": a, "target": b, delay: value, "timestamp": when, **lost.get(when, usual)}
            for when, value in pairs
        ]
    if not rows:
        raise LatencyMapError("map-empty", source=source.name, expected="values of a series")
    readings = read_list(source.name, ObjectList((), (), rows), DEFAULT_OPTIONS)
    if metric == "probe_duration_seconds" or any(labels.get("protocol") == "http" for labels, _ in found):
        readings.warnings.append(Problem("map-probe-durations", {"metric": metric}))
    return readings


def _metric(source: str, names: list[str], chosen: str | None) -> str:
    """Return the metric of the delay; a single one may have no name, as functions of queries drop it."""
    found = [name for name in names if (name == chosen if chosen else name in _KNOWN or is_delay_label(name))]
    found = names if names == [""] else found
    if len(found) == 1:
        return found[0]
    code = "map-columns-ambiguous" if found else "map-column-missing"
    raise LatencyMapError(code, source=source, wanted="a delay", found=found or names, option="--delay")


def _without_variants(source: str, series: list[_Series]) -> list[_Series]:
    """Return the series of one figure for each pair, where a label distinguishes several of them."""
    for label, preferred in _CHOSEN.items():
        values = {labels.get(label, "") for labels, _ in series}
        chosen = next((value for value in preferred.split() if value in values), None)
        other = any(map(is_other_figure, values)) or (label in _STRICT and values != {""})
        if chosen is None and (other or len(values) > 1):
            fields = {"wanted": "a delay", "found": sorted(values), "option": f"a query by the label {label}"}
            raise LatencyMapError("map-columns-ambiguous", source=source, **fields)
        series = [each for each in series if chosen in (None, each[0].get(label))]
    return series


def _pair_of(labels: Mapping[str, str]) -> frozenset[tuple[str, str]]:
    """Return the labels that several figures of one pair share."""
    return frozenset(each for each in labels.items() if each[0] not in _CHOSEN)


def _ends(source: str, metric: str, labels: list[str], options: ImportOptions) -> tuple[str | None, str]:
    """Return the labels of the two nodes; None for the first one if no label names it."""
    start, end = _KNOWN.get(metric, (None, ""))
    start, end = (f"exported_{label}" if f"exported_{label}" in labels else label or "" for label in (start, end))
    server = next((label for label in _SERVERS if label in labels and label != end), None)
    if options.from_column is None and end in labels and (not start or start in labels):
        return start or server, end
    labels = [label for label in labels if f"exported_{label}" not in labels]  # renamed since it clashed
    try:
        columns = find_columns(source, [*labels, metric], replace(options, delay_column=metric))
    except LatencyMapError as error:
        targets = [label for label in labels if set(words_of(label)) & _TARGETS]
        if error.code != "map-column-missing" or len(targets) != 1:
            raise
        return server, targets[0]
    return labels[columns.source], labels[columns.target]
