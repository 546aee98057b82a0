"""Results of programs in JSON: Goldpinger, RIPE Atlas, mtr, cilium-health and Globalping."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import NamedTuple

from gesscale.common.errors import Problem
from latency_map.errors import LatencyMapError
from latency_map.formats.json_text import Json, at, kind_of, listed, members
from latency_map.formats.prometheus import read_prometheus
from latency_map.formats.rows import parse_delay, parse_time
from latency_map.formats.samples import DelaySample, Readings
from latency_map.formats.source import ImportOptions, MapSource
from latency_map.kinds import DelayKind, DelayUnit

#: Difference of two means that rounding explains, in the unit of the program and as a ratio.
_MARGIN, _MARGIN_RATIO = 0.02, 0.005


@dataclass(slots=True, kw_only=True)
class _Run:
    """Probes from one node to another, as a program reports them; None for what it does not report."""

    place: str
    source: Json
    target: Json
    #: Single round trips, and their mean.
    replies: Sequence[Json] = ()
    mean: Json = None
    sent: Json = None
    received: Json = None
    failed: bool = False
    at: Json = None


class Program(NamedTuple):
    """A program whose results are read."""

    name: str
    #: Keys of its results, or of each of them in a list.
    keys: frozenset[str]
    read: Callable[[MapSource, Json, ImportOptions], Readings]


def program_of(content: Json) -> Program | None:
    """Return the program that wrote the content; None if it is of none that is known."""
    first = content[0] if isinstance(content, list) and content else content
    keys = set(first) if isinstance(first, dict) else set()
    return next((program for program in _PROGRAMS if program.keys <= keys), None)


def _read(source: MapSource, runs: Iterator[_Run], unit: DelayUnit, stated_at: str) -> Readings:
    """Return the samples of runs."""
    samples = [sample for run in runs for sample in _samples(source.name, run, unit)]
    return Readings(samples=samples, unit=unit, kind=DelayKind.RTT, stated_at=stated_at)


def _samples(file: str, run: _Run, unit: DelayUnit) -> Iterator[DelaySample]:
    """Return the samples of a run whose replies agree with their number and their mean."""
    for name in (run.source, run.target):
        if not isinstance(name, str) or not name:
            raise _refusal("map-value-invalid", file, run, expected="the name of a node", got=kind_of(name))
    replies = [delay for reply in run.replies if not math.isnan(delay := _delay(file, run, reply))]
    mean, sent, received = (_delay(file, run, figure) for figure in (run.mean, run.sent, run.received))
    if replies and not math.isnan(received) and received != len(replies):
        raise _refusal("map-ping-replies-unread", file, run, target=run.target, received=received, read=len(replies))
    found = fmean(replies or [math.nan])
    if abs(found - mean) > _MARGIN + _MARGIN_RATIO * mean:
        raise _refusal("map-ping-mean-contradicted", file, run, target=run.target, mean_ms=found, summary_ms=mean)
    loss_ratio = 1.0 if run.failed else 1 - min(1.0, received / sent) if sent > 0 and received >= 0 else None
    ends, at_s = (str(run.source), str(run.target)), parse_time(run.at)
    for delay in replies or [mean]:
        yield DelaySample(*ends, delay, run.place, unit, DelayKind.RTT, loss_ratio, at_s)


def _refusal(code: str, file: str, run: _Run, **fields: object) -> LatencyMapError:
    return LatencyMapError(code, source=file, place=run.place, **fields)


def _delay(file: str, run: _Run, value: Json) -> float:
    """Parse a figure; NaN for what programs write if there is none."""
    return math.nan if value in (-1, "-1") else parse_delay(value, file, run.place)[0]


def _read_goldpinger(source: MapSource, content: Json, _options: ImportOptions) -> Readings:
    """Read a response of ``/check_all``; see CheckAllResults and PodResult in swagger.yml of bloomberg/goldpinger.

    Response times are whole milliseconds, rounded down; Goldpinger leaves out a time of 0.
    """
    pods = members(content, "responses")
    if not pods:
        raise LatencyMapError("map-empty", source=source.name, place="responses", expected="responses of pods")
    hosts = {pod: at(response, "HostIP") for pod, response in pods.items()}
    runs: list[_Run] = []
    for pod, response in pods.items():
        answer = members(response, "response")  # older versions have the results without podResults
        results = members(answer, "podResults") if {"podResults", "dnsResults"} & answer.keys() else answer
        for other, result in results.items():
            hosts[other] = hosts.get(other) or at(result, "HostIP")
            if pod != other:  # a pod that checks itself measures its loopback
                run = _Run(place=f"responses.{pod}.response.podResults.{other}", source=pod, target=other)
                run.failed, run.at = at(result, "OK") is not True, at(result, "PingTime")
                run.mean = None if run.failed else at(result, "response-time-ms") or 0
                runs.append(run)
    by_host = all(hosts.values()) and len(set(map(str, hosts.values()))) == len(hosts)
    if by_host:
        for run in runs:
            run.source, run.target = hosts[str(run.source)], hosts[str(run.target)]
    readings = _read(source, iter(runs), DelayUnit.MS, "response times of Goldpinger in milliseconds")
    readings.names = tuple(map(str, hosts.values() if by_host else hosts))
    readings.notes.append(Problem("import-host-names" if by_host else "import-pod-names"))
    if zeros := sum(run.mean == 0 for run in runs):
        readings.notes.append(Problem("import-times-zero", {"count": zeros}))
    readings.warnings.append(Problem("map-http-times"))
    return readings


def _read_ripe(source: MapSource, content: Json, _options: ImportOptions) -> Readings:
    """Read results of ping measurements; a target that is a probe of the same file gets the name of the probe."""
    results = content if isinstance(content, list) else [content]
    if others := {str(at(each, "type")) for each in results} - {"ping", "None"}:
        looks_like = f"{min(others)} of RIPE Atlas; use ping"
        raise LatencyMapError("map-format-unknown", source=source.name, looks_like=looks_like)
    names = [str(at(each, "src_name") or at(each, "prb_id")) for each in results]
    named = list(zip(results, names, strict=True))
    of_address = {str(at(each, key)): name for key in ("src_addr", "from") for each, name in named}
    runs = (
        _Run(
            place=f"result {number}",
            source=name,
            target=of_address.get(str(at(each, "dst_addr"))) or at(each, "dst_name") or at(each, "dst_addr"),
            replies=[at(reply, "rtt") for reply in listed(each, "result") if not at(reply, "dup")],
            mean=at(each, "avg"),
            sent=at(each, "sent"),
            received=at(each, "rcvd"),
            at=at(each, "timestamp"),
        )
        for number, (each, name) in enumerate(named, 1)
    )
    readings = _read(source, runs, DelayUnit.MS, "round trips of RIPE Atlas")
    readings.notes.append(Problem("import-probe-names"))
    return readings


def _read_mtr(source: MapSource, content: Json, _options: ImportOptions) -> Readings:
    """Read reports of ``mtr --json``; their last hub is the target, unless it did not reply."""
    runs = []
    for number, each in enumerate(content if isinstance(content, list) else [content], 1):
        hubs = listed(each, "report", "hubs")
        run = _Run(
            place=f"report {number}", source=at(each, "report", "mtr", "src"), target=at(each, "report", "mtr", "dst")
        )
        run.failed = not hubs or at(hubs[-1], "host") == "???" or at(hubs[-1], "Loss%") == 100
        run.mean = None if run.failed else at(hubs[-1], "Avg")
        runs.append(run)
    return _read(source, iter(runs), DelayUnit.MS, "means of mtr")


def _read_cilium_health(source: MapSource, content: Json, _options: ImportOptions) -> Readings:
    """Read ``cilium-health status -o json``: nanoseconds by ICMP from the local node to the others."""
    here = at(content, "local", "name")
    runs = []
    for node in listed(content, "nodes"):
        icmp = at(node, "host", "primary-address", "icmp")
        run = _Run(place=f"node {at(node, 'name')}", source=here, target=at(node, "name"))
        run.mean, run.failed = at(icmp, "latency") or None, bool(at(icmp, "status"))
        run.at = at(icmp, "lastProbed") or at(content, "timestamp")
        if run.target != here:
            runs.append(run)
    readings = _read(source, iter(runs), DelayUnit.NS, "nanoseconds of cilium-health")
    readings.notes.append(Problem("import-one-row", {"node": here, "targets": len(runs)}))
    return readings


def _read_globalping(source: MapSource, content: Json, _options: ImportOptions) -> Readings:
    """Read measurements of type ping."""
    runs = []
    for each in content if isinstance(content, list) else [content]:
        if at(each, "type") not in ("ping", None):
            looks_like = f"{at(each, 'type')} of Globalping; use ping"
            raise LatencyMapError("map-format-unknown", source=source.name, looks_like=looks_like)
        for number, result in enumerate(listed(each, "results"), 1):
            parts = [at(result, "probe", key) for key in ("city", "country", "asn")]
            stats = at(result, "result", "stats")
            runs.append(
                _Run(
                    place=f"result {number}",
                    source=", ".join(str(part) for part in parts if part),
                    target=at(each, "target"),
                    replies=[at(timing, "rtt") for timing in listed(result, "result", "timings")],
                    mean=at(stats, "avg"),
                    sent=at(stats, "total"),
                    received=at(stats, "rcv"),
                    at=at(each, "updatedAt"),
                )
            )
    readings = _read(source, iter(runs), DelayUnit.MS, "round trips of Globalping")
    readings.notes.append(Problem("import-probe-names"))
    return readings


_PROGRAMS = (
    Program("Goldpinger", frozenset(("responses",)), _read_goldpinger),
    Program("RIPE Atlas", frozenset(("prb_id", "msm_id")), _read_ripe),
    Program("mtr", frozenset(("report",)), _read_mtr),
    Program("cilium-health", frozenset(("local", "nodes")), _read_cilium_health),
    Program("Globalping", frozenset(("results", "target")), _read_globalping),
    Program("Prometheus", frozenset(("status", "data")), read_prometheus),
    Program("Prometheus", frozenset(("resultType", "result")), read_prometheus),
)
