"""What a gateway of Liqo says of its peers: ``liqo_peer_latency_us``, scraped or asked of Prometheus.

Source of the form: Liqo's page on its Prometheus metrics. The value is a round trip in microseconds through the tunnel,
and ``cluster_id`` names the peer. The cluster that measured is not in the metric, so the caller names it.
"""

import math
from collections.abc import Iterator

import numpy as np

from gesscale.common.text import shortened
from latency_map.errors import LatencyMapError, error_at
from latency_map.formats.json_text import Json, JsonReader, as_number, kind_of
from latency_map.formats.raw import RawDelays, SideFiles, check_file_names
from latency_map.formats.source import MapSource
from latency_map.kinds import DelayKind, DelayUnit
from latency_map.limits import MapLimits

METRIC = "liqo_peer_latency_us"
_PEER = "cluster_id"


class _Row:
    """The peers of one cluster, taken one by one."""

    def __init__(self, source: str, limits: MapLimits) -> None:
        self.source, self.limits = source, limits
        self.rtt_us: dict[str, float] = {}
        self.newest_s = 0.0

    def add(self, place: str, peer: object, value: float, time_s: float = 0.0) -> None:
        """Take the round trip to a peer; NaN where it has none."""
        if not isinstance(peer, str) or not peer:
            raise self.error(place, f"expected a label {_PEER}, got none; it is no metric of Liqo")
        if peer in self.rtt_us:
            problem = f"expected every peer once, got {shortened(peer)} twice"
            raise self.error(place, f"{problem}; leave one gateway in, such as by a label in the query")
        if len(self.rtt_us) == self.limits.nodes:
            raise self.error("", self.limits.too_many_nodes())
        if math.isinf(value) or value < 0:
            raise self.error(place, f"expected microseconds of at least 0, got {value:g}")
        self.rtt_us[peer] = value
        self.newest_s = max(self.newest_s, time_s)

    def delays(self, side_files: SideFiles) -> RawDelays:
        here = side_files.probed_from
        if not self.rtt_us:
            raise self.error("", f"expected figures of {METRIC}, got none; are metrics of Liqo enabled?")
        if here is None:
            raise self.error(
                "", "expected the name of the cluster that measured; say it to import with --source"
            )
        if here in self.rtt_us:
            raise self.error(
                "", f"expected --source to be another cluster than its peers, got {shortened(here)}"
            )
        names = (here, *self.rtt_us)
        check_file_names(self.source, names, self.limits)
        values = np.full((len(names), len(names)), np.nan)
        np.fill_diagonal(values, 0.0)
        values[0, 1:] = list(self.rtt_us.values())
        return RawDelays(
            names=names,
            values=values,
            place=lambda _, b: f"{METRIC} of {names[b]}",
            unit=DelayUnit.US,
            kind=DelayKind.RTT,
            stated_at=f"{METRIC} is in microseconds",
            measured_at_s=self.newest_s or None,
            notes=(f"peers of {here}: {len(self.rtt_us)}; all other pairs are missing",),
        )

    def error(self, place: str, problem: str) -> LatencyMapError:
        return error_at(self.source, place, problem)


def read_liqo_metrics(source: MapSource, side_files: SideFiles) -> RawDelays:
    """Read what a gateway serves to Prometheus.

    Parameters
    ----------
    source
        Its text, with other metrics or without.
    side_files
        The cluster of the gateway.

    Returns
    -------
    RawDelays
        One row: from the cluster to each of its peers.

    Raises
    ------
    LatencyMapError
        It holds no such metric, a line is broken, or the cluster is not known.
    """
    from prometheus_client.parser import text_string_to_metric_families

    row = _Row(source.name, source.limits)
    for number, line in _lines(source):
        place = f"line {number}"
        try:
            samples = [sample for family in text_string_to_metric_families(line) for sample in family.samples]
        except ValueError as error:
            raise row.error(place, f"expected a figure of {METRIC}, got: {error}; correct it") from None
        for sample in samples:
            row.add(place, sample.labels.get(_PEER), sample.value, _time_s(sample.timestamp))
    return row.delays(side_files)


def read_liqo_answer(content: JsonReader, side_files: SideFiles) -> RawDelays:
    """Read what Prometheus answers to the query ``liqo_peer_latency_us``; see `read_liqo_metrics`."""
    row = _Row(content.name, content.limits)
    answer = content.value()
    data = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(data, dict) or data.get("resultType") != "vector":
        got = data.get("resultType") if isinstance(data, dict) else data
        problem = f"expected an instant query's vector, got {kind_of(got)}; ask /api/v1/query"
        raise row.error("data.resultType", problem)
    result = data.get("result")
    if not isinstance(result, list):
        raise row.error("data.result", f"expected a list, got {kind_of(result)}")
    for index, item in enumerate(result):
        _take_item(row, f"data.result[{index}]", item)
    return row.delays(side_files)


def _take_item(row: _Row, place: str, item: Json) -> None:
    labels = item.get("metric") if isinstance(item, dict) else None
    pair = item.get("value") if isinstance(item, dict) else None
    if not isinstance(labels, dict) or not isinstance(pair, list) or len(pair) != 2:
        raise row.error(place, f"expected a metric and its value, got {kind_of(item)}")
    name = labels.get("__name__", METRIC)  # a query may aggregate, which drops the name
    if name != METRIC:
        raise row.error(place, f"expected {METRIC}, got {kind_of(name)}; ask for that metric")
    try:
        value = float(str(pair[1]))
    except ValueError:
        raise row.error(place, f"expected a number, got {kind_of(pair[1])}") from None
    time_s = as_number(pair[0])
    row.add(place, labels.get(_PEER), value, time_s if time_s is not None and math.isfinite(time_s) else 0.0)


def _lines(source: MapSource) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(source.lines(), 1):
        if line.startswith((f"{METRIC}{{", f"{METRIC} ")):
            yield number, line.rstrip() + "\n"


def _time_s(stamp: object) -> float:
    return float(stamp) if isinstance(stamp, int | float) and math.isfinite(stamp) else 0.0
