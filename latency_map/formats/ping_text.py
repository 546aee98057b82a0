"""Output of ``ping`` and ``fping``: round trips from the node on which they ran to others.

Read are ``ping`` of iputils, busybox, inetutils, macOS (``ping6`` too) and Windows, in all languages that write the
unit in Latin letters, several runs one after the other; and ``fping`` by default, with ``-a -e``, ``-c``, ``-C``,
``-D``. The replies of a run are held against the count and the mean in its summary.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from statistics import fmean

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
_ADDRESS = r"[\da-fA-F:.%]{1,60}"

_STARTS = re.compile(
    rf"PING6?[ (](?:\S+ bytes\) {_ADDRESS} --> )?([^\s()=]{{1,255}}?):?(?: ?\((\S+?)\))?:?(?:[ (].*|$)"
)
_STARTS_IN_WINDOWS = re.compile(
    rf"[^\d:\[\]]{{2,60}}? (\S{{1,255}}?)(?: \[({_ADDRESS})\])? \D{{1,60}}? \d{{1,5}} \D{{1,60}}:"
)
_SUMMARY = re.compile(r"--- (?:(\S{1,255}) ping6? statistics|.{1,300}) ---")
_TIMES = re.compile(
    rf"[^=]{{0,80}}\w/\w[^=]{{0,80}}= ?{_NUMBER}/({_NUMBER})/{_NUMBER}(?:/{_NUMBER})* ?(us|µs|ms|s)\b.*"
)
_TIMES_IN_WINDOWS = re.compile(r"[^=]*= ?\d+ ?ms, [^=]*= ?\d+ ?ms, [^=]*= ?(\d{1,9}) ?(ms)")
_REPLY = re.compile(rf"{_STAMP}.*?(?:seq|req)=\d+.*?[\s:][^\W\d]{{1,20}} ?([=<]) ?{_FIGURE}(.*)")
_REPLY_IN_WINDOWS = re.compile(rf"()[^=<]{{1,200}}(?:=\d+ )?[^\W\d]{{1,20}}([=<]){_FIGURE}((?: TTL=\d+)?)")
_COUNTS = re.compile(r"(?!.*ewma)\D{0,40}(\d{1,9})\D{1,80}(\d{1,9})\D.*\d ?%(?=[\s,)]).*")
_UNREACHABLE_IN_WINDOWS = re.compile(r"Reply from [^=]*\.")
_UNREADABLE = re.compile(r"(?:\[.*\] )?\d+ \w+ .*(?:seq|req)=\d.*|.*\bTTL=\d.*")
_COMPLAINT = re.compile(r"f?ping6?: .*|.*time of day goes back.*")

_TARGET = r"(\S{1,255}?)(?: \([^)\s]{1,255}\))?"
_FPING_REPLY = re.compile(rf"{_STAMP}{_TARGET}\s+: \[\d+\], (?:\d+ bytes, {_FIGURE}|timed out).*")
_FPING_REPLIES = re.compile(rf"{_TARGET}\s+:((?: (?:{_NUMBER}|-))+)")
_FPING_SUMMARY = re.compile(rf"{_TARGET}\s+: xmt/rcv/%\w+ = (\d+)/(\d+)/[^,]+(?:, min/avg/max = [^/]+/({_NUMBER})/.*)?")
_FPING_STATE = re.compile(rf"{_TARGET} (?:is (?:alive|unreachable)(?: \({_FIGURE}\))?.*|\({_FIGURE}\))")
_LONGEST_LINE = 2000
#: Marks around a name or an address.
_AROUND = "()[]:,."

PING_BEGINS = re.compile(
    r"^(?-i:PING)6?[ (]\S{1,255}[ :)].*\d|^--- (?:\S+ .*ping.*|.*\bping \S+) ---"
    r"|^[^=\n]{1,200}(?:=\d+ )?[^\W\d]{1,20}[=<]\d+ ?\w+ TTL=\d"
    r"|^[^=\n\[]{2,300} (?=\S*[\da-f][.:])\[?[\da-f:.%]{3,60}\]? [^=\d\n]{1,60} \d{1,5} [^=\d\n]{1,60}:[ \t\r]*$",
    re.MULTILINE | re.IGNORECASE,
)
FPING_BEGINS = re.compile(
    r"^(?:\[[\d.]{1,30}\] )?\S{1,255}(?: \([^)\s]{1,255}\))?"
    r"(?: {1,80}: (?:\[\d+\], |xmt/rcv|(?:[\d.]+|-)(?: (?:[\d.]+|-))*\r?$)"
    r"| is (?:alive|unreachable)| \([\d.]+ ms\)\r?$)",
    re.MULTILINE,
)


@dataclass(slots=True)
class PingRun:
    """One run to a target, in ms; NaN for what its summary does not state."""

    target: str
    place: str
    #: Replies with their times, doubled ones, and the numbers of those without a valid time and of refusals.
    replies: list[tuple[float, float | None]] = field(default_factory=list)
    doubled: list[float] = field(default_factory=list)
    invalid: int = 0
    refused: int = 0
    #: From the summary: mean, probes sent and replies received.
    mean: float = math.nan
    sent: float = math.nan
    received: float = math.nan
    #: Difference of two means that the steps of the figures explain.
    margin: float = 0.0
    #: Time of the run, seconds since the epoch; None if unknown.
    at_s: float | None = None

    def milliseconds(self, figure: str, unit: str) -> float:
        """Return a figure in ms; the step in which it is written widens the margin of the mean."""
        whole, _, decimals = figure.replace(",", ".").partition(".")
        self.margin = max(self.margin, 1.01 * _MS_PER[unit] * 10.0 ** -len(decimals))
        return float(f"{whole}.{decimals or 0}") * _MS_PER[unit]

    def add(self, figure: str, unit: str, at: str | None = None) -> None:
        """Add a reply, or count it if its time is not above 0."""
        if (delay_ms := self.milliseconds(figure, unit)) > 0:
            self.replies.append((delay_ms, float(at) if at else None))
        else:
            self.invalid += 1

    def samples(self, file: str, probed_from: str) -> Iterator[DelaySample]:
        """Return a sample of each reply; one of the mean if replies are not shown, or of a loss if none came."""
        read = len(self.replies) + self.invalid
        if (read or math.isnan(self.mean)) and not math.isnan(self.received) and read != self.received:
            fields = {"target": self.target, "received": int(self.received), "read": read}
            raise LatencyMapError("map-ping-replies-unread", source=file, place=self.place, **fields)
        single = [delay for delay, _ in self.replies]
        means = [fmean(each) for each in (single, single + self.doubled) if single and not self.invalid]
        if means and min(abs(mean - self.mean) for mean in means) > self.margin:
            mean_fields = {"target": self.target, "mean": means[0], "summary": self.mean}
            raise LatencyMapError("map-ping-mean-contradicted", source=file, place=self.place, **mean_fields)
        loss = 1 - min(1.0, self.received / self.sent) if self.sent > 0 and self.received >= 0 else None
        for delay, at_s in self.replies or [(math.nan if self.invalid else self.mean, self.at_s)]:
            yield DelaySample(probed_from, self.target, delay, self.place, DelayUnit.MS, loss, at_s)


@dataclass(slots=True)
class _Text:
    """The runs in a text."""

    file: str
    runs: list[PingRun] = field(default_factory=list)
    of_name: dict[str, PingRun] = field(default_factory=dict)
    current: PingRun | None = None
    #: Replies of which an upper bound is shown.
    below: int = 0

    def begin(self, place: str, *names: str | None) -> PingRun:
        """Begin a run to a target, with its name and further names of it."""
        self.current = PingRun(str(names[0]), place)
        self.runs.append(self.current)
        self.of_name |= {name.strip(_AROUND): self.current for name in names if name}
        return self.current

    def run_of(self, place: str, name: str) -> PingRun:
        """Return the run to a target that has no summary yet; begin one if there is none."""
        run = self.of_name.get(name.strip(_AROUND))
        return run if run and math.isnan(run.received) else self.begin(place, name)

    def end(self, place: str, line: str, name: str | None) -> None:
        """Begin the summary of a run; ping6 has the name of its target there only, other languages around it."""
        if name is not None and name not in self.of_name:
            if self.runs and math.isnan(self.runs[-1].received):
                self.runs[-1].target, self.of_name[name] = name, self.runs[-1]
            else:
                self.begin(place, name)
        self.run_in(line)

    def run_in(self, line: str) -> PingRun | None:
        """Return the run whose target a line names, as runs may write in turns, else the last one."""
        words = (word.strip(_AROUND) for word in line.split())
        self.current = next((self.of_name[word] for word in words if word in self.of_name), self.current)
        return self.current


def read_ping(source: MapSource, options: ImportOptions) -> Readings:
    """Read the output of one or several runs of ``ping``.

    Raises
    ------
    LatencyMapError
        The text has no target, its figures contradict each other or cannot be read, or the node on which ``ping`` ran
        is not given.
    """
    return _read(source, options, _add_line_of_ping, "ping")


def read_fping(source: MapSource, options: ImportOptions) -> Readings:
    """Read the output of one or several runs of ``fping``; see `read_ping`."""
    return _read(source, options, _add_line_of_fping, "fping")


def _read(
    source: MapSource, options: ImportOptions, add_line: Callable[[_Text, str, str], None], program: str
) -> Readings:
    """Read all lines, and return the samples of the runs with notes."""
    text, complaints, here = _Text(source.name), Counter[str](), options.probed_from
    for number, raw in enumerate(source.lines(), 1):
        line = raw.strip("\r\n\0 \t")
        if _COMPLAINT.fullmatch(line):
            complaints[shortened(line)] += 1
        elif len(line) <= _LONGEST_LINE:
            add_line(text, f"line {number}", line)
    targets = list(dict.fromkeys(run.target for run in text.runs))
    if not targets:
        raise LatencyMapError("map-empty", source=source.name, expected=f"targets in the output of {program}")
    if here is None:
        raise LatencyMapError("map-source-missing", source=source.name, targets=targets)
    samples = [sample for run in text.runs for sample in run.samples(source.name, here)]
    silent = sorted(set(targets) - {sample.target for sample in samples if sample.delay > 0})
    means = sum(run.mean > 0 and not run.replies for run in text.runs)
    notes = [Problem("import-one-row", {"node": here, "targets": len(targets)})]
    notes += [Problem("import-targets-silent", {"targets": silent})] if silent else []
    notes += [Problem("import-ping-means", {"count": means})] if means else []
    notes += [Problem("import-ping-below", {"count": text.below})] if text.below else []
    doubts = [Problem("import-ping-complains", {"text": t, "count": n}) for t, n in complaints.most_common(5)]
    doubts += [Problem("import-ping-invalid", {"target": r.target, "count": r.invalid}) for r in text.runs if r.invalid]
    names = tuple(dict.fromkeys((here, *targets)))
    at = f"round trips of {program} in milliseconds"
    return Readings(
        samples=samples, unit=DelayUnit.MS, kind=DelayKind.RTT, stated_at=at, names=names, notes=notes, warnings=doubts
    )


def _add_line_of_ping(text: _Text, place: str, line: str) -> None:
    if starts := _STARTS.fullmatch(line) or _STARTS_IN_WINDOWS.fullmatch(line):
        text.begin(place, *starts.groups())
    elif summary := _SUMMARY.fullmatch(line):
        text.end(place, line, summary[1])
    elif run := text.run_in(line):
        _add_to_run(text, run, place, line)


def _add_to_run(text: _Text, run: PingRun, place: str, line: str) -> None:
    if reply := _REPLY.fullmatch(line) or _REPLY_IN_WINDOWS.fullmatch(line):
        stamp, sign, figure, unit, rest = reply.groups()
        if "DUP!" in rest:
            run.doubled.append(run.milliseconds(figure, unit))
        elif "DIFFERENT ADDRESS" in rest:
            run.invalid += 1
        else:
            run.add(figure, unit, stamp)
        if sign == "<":  # the mean counts it as 0
            text.below += 1
            run.margin = max(run.margin, 2.01 * _MS_PER[unit] * float(figure))
    elif times := _TIMES.fullmatch(line) or _TIMES_IN_WINDOWS.fullmatch(line):
        run.mean = run.milliseconds(times[1], times[2])
    elif counts := _COUNTS.fullmatch(line):
        run.sent, run.received = float(counts[1]), float(counts[2]) - run.refused
    elif _UNREACHABLE_IN_WINDOWS.fullmatch(line):
        run.refused += 1
    elif _UNREADABLE.fullmatch(line):
        raise LatencyMapError("map-ping-unreadable", source=text.file, place=place, text=shortened(line))


def _add_line_of_fping(text: _Text, place: str, line: str) -> None:
    if reply := _FPING_REPLY.fullmatch(line):
        run = text.run_of(place, reply[2])
        if reply[3]:
            run.add(reply[3], reply[4], reply[1])
    elif listed := _FPING_REPLIES.fullmatch(line):
        run, every = text.run_of(place, listed[1]), listed[2].split()
        figures = [figure for figure in every if figure != "-"]
        if not run.replies and not run.invalid:  # else they are shown above, too
            for figure in figures:
                run.add(figure, "ms")
        run.sent, run.received = len(every), len(figures)
    elif summary := _FPING_SUMMARY.fullmatch(line):
        run = text.run_of(place, summary[1])
        run.sent, run.received = float(summary[2]), float(summary[3])
        if summary[4]:
            run.mean = run.milliseconds(summary[4], "ms")
    elif state := _FPING_STATE.fullmatch(line):
        run = text.run_of(place, state[1])
        if figure := state[2] or state[4]:
            run.add(figure, state[3] or state[5])
