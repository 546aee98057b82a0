"""Results of programs in JSON as lists of objects: Goldpinger, RIPE Atlas, mtr, cilium-health and Globalping.

Each member has the two nodes, one or several round trips, and what the program states of loss and time.
"""

import math
from collections.abc import Callable, Sequence
from ipaddress import ip_address
from statistics import fmean
from typing import NamedTuple

from gesscale.common.errors import Problem
from latency_map.errors import LatencyMapError
from latency_map.formats.json_table import Object, ObjectList, read_list
from latency_map.formats.json_text import Json, at, listed, members
from latency_map.formats.prometheus import read_prometheus
from latency_map.formats.rows import parse_delay
from latency_map.formats.samples import Readings
from latency_map.formats.source import DEFAULT_OPTIONS, ImportOptions, MapSource

#: Difference of two means in ms that rounding explains, and as a ratio.
_MARGIN_MS, _MARGIN_RATIO = 0.02, 0.005


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


def _read(source: MapSource, rows: Sequence[Object], *notes: Problem) -> Readings:
    readings = read_list(source.name, ObjectList((), (), rows), DEFAULT_OPTIONS)
    readings.notes += notes
    return readings


def _row(source: Json, target: Json, delay: Json, *, unit: str = "ms", **facts: Json) -> Object:
    return {"source": source, "target": target, f"rtt_{unit}": delay, **facts}


def _each(content: Json) -> list[Json]:
    return content if isinstance(content, list) else [content]


def _replies(source: MapSource, target: Json, replies: Sequence[Json], mean: Json, received: Json) -> list[Json]:
    """Return the round trips of a run, or its mean if it shows none, with None for a loss.

    Raises
    ------
    LatencyMapError
        The replies contradict the mean or the number that the program states.
    """
    stated, *every = (
        math.nan if figure in (-1, "-1") else parse_delay(figure, source.name, str(target))[0]
        for figure in (mean, *replies)
    )
    known = [reply for reply in every if not math.isnan(reply)]
    if not known:
        return [None if math.isnan(stated) else stated]
    if isinstance(received, int) and received != len(known):
        fields = {"target": target, "received": received, "read": len(known)}
        raise LatencyMapError("map-ping-replies-unread", source=source.name, **fields)
    if abs(fmean(known) - stated) > _MARGIN_MS + _MARGIN_RATIO * stated:
        fields = {"target": target, "mean": fmean(known), "summary": stated}
        raise LatencyMapError("map-ping-mean-contradicted", source=source.name, **fields)
    return list(known)


def _refuse_other(source: MapSource, results: list[Json], program: str) -> None:
    if others := {str(at(each, "type")) for each in results} - {"ping", "None"}:
        looks_like = f"{min(others)} of {program}; use ping"
        raise LatencyMapError("map-format-unknown", source=source.name, looks_like=looks_like)


def _read_goldpinger(source: MapSource, content: Json, _options: ImportOptions) -> Readings:
    """Read a response of ``/check_all``; see CheckAllResults and PodResult in swagger.yml of bloomberg/goldpinger.

    Response times are whole milliseconds, rounded down; Goldpinger leaves out a time of 0.
    """
    pods = members(content, "responses")
    hosts = {pod: at(response, "HostIP") for pod, response in pods.items()}
    checks: list[tuple[str, str, Json]] = []
    for pod, response in pods.items():
        answer = members(response, "response")  # older versions have the results without podResults
        results = members(answer, "podResults") if {"podResults", "dnsResults"} & answer.keys() else answer
        checks += [(pod, other, result) for other, result in results.items()]
    for _, other, result in checks:
        hosts[other] = hosts.get(other) or at(result, "HostIP")
    by_host = all(hosts.values()) and len({str(host) for host in hosts.values()}) == len(hosts)
    names = {pod: str(host) if by_host else pod for pod, host in hosts.items()}
    rows = []
    for pod, other, result in checks:
        if pod != other:  # a pod that checks itself measures its loopback
            time, when = at(result, "response-time-ms") or 0, at(result, "PingTime")
            rows.append(_row(names[pod], names[other], time, ok=at(result, "OK") is True, timestamp=when))
    if not rows:
        raise LatencyMapError("map-empty", source=source.name, place="responses", expected="checks of other pods")
    zeros = sum(row["ok"] is True and row["rtt_ms"] == 0 for row in rows)
    notes = [Problem("import-host-names" if by_host else "import-pod-names")]
    notes += [Problem("import-times-zero", {"count": zeros})] if zeros else []
    readings = _read(source, rows, *notes)
    readings.names = tuple(names.values())
    readings.warnings.append(Problem("map-http-times"))
    return readings


def _read_ripe(source: MapSource, content: Json, _options: ImportOptions) -> Readings:
    """Read results of ping measurements; a target that is a probe of the same file gets the name of the probe."""
    results = _each(content)
    _refuse_other(source, results, "RIPE Atlas")
    named = [(str(at(each, "src_name") or at(each, "prb_id")), each) for each in results]
    names = {str(at(each, key)): name for key in ("src_addr", "from") for name, each in named if at(each, key)}
    rows = []
    for name, each in named:
        target = names.get(str(at(each, "dst_addr"))) or at(each, "dst_name") or at(each, "dst_addr")
        sent, received, mean, when = (at(each, key) for key in ("sent", "rcvd", "avg", "timestamp"))
        replies = [at(reply, "rtt") for reply in listed(each, "result") if not at(reply, "dup")]
        replies = _replies(source, target, replies, mean, received)
        rows.append(_row(name, target, replies, sent=sent, received=received, timestamp=when))
    return _read(source, rows, Problem("import-probe-names"))


def _read_mtr(source: MapSource, content: Json, _options: ImportOptions) -> Readings:
    """Read reports of ``mtr --json``; their last hub is the target, unless it did not reply."""
    rows = []
    for each in _each(content):
        ends, hubs = at(each, "report", "mtr"), listed(each, "report", "hubs")
        last = hubs[-1] if hubs else None
        lost = at(last, "host") in (None, "???") or _is_other(at(last, "host"), at(ends, "dst"))
        loss = 100 if lost else at(last, "Loss%")
        rows.append(_row(at(ends, "src"), at(ends, "dst"), at(last, "Avg"), loss_pct=loss))
    return _read(source, rows)


def _is_other(first: Json, second: Json) -> bool:
    """Return whether both are addresses and differ."""
    try:
        return ip_address(str(first)) != ip_address(str(second))
    except ValueError:
        return False


def _read_cilium_health(source: MapSource, content: Json, _options: ImportOptions) -> Readings:
    """Read ``cilium-health status -o json``: nanoseconds by ICMP from the local node to the others."""
    here = at(content, "local", "name")
    rows = []
    for node in listed(content, "nodes"):
        icmp = at(node, "host", "primary-address", "icmp")
        when = at(icmp, "lastProbed") or at(content, "timestamp")
        if at(node, "name") != here:
            time = at(icmp, "latency") or None
            rows.append(_row(here, at(node, "name"), time, unit="ns", ok=not at(icmp, "status"), timestamp=when))
    return _read(source, rows, Problem("import-one-row", {"node": here, "targets": len(rows)}))


def _read_globalping(source: MapSource, content: Json, _options: ImportOptions) -> Readings:
    """Read measurements of type ping; probes are named by their city, country and network."""
    _refuse_other(source, _each(content), "Globalping")
    rows = []
    for each in _each(content):
        for result in listed(each, "results"):
            parts = [at(result, "probe", key) for key in ("city", "country", "asn")]
            name, target, when = (
                ", ".join(str(part) for part in parts if part),
                at(each, "target"),
                at(each, "updatedAt"),
            )
            mean, sent, received = (at(result, "result", "stats", key) for key in ("avg", "total", "rcv"))
            replies = [at(timing, "rtt") for timing in listed(result, "result", "timings")]
            replies = _replies(source, target, replies, mean, received)
            rows.append(_row(name, target, replies, sent=sent, received=received, timestamp=when))
    return _read(source, rows, Problem("import-probe-names"))


_PROGRAMS = (
    Program("Goldpinger", frozenset(("responses",)), _read_goldpinger),
    Program("RIPE Atlas", frozenset(("prb_id", "msm_id")), _read_ripe),
    Program("mtr", frozenset(("report",)), _read_mtr),
    Program("cilium-health", frozenset(("local", "nodes")), _read_cilium_health),
    Program("Globalping", frozenset(("results", "target")), _read_globalping),
    Program("Prometheus", frozenset(("status", "data")), read_prometheus),
    Program("Prometheus", frozenset(("resultType", "result")), read_prometheus),
)
