"""Output of ``ping`` and ``fping``: round trips from the node on which they ran to others.

Read are ``ping`` of iputils, busybox, inetutils, macOS, the BSDs (``ping6`` too) and Windows, in all languages that
write the unit in Latin letters, several runs one after the other; and ``fping`` by default, with ``-a -e``, ``-c``,
``-C``, ``-q``, ``-s``, ``-D``. The replies of a run are held against the count and the mean in its summary.
"""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from gesscale.common.errors import Problem
from gesscale.common.text import shortened
from latency_map.errors import LatencyMapError
from latency_map.formats.samples import DelaySample, Readings
from latency_map.formats.source import ImportOptions, MapSource
from latency_map.kinds import DelayKind, DelayUnit

_NUMBER = r"-?\d{1,9}(?:[.,]\d{0,9})?"
_FIGURE = rf"({_NUMBER}) ?(us|µs|μs|ms|s|usec|msec|sec)(?![\w/])"
_MS_PER = {"us": 1e-3, "usec": 1e-3, "µs": 1e-3, "μs": 1e-3, "ms": 1.0, "msec": 1.0, "s": 1e3, "sec": 1e3}
_STAMP = r"(?:\[(\d{1,12}(?:\.\d{1,9})?)\] )?"
_NAME = r"(\S{1,255}?)"
_ADDRESS = r"[\da-fA-F:.%]{1,60}"

_STARTS = re.compile(rf"PING6?[ (](?:\S+ bytes\) {_ADDRESS} --> )?([^\s()=]{{1,255}}?):?(?:[ (].*|$)")
_STARTS_IN_WINDOWS = re.compile(rf"[^\d:\[\]]{{2,60}}? {_NAME}(?: \[{_ADDRESS}\])? \D{{1,60}}? \d{{1,5}} \D{{1,60}}:")
_SUMMARY_STARTS = re.compile(r"--- (?:[^\W\d]+ ping )?(\S{1,255}) .*---|--- .*\bping (\S{1,255}) ---", re.IGNORECASE)
_REPLY = re.compile(rf"{_STAMP}.*?seq=\d+.*?[\s:][^\W\d]{{1,20}} ?([=<]) ?{_FIGURE}(.*)")
_REPLY_IN_WINDOWS = re.compile(rf"()[^=<]{{1,200}}(?:=\d+ )?[^\W\d]{{1,20}}([=<]){_FIGURE}((?: TTL=\d+)?)")
_COUNTS = re.compile(r"(?!.*ewma)\D{0,40}(\d{1,9})\D{1,80}(\d{1,9})\D.*\d ?%(?=[\s,]).*")
_COUNTS_IN_WINDOWS = re.compile(r"[^=]*= (\d{1,9}), [^=]+= (\d{1,9}), [^=]+= \d.*")
_TIMES = re.compile(
    rf"[^=]{{0,80}}\w/\w[^=]{{0,80}}= ?{_NUMBER}/({_NUMBER})/{_NUMBER}(?:/{_NUMBER})* ?(us|µs|ms|s)\b.*"
)
_TIMES_IN_WINDOWS = re.compile(r"[^=]*= ?\d+ ?ms, [^=]*= ?\d+ ?ms, [^=]*= ?(\d{1,9}) ?(ms)")
_UNREADABLE = re.compile(r"(?:\[.*\] )?\d+ \w+ .*seq=\d.*|.*\bTTL=\d.*")
_COMPLAINT = re.compile(r"f?ping6?: .*|.*time of day goes back.*")
_UNREACHABLE_IN_WINDOWS = re.compile(r"Reply from [^=]*\.")

_TARGET = rf"{_NAME}(?: \([^)\s]{{1,255}}\))?"
_FPING_REPLY = re.compile(rf"{_STAMP}{_TARGET}\s+: \[\d+\], (?:\d+ bytes, {_FIGURE}|timed out).*")
_FPING_REPLIES = re.compile(rf"{_TARGET}\s+:((?: (?:{_NUMBER}|-))+)")
_FPING_SUMMARY = re.compile(rf"{_TARGET}\s+: xmt/rcv/%\w+ = (\d+)/(\d+)/[^,]+(?:, min/avg/max = [^/]+/({_NUMBER})/.*)?")
_FPING_STATE = re.compile(rf"{_TARGET} (?:is (?:alive|unreachable)(?: \({_FIGURE}\))?.*|\({_FIGURE}\))")
_LONGEST_LINE = 2000

PING_BEGINS = re.compile(
    r"^(?-i:PING)6?[ (]\S{1,255}[ :)].*\d|^--- (?:\S+ .*ping.*|.*\bping \S+) ---"
    r"|^[^=\n]{1,200}(?:=\d+ )?[^\W\d]{1,20}[=<]\d+ ?\w+ TTL=\d"
    r"|^[^=\n\[]{2,300} (?:\[[\da-f:.%]{3,60}\]|[\da-f:.%]{3,60}) [^=\d\n]{1,60} \d{1,5} [^=\d\n]{1,60}:[ \t\r]*$",
    re.MULTILINE | re.IGNORECASE,
)
FPING_BEGINS = re.compile(
    r"^(?:\[[\d.]{1,30}\] )?\S{1,255}(?: \([^)\s]{1,255}\))?"
    r"(?: {1,80}: (?:\[\d+\], |xmt/rcv|(?:[\d.]+|-)(?: (?:[\d.]+|-))*\r?$)"
    r"| is (?:alive|unreachable)| \([\d.]+ ms\)\r?$)",
    re.MULTILINE,
)


@dataclass(slots=True)
class _Run:
    """One run of a program to one target; figures in ms."""

    target: str
    place: str
    #: Round trips and their times; those of doubled replies; steps in which the figures are written.
    replies: list[tuple[float, float | None]] = field(default_factory=list)
    doubled: list[float] = field(default_factory=list)
    step_ms: float = 0.0
    #: Probes that were lost, or that another host refused; replies without a valid time, or with an upper bound of it.
    lost: int = 0
    refused: int = 0
    invalid: int = 0
    below: int = 0
    #: From the summary: probes sent, replies received, mean round trip.
    sent: int | None = None
    received: int | None = None
    mean_ms: float | None = None

    def add(
        self, figure: str | None, unit: str, at: str | None = None, *, doubled: bool = False, below: bool = False
    ) -> None:
        """Add a reply, or a loss if there is no figure."""
        if not figure:
            self.lost += 1
            return
        delay_ms = self._milliseconds(figure, unit)
        self.below += below
        if doubled:
            self.doubled.append(delay_ms)
        elif delay_ms <= 0:
            self.invalid += 1
        else:
            self.replies.append((delay_ms, float(at) if at else None))

    def summarise(self, figure: str | None, unit: str) -> None:
        """Add the mean of the summary, if there is one."""
        if figure:
            self.mean_ms = self._milliseconds(figure, unit)

    def _milliseconds(self, figure: str, unit: str) -> float:
        whole, _, decimals = figure.replace(",", ".").partition(".")
        self.step_ms = max(self.step_ms, _MS_PER[unit] * 10.0 ** -len(decimals))
        return float(f"{whole}.{decimals or 0}") * _MS_PER[unit]


def read_ping(source: MapSource, options: ImportOptions) -> Readings:
    """Read the output of one or several runs of ``ping``.

    Raises
    ------
    LatencyMapError
        The text has no target, its figures contradict each other or cannot be read, or the node on which ``ping`` ran
        is not given.
    """
    runs: list[_Run] = []
    complaints = []
    for place, line in _lines(source):
        if starts := _STARTS.fullmatch(line) or _STARTS_IN_WINDOWS.fullmatch(line):
            runs.append(_Run(starts[1], place))
        elif summary := _SUMMARY_STARTS.fullmatch(line):
            name = summary[1] or summary[2]
            if runs and runs[-1].sent is None:
                runs[-1].target = name  # ping6 begins with the address
            else:
                runs.append(_Run(name, place))
        elif _COMPLAINT.fullmatch(line):
            complaints.append(_complaint(place, line))
        elif runs:
            _add_line(source.name, runs[-1], place, line)
    return _readings(source.name, runs, options.probed_from, complaints, "ping")


def _add_line(source: str, run: _Run, place: str, line: str) -> None:
    if reply := _REPLY.fullmatch(line) or _REPLY_IN_WINDOWS.fullmatch(line):
        stamp, sign, figure, unit, rest = reply.groups()
        run.add(figure, unit, stamp, doubled="DUP!" in rest, below=sign == "<")
    elif times := _TIMES.fullmatch(line) or _TIMES_IN_WINDOWS.fullmatch(line):
        run.summarise(times[1], times[2])
    elif counts := _COUNTS.fullmatch(line) or _COUNTS_IN_WINDOWS.fullmatch(line):
        run.sent, run.received = int(counts[1]), int(counts[2]) - run.refused
    elif _UNREACHABLE_IN_WINDOWS.fullmatch(line):
        run.refused += 1
    elif _UNREADABLE.fullmatch(line):
        raise LatencyMapError("map-ping-unreadable", source=source, place=place, text=shortened(line))


def read_fping(source: MapSource, options: ImportOptions) -> Readings:
    """Read the output of one or several runs of ``fping``; see `read_ping`."""
    runs: dict[str, _Run] = {}
    listed: dict[str, _Run] = {}
    complaints = []
    for place, line in _lines(source):
        if _COMPLAINT.fullmatch(line):
            complaints.append(_complaint(place, line))
        elif reply := _FPING_REPLY.fullmatch(line):
            runs.setdefault(reply[2], _Run(reply[2], place)).add(reply[3], reply[4], reply[1])
        elif replies := _FPING_REPLIES.fullmatch(line):
            for figure in replies[2].split():
                listed.setdefault(replies[1], _Run(replies[1], place)).add(figure.strip("-"), "ms")
        elif summary := _FPING_SUMMARY.fullmatch(line):
            run = runs.setdefault(summary[1], _Run(summary[1], place))
            run.sent, run.received = (run.sent or 0) + int(summary[2]), (run.received or 0) + int(summary[3])
            run.summarise(summary[4], "ms")
        elif state := _FPING_STATE.fullmatch(line):
            run = runs.setdefault(state[1], _Run(state[1], place))
            run.add(state[2] or state[4], state[3] or state[5])
    for name, run in listed.items():  # the same replies again, unless fping was quiet
        received = len(run.replies) + run.invalid
        runs.setdefault(name, run).received = received
        runs[name].sent = received + run.lost
    return _readings(source.name, list(runs.values()), options.probed_from, complaints, "fping")


def _complaint(place: str, line: str) -> Problem:
    return Problem("import-ping-complains", {"place": place, "text": shortened(line)})


def _readings(
    source: str, runs: list[_Run], probed_from: str | None, complaints: list[Problem], program: str
) -> Readings:
    """Check the runs, and return their samples with notes."""
    targets = list(dict.fromkeys(run.target for run in runs))
    if not targets:
        raise LatencyMapError("map-empty", source=source, expected=f"targets in the output of {program}")
    if probed_from is None:
        raise LatencyMapError("map-source-missing", source=source, targets=targets)
    for run in runs:
        _check(source, run)
    samples = [sample for run in runs for sample in _samples(run, probed_from)]
    silent = set(targets) - {sample.target for sample in samples if not math.isnan(sample.delay)}
    notes = [Problem("import-one-row", {"node": probed_from, "targets": len(targets)})]
    if silent:
        notes.append(Problem("import-targets-silent", {"targets": sorted(silent)}))
    warnings = [
        Problem("import-ping-invalid", {"target": run.target, "count": run.invalid}) for run in runs if run.invalid
    ]
    if means := sum(run.mean_ms is not None and not run.replies for run in runs):
        notes.append(Problem("import-ping-means", {"count": means}))
    if below := sum(run.below for run in runs):
        notes.append(Problem("import-ping-below", {"count": below}))
    return Readings(
        samples=samples,
        names=tuple(dict.fromkeys((probed_from, *targets))),
        unit=DelayUnit.MS,
        kind=DelayKind.RTT,
        stated_at=f"round trips of {program} in milliseconds",
        notes=notes,
        warnings=complaints + warnings,
    )


def _samples(run: _Run, probed_from: str) -> Iterator[DelaySample]:
    """Return a sample of each reply; one of the mean if the replies are not shown, or of a loss if none came."""
    replies = run.replies
    if not replies and not run.invalid and run.mean_ms:
        replies = [(run.mean_ms, None)]
    loss_ratio = 1 - min(run.received, run.sent) / run.sent if run.sent and run.received is not None else None
    for delay_ms, at_s in replies or [(math.nan, None)]:
        yield DelaySample(probed_from, run.target, delay_ms, run.place, DelayUnit.MS, DelayKind.RTT, loss_ratio, at_s)


def _check(source: str, run: _Run) -> None:
    """Hold the replies against the summary."""
    read = len(run.replies) + run.invalid
    shown = read or run.mean_ms is None
    if run.received is not None and shown and read != run.received:
        fields = {"target": run.target, "received": run.received, "read": read}
        raise LatencyMapError("map-ping-replies-unread", source=source, place=run.place, **fields)
    if run.mean_ms is None or not run.replies or run.invalid:
        return
    single = [delay_ms for delay_ms, _ in run.replies]
    means = [sum(figures) / len(figures) for figures in (single, single + run.doubled)]
    margin_ms = 1.01 * run.step_ms * (1 + run.below)
    if min(abs(mean - run.mean_ms) for mean in means) > margin_ms:
        fields = {"target": run.target, "mean_ms": means[0], "summary_ms": run.mean_ms}
        raise LatencyMapError("map-ping-mean-contradicted", source=source, place=run.place, **fields)


def _lines(source: MapSource) -> Iterator[tuple[str, str]]:
    """Return the place of each line and the line."""
    for number, line in enumerate(source.lines(), 1):
        if len(line) <= _LONGEST_LINE:
            yield f"line {number}", line.strip("\r\n\0 \t")
