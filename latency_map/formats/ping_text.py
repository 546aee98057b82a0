"""Output of ``ping`` and ``fping``: round trips from the node on which they ran to others.

Supported: ``ping`` of iputils (with ``-q``, ``-D`` too), busybox and macOS, several runs one after the other; ``fping``
by default, with ``-e``, ``-c``, ``-C``, ``-q``, ``-s``, ``-D``.
"""

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np

from gesscale.common.errors import Problem
from latency_map.errors import LatencyMapError, error_of
from latency_map.formats.source import ImportOptions, MapSource, RawDelays, check_file_names
from latency_map.kinds import DelayKind, DelayUnit
from latency_map.limits import MapLimits

_MS = r"(\d{1,9}(?:\.\d{1,9})?)"
_STAMP = r"(?:\[(\d{1,12}(?:\.\d{1,9})?)\] )?"
_PING_STARTS = re.compile(r"PING6?[ (]([^\s()=]{1,255})[ ()].*")
_PING_REPLY = re.compile(_STAMP + rf"\d+ bytes from .*[ :]time[=<]{_MS} ?ms( \(DUP!\))?.*")
_PING_SUMMARY = re.compile(rf"(?:rtt|round-trip) min/avg/max(?:/\w+)? = {_MS}/{_MS}/.* ms.*")
_FPING_TARGET = r"(\S{1,255})(?: \([^)\s]{1,255}\))?"
_FPING_REPLY = re.compile(_STAMP + rf"{_FPING_TARGET}\s+: \[\d+\], (?:\d+ bytes, {_MS} ms|timed out).*")
_FPING_REPLIES = re.compile(rf"{_FPING_TARGET}\s+:((?: (?:{_MS}|-))+)")
_FPING_SUMMARY = re.compile(rf"{_FPING_TARGET}\s+: xmt/rcv/%\w+ = [^,]+(?:, min/avg/max = {_MS}/{_MS}/{_MS})?")
_FPING_STATE = re.compile(rf"{_FPING_TARGET} is (?:alive|unreachable)(?: \({_MS} ms\))?.*")
_MAX_LINE_CHARACTERS = 2000

PING_BEGINS = re.compile(r"^PING6?[ (]\S+[ )].*(?:bytes|-->)", re.MULTILINE)
FPING_BEGINS = re.compile(
    r"^(?:\[[\d.]{1,30}\] )?\S{1,255}(?: \([^)\s]{1,255}\))?"
    r"(?: {1,80}: (?:\[\d+\], |xmt/rcv|(?:[\d.]+|-)(?: (?:[\d.]+|-))*\r?$)| is (?:alive|unreachable))",
    re.MULTILINE,
)


@dataclass(slots=True)
class _Target:
    """Round trips to one target: single replies, replies listed at the end, and averages of summaries."""

    single: list[float] = field(default_factory=list)
    listed: list[float] = field(default_factory=list)
    averages: list[float] = field(default_factory=list)

    def rtt_ms(self) -> float:
        for figures in (self.listed, self.single, self.averages):
            if figures:
                return float(np.median(figures))
        return math.nan


class _Targets(dict[str, _Target]):
    """Round trips to each target, up to the limit of nodes."""

    def __init__(self, source: str, limits: MapLimits) -> None:
        super().__init__()
        self._source, self._limits = source, limits

    def __missing__(self, name: str) -> _Target:
        if len(self) == self._limits.nodes:
            raise error_of(self._limits.too_many_nodes(), source=self._source)
        target = self[name] = _Target()
        return target


def read_ping(source: MapSource, options: ImportOptions) -> RawDelays:
    """Read the output of one or several runs of ``ping``.

    Raises
    ------
    LatencyMapError
        The text has no target, or the node on which ``ping`` ran is not given.
    """
    targets, newest = _pinged(_short_lines(source), source.name, source.limits)
    return _one_row(source, targets, options, newest, "ping")


def read_fping(source: MapSource, options: ImportOptions) -> RawDelays:
    """Read the output of one or several runs of ``fping``; see `read_ping`."""
    targets = _Targets(source.name, source.limits)
    newest = 0.0
    for line in _short_lines(source):
        if reply := _FPING_REPLY.fullmatch(line):
            newest = max(newest, float(reply[1] or 0))
            targets[reply[2]].single += _figures(reply[3])
        elif listed := _FPING_REPLIES.fullmatch(line):
            targets[listed[1]].listed += _figures(*listed[2].replace("-", "").split())
        elif summary := _FPING_SUMMARY.fullmatch(line):
            targets[summary[1]].averages += _figures(summary[3])
        elif state := _FPING_STATE.fullmatch(line):
            targets[state[1]].single += _figures(state[2])
    return _one_row(source, targets, options, newest, "fping")


def _pinged(lines: Iterable[str], source: str, limits: MapLimits) -> tuple[dict[str, _Target], float]:
    """Return the round trips to each target of ``ping``, and the newest time stamp; 0 if there is none."""
    targets = _Targets(source, limits)
    newest = 0.0
    target: _Target | None = None
    for line in lines:
        if starts := _PING_STARTS.match(line):
            target = targets[starts[1]]
        elif target is None:
            continue
        elif reply := _PING_REPLY.match(line):
            newest = max(newest, float(reply[1] or 0))
            if not reply[3]:
                target.single += _figures(reply[2])
        elif summary := _PING_SUMMARY.match(line):
            target.averages += _figures(summary[2])
    return targets, newest


def _figures(*texts: str | None) -> list[float]:
    """Parse round trips; None is a missing reply."""
    return [float(text) for text in texts if text is not None]


def _short_lines(source: MapSource) -> Iterator[str]:
    return (line.rstrip() for line in source.lines() if len(line) <= _MAX_LINE_CHARACTERS)


def _one_row(
    source: MapSource, targets: dict[str, _Target], options: ImportOptions, newest: float, program: str
) -> RawDelays:
    if not targets:
        raise LatencyMapError("map-empty", source=source.name, expected=f"targets in the output of {program}")
    if options.probed_from is None:
        raise LatencyMapError("map-source-missing", source=source.name, targets=list(targets))
    names = tuple(dict.fromkeys((options.probed_from, *targets)))
    check_file_names(source.name, names, source.limits)
    values = np.full((len(names), len(names)), np.nan)
    np.fill_diagonal(values, 0.0)
    columns = {name: column for column, name in enumerate(names)}
    lost = []
    for name, target in targets.items():
        rtt_ms = values[0, columns[name]] = target.rtt_ms()
        if math.isnan(rtt_ms):
            lost.append(name)
    notes = [Problem("import-one-row", {"node": options.probed_from, "targets": len(targets)})]
    if lost:
        notes.append(Problem("import-targets-silent", {"targets": lost}))
    return RawDelays(
        names=names,
        values=values,
        place=lambda _, b: f"replies of {names[b]}",
        unit=DelayUnit.MS,
        kind=DelayKind.RTT,
        stated_at=f"round trips of {program} in milliseconds",
        measured_at_s=newest if newest > 0 else None,
        notes=tuple(notes),
    )
