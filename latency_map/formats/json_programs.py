"""Results of programs in JSON: Goldpinger, RIPE Atlas, mtr, cilium-health and Globalping."""

import math
from collections.abc import Callable, Sequence
from ipaddress import ip_address
from typing import NamedTuple

from gesscale.common.errors import Problem
from latency_map.errors import LatencyMapError
from latency_map.formats.json_text import Json, at, kind_of, listed, members
from latency_map.formats.prometheus import read_prometheus
from latency_map.formats.rows import parse_delay, parse_time
from latency_map.formats.runs import ProbeRun
from latency_map.formats.samples import Readings
from latency_map.formats.source import ImportOptions, MapSource
from latency_map.kinds import DelayKind, DelayUnit


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


class _Runs:
    """Runs in the results of a program."""

    def __init__(self, source: MapSource, unit: DelayUnit, stated_at: str, *notes: Problem) -> None:
        self.file, self._unit, self._stated_at, self._notes = source.name, unit, stated_at, notes
        self._runs: list[ProbeRun] = []

    def add(
        self,
        place: str,
        source: Json,
        target: Json,
        *,
        replies: Sequence[Json] = (),
        failed: bool = False,
        at_s: Json = None,
        **figures: Json,
    ) -> None:
        """Add a run; what stands for a lost probe in its replies and figures becomes NaN."""
        for name in (source, target):
            if not isinstance(name, str) or not name:
                fields = {"place": place, "expected": "the name of a node", "got": kind_of(name)}
                raise LatencyMapError("map-value-invalid", source=self.file, **fields)
        run = ProbeRun(place=place, source=str(source), target=str(target), failed=failed, at_s=parse_time(at_s))
        run.margin, run.margin_ratio = 0.02, 0.005
        delays = (self.figure(place, reply) for reply in replies)
        run.replies += [(delay, None) for delay in delays if not math.isnan(delay)]
        for name, figure in figures.items():
            setattr(run, name, self.figure(place, figure))
        self._runs.append(run)

    def figure(self, place: str, value: Json) -> float:
        return math.nan if value in (-1, "-1") or str(value) == "nan" else parse_delay(value, self.file, place)[0]

    def readings(self) -> Readings:
        """Return the samples of all runs."""
        return Readings(
            samples=[sample for run in self._runs for sample in run.samples(self.file, self._unit)],
            unit=self._unit,
            kind=DelayKind.RTT,
            stated_at=self._stated_at,
            notes=list(self._notes),
        )


def _each(content: Json) -> list[tuple[int, Json]]:
    """Return the results in a list, or the only one, with their numbers."""
    return list(enumerate(content if isinstance(content, list) else [content], 1))


def _refuse_other(source: MapSource, kinds: set[str], program: str) -> None:
    if others := kinds - {"ping", "None"}:
        looks_like = f"{min(others)} of {program}; use ping"
        raise LatencyMapError("map-format-unknown", source=source.name, looks_like=looks_like)


def _read_goldpinger(source: MapSource, content: Json, _options: ImportOptions) -> Readings:
    """Read a response of ``/check_all``; see CheckAllResults and PodResult in swagger.yml of bloomberg/goldpinger.

    Response times are whole milliseconds, rounded down; Goldpinger leaves out a time of 0.
    """
    pods = members(content, "responses")
    if not pods:
        raise LatencyMapError("map-empty", source=source.name, place="responses", expected="responses of pods")
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
    note = Problem("import-host-names" if by_host else "import-pod-names")
    runs = _Runs(source, DelayUnit.MS, "response times of Goldpinger", note)
    zeros = 0
    for pod, other, result in checks:
        if pod != other:  # a pod that checks itself measures its loopback
            place, failed = f"responses.{pod}.response.podResults.{other}", at(result, "OK") is not True
            time = 0 if failed else at(result, "response-time-ms") or 0
            zeros += not (failed or time)
            runs.add(place, names[pod], names[other], mean=time, failed=failed, at_s=at(result, "PingTime"))
    readings = runs.readings()
    readings.names = tuple(names.values())
    readings.notes += [Problem("import-times-zero", {"count": zeros})] if zeros else []
    readings.warnings.append(Problem("map-http-times"))
    return readings


def _read_ripe(source: MapSource, content: Json, _options: ImportOptions) -> Readings:
    """Read results of ping measurements; a target that is a probe of the same file gets the name of the probe."""
    results = [(number, each, str(at(each, "src_name") or at(each, "prb_id"))) for number, each in _each(content)]
    _refuse_other(source, {str(at(each, "type")) for _, each, _ in results}, "RIPE Atlas")
    names = {at(each, key): name for key in ("src_addr", "from") for _, each, name in results if at(each, key)}
    runs = _Runs(source, DelayUnit.MS, "round trips of RIPE Atlas", Problem("import-probe-names"))
    for number, each, name in results:
        runs.add(
            f"result {number}",
            name,
            names.get(at(each, "dst_addr")) or at(each, "dst_name") or at(each, "dst_addr"),
            replies=[at(reply, "rtt") for reply in listed(each, "result") if not at(reply, "dup")],
            mean=at(each, "avg"),
            sent=at(each, "sent"),
            received=at(each, "rcvd"),
            at_s=at(each, "timestamp"),
        )
    return runs.readings()


def _read_mtr(source: MapSource, content: Json, _options: ImportOptions) -> Readings:
    """Read reports of ``mtr --json``; their last hub is the target, unless it did not reply."""
    runs = _Runs(source, DelayUnit.MS, "means of mtr")
    for number, each in _each(content):
        ends, hubs = at(each, "report", "mtr"), listed(each, "report", "hubs")
        last = hubs[-1] if hubs else None
        lost = not last or at(last, "host") == "???" or _is_other(at(last, "host"), at(ends, "dst"))
        loss = math.nan if lost else runs.figure(f"report {number}", at(last, "Loss%"))
        runs.add(
            f"report {number}",
            at(ends, "src"),
            at(ends, "dst"),
            mean=None if lost else at(last, "Avg"),
            sent=100,
            received=100 - loss,
            failed=lost,
        )
    return runs.readings()


def _is_other(first: Json, second: Json) -> bool:
    """Return whether both are addresses and differ."""
    try:
        return ip_address(str(first)) != ip_address(str(second))
    except ValueError:
        return False


def _read_cilium_health(source: MapSource, content: Json, _options: ImportOptions) -> Readings:
    """Read ``cilium-health status -o json``: nanoseconds by ICMP from the local node to the others."""
    here = at(content, "local", "name")
    nodes = [node for node in listed(content, "nodes") if at(node, "name") != here]
    note = Problem("import-one-row", {"node": here, "targets": len(nodes)})
    runs = _Runs(source, DelayUnit.NS, "nanoseconds of cilium-health", note)
    for node in nodes:
        icmp = at(node, "host", "primary-address", "icmp")
        when = at(icmp, "lastProbed") or at(content, "timestamp")
        failed = bool(at(icmp, "status"))
        runs.add(
            f"node {at(node, 'name')}",
            here,
            at(node, "name"),
            mean=at(icmp, "latency") or None,
            failed=failed,
            at_s=when,
        )
    return runs.readings()


def _read_globalping(source: MapSource, content: Json, _options: ImportOptions) -> Readings:
    """Read measurements of type ping; probes are named by their city, country and network."""
    runs = _Runs(source, DelayUnit.MS, "round trips of Globalping", Problem("import-probe-names"))
    for _, each in _each(content):
        _refuse_other(source, {str(at(each, "type"))}, "Globalping")
        for number, result in enumerate(listed(each, "results"), 1):
            parts = [at(result, "probe", key) for key in ("city", "country", "asn")]
            stats = at(result, "result", "stats")
            runs.add(
                f"result {number}",
                ", ".join(str(part) for part in parts if part),
                at(each, "target"),
                replies=[at(timing, "rtt") for timing in listed(result, "result", "timings")],
                mean=at(stats, "avg"),
                sent=at(stats, "total"),
                received=at(stats, "rcv"),
                at_s=at(each, "updatedAt"),
            )
    return runs.readings()


_PROGRAMS = (
    Program("Goldpinger", frozenset(("responses",)), _read_goldpinger),
    Program("RIPE Atlas", frozenset(("prb_id", "msm_id")), _read_ripe),
    Program("mtr", frozenset(("report",)), _read_mtr),
    Program("cilium-health", frozenset(("local", "nodes")), _read_cilium_health),
    Program("Globalping", frozenset(("results", "target")), _read_globalping),
    Program("Prometheus", frozenset(("status", "data")), read_prometheus),
    Program("Prometheus", frozenset(("resultType", "result")), read_prometheus),
)
