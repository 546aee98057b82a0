"""Results of programs in JSON as lists of objects: RIPE Atlas, mtr and cilium-health.

Each member has the two nodes, one or several round trips, and what the program states of loss and time.
"""

import math
from collections.abc import Callable, Iterator
from ipaddress import ip_address
from statistics import fmean
from typing import NamedTuple

from gesscale.common.errors import Problem
from latency_map.errors import LatencyMapError
from latency_map.formats.json_table import Object, ObjectList, read_list
from latency_map.formats.json_text import Json, at, listed
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


def _reader(
    rows_of: Callable[[str, list[Json]], Iterator[Object]], note: str = ""
) -> Callable[[MapSource, Json, ImportOptions], Readings]:
    """Return a reader of results that become rows, with a note."""

    def read(source: MapSource, content: Json, _options: ImportOptions) -> Readings:
        rows = list(rows_of(source.name, content if isinstance(content, list) else [content]))
        readings = read_list(source.name, ObjectList((), (), rows), DEFAULT_OPTIONS)
        readings.notes += [Problem(note)] if note else []
        return readings

    return read


def _row(source: Json, target: Json, delay: Json, *, unit: str = "ms", **facts: Json) -> Object:
    return {"source": source, "target": target, f"rtt_{unit}": delay, **facts}


def _rows_of_ripe(file: str, results: list[Json]) -> Iterator[Object]:
    """Read results of ping measurements; a target that is a probe of the same file gets the name of the probe.

    Raises
    ------
    LatencyMapError
        A result is of another kind, or its replies contradict the mean or the number that it states.
    """
    named = [(str(at(each, "src_name") or at(each, "prb_id")), each) for each in results]
    names = {str(at(each, key)): name for key in ("src_addr", "from") for name, each in named if at(each, key)}
    for name, each in named:
        target = names.get(str(at(each, "dst_addr"))) or at(each, "dst_name") or at(each, "dst_addr")
        if (kind := at(each, "type")) not in ("ping", None):
            raise LatencyMapError("map-format-unknown", source=file, looks_like=f"{kind} of RIPE Atlas; use ping")
        sent, received, mean, when = (at(each, key) for key in ("sent", "rcvd", "avg", "timestamp"))
        replies = [at(reply, "rtt") for reply in listed(each, "result") if not at(reply, "dup")]
        stated, *every = (
            math.nan if figure == -1 else parse_delay(figure, file, str(target))[0] for figure in (mean, *replies)
        )
        known = [reply for reply in every if not math.isnan(reply)]
        if known and isinstance(received, int) and received != len(known):
            fields = {"target": target, "received": received, "read": len(known)}
            raise LatencyMapError("map-ping-replies-unread", source=file, **fields)
        if known and abs(fmean(known) - stated) > _MARGIN_MS + _MARGIN_RATIO * stated:
            means = {"target": target, "mean": fmean(known), "summary": stated}
            raise LatencyMapError("map-ping-mean-contradicted", source=file, **means)
        delays: list[Json] = [*known] if known else [None if math.isnan(stated) else stated]
        yield _row(name, target, delays, sent=sent, received=received, timestamp=when)


def _rows_of_mtr(_file: str, results: list[Json]) -> Iterator[Object]:
    """Read reports of ``mtr --json``; their last hub is the target, unless it did not reply."""
    for each in results:
        ends, hubs = at(each, "report", "mtr"), listed(each, "report", "hubs")
        last = hubs[-1] if hubs else None
        lost = at(last, "host") in (None, "???") or _is_other(at(last, "host"), at(ends, "dst"))
        loss = 100 if lost else at(last, "Loss%")
        yield _row(at(ends, "src"), at(ends, "dst"), at(last, "Avg"), loss_pct=loss)


def _is_other(first: Json, second: Json) -> bool:
    """Return whether both are addresses and differ."""
    try:
        return ip_address(str(first)) != ip_address(str(second))
    except ValueError:
        return False


def _rows_of_cilium_health(_file: str, results: list[Json]) -> Iterator[Object]:
    """Read ``cilium-health status -o json``: nanoseconds by ICMP from the local node to the others."""
    for each in results:
        here = at(each, "local", "name")
        for node in listed(each, "nodes"):
            icmp = at(node, "host", "primary-address", "icmp")
            when = at(icmp, "lastProbed") or at(each, "timestamp")
            if at(node, "name") != here:
                time = at(icmp, "latency") or None
                yield _row(here, at(node, "name"), time, unit="ns", ok=not at(icmp, "status"), timestamp=when)


_PROGRAMS = (
    Program("RIPE Atlas", frozenset(("prb_id", "msm_id")), _reader(_rows_of_ripe, "import-probe-names")),
    Program("mtr", frozenset(("report",)), _reader(_rows_of_mtr)),
    Program("cilium-health", frozenset(("local", "nodes")), _reader(_rows_of_cilium_health)),
    Program("Prometheus", frozenset(("status", "data")), read_prometheus),
    Program("Prometheus", frozenset(("resultType", "result")), read_prometheus),
)
