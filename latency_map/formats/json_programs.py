"""Results of programs in JSON as lists of objects: RIPE Atlas, mtr and cilium-health.

Each member has the two nodes, one or several round trips, and what the program states of loss and time.
"""

import math
from collections.abc import Callable
from ipaddress import ip_address
from typing import NamedTuple

from gesscale.common.errors import Problem
from latency_map.errors import LatencyMapError
from latency_map.formats.json_table import Object, ObjectList, read_list
from latency_map.formats.json_text import Json, at, listed
from latency_map.formats.ping_text import PingRun
from latency_map.formats.prometheus import read_prometheus
from latency_map.formats.rows import parse_time
from latency_map.formats.samples import DelaySample, Readings
from latency_map.formats.source import DEFAULT_OPTIONS, ImportOptions, MapSource
from latency_map.kinds import DelayKind, DelayUnit

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


def _each(content: Json) -> list[Json]:
    return content if isinstance(content, list) else [content]


def _row(source: Json, target: Json, delay: Json, *, unit: str = "ms", **facts: Json) -> Object:
    return {"source": source, "target": target, f"rtt_{unit}": delay, **facts}


def _read_ripe(source: MapSource, content: Json, _options: ImportOptions) -> Readings:
    """Read results of ping measurements; a target that is a probe of the same file gets the name of the probe.

    Raises
    ------
    LatencyMapError
        A result is of another kind, or its replies contradict the mean or the number that it states.
    """
    named = [(str(at(each, "src_name") or at(each, "prb_id")), each) for each in _each(content)]
    names = {str(at(each, key)): name for key in ("src_addr", "from") for name, each in named if at(each, key)}
    samples: list[DelaySample] = []
    for number, (name, each) in enumerate(named, 1):
        if (kind := at(each, "type")) not in ("ping", None):
            raise LatencyMapError(
                "map-format-unknown", source=source.name, looks_like=f"{kind} of RIPE Atlas; use ping"
            )
        target = names.get(str(at(each, "dst_addr"))) or at(each, "dst_name") or at(each, "dst_addr")
        at_s = parse_time(at(each, "timestamp"))
        replies = [_figure(at(reply, "rtt")) for reply in listed(each, "result") if not at(reply, "dup")]
        run = PingRun(str(target), f"entry {number}", at_s=at_s, mean=_figure(at(each, "avg")))
        run.sent, run.received = _figure(at(each, "sent")), _figure(at(each, "rcvd"))
        run.replies = [(delay, at_s) for delay in replies if not math.isnan(delay)]
        run.margin = _MARGIN_MS + _MARGIN_RATIO * run.mean
        samples += run.samples(source.name, name)
    notes = [Problem("import-probe-names")]
    return Readings(samples=samples, unit=DelayUnit.MS, kind=DelayKind.RTT, stated_at="RIPE Atlas", notes=notes)


def _figure(figure: Json) -> float:
    """Return a figure that is not negative, NaN if there is none."""
    return float(min(figure, 1e300)) if isinstance(figure, int | float) and figure >= 0 else math.nan


def _read_mtr(source: MapSource, content: Json, _options: ImportOptions) -> Readings:
    """Read reports of ``mtr --json``; their last hub is the target, unless it did not reply."""
    rows: list[Object] = []
    for each in _each(content):
        ends, hubs = at(each, "report", "mtr"), listed(each, "report", "hubs")
        last = hubs[-1] if hubs else None
        lost = at(last, "host") in (None, "???") or _is_other(at(last, "host"), at(ends, "dst"))
        loss = 100 if lost else at(last, "Loss%")
        rows.append(_row(at(ends, "src"), at(ends, "dst"), at(last, "Avg"), loss_pct=loss))
    return read_list(source.name, ObjectList((), (), rows), DEFAULT_OPTIONS)


def _is_other(first: Json, second: Json) -> bool:
    """Return whether both are addresses and differ."""
    try:
        return ip_address(str(first)) != ip_address(str(second))
    except ValueError:
        return False


def _read_cilium_health(source: MapSource, content: Json, _options: ImportOptions) -> Readings:
    """Read ``cilium-health status -o json``: nanoseconds by ICMP from the local node to the others."""
    rows: list[Object] = []
    checked = [(status, node) for status in _each(content) for node in listed(status, "nodes")]
    for status, node in checked:
        icmp = at(node, "host", "primary-address", "icmp")
        when, time = at(icmp, "lastProbed") or at(status, "timestamp"), at(icmp, "latency") or None
        if at(node, "name") != (here := at(status, "local", "name")):
            rows.append(_row(here, at(node, "name"), time, unit="ns", ok=not at(icmp, "status"), timestamp=when))
    return read_list(source.name, ObjectList((), (), rows), DEFAULT_OPTIONS)


_PROGRAMS = (
    Program("RIPE Atlas", frozenset(("prb_id", "msm_id")), _read_ripe),
    Program("mtr", frozenset(("report",)), _read_mtr),
    Program("cilium-health", frozenset(("local", "nodes")), _read_cilium_health),
    Program("Prometheus", frozenset(("status", "data")), read_prometheus),
    Program("Prometheus", frozenset(("resultType", "result")), read_prometheus),
)
