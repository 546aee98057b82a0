"""Output of ``ping`` and ``fping``: round trips from the node on which they ran to others.

Read are ``ping`` of iputils, busybox, inetutils, macOS, the BSDs (``ping6`` too) and Windows, in all languages that
write the unit in Latin letters, several runs one after the other; and ``fping`` by default, with ``-a -e``, ``-c``,
``-C``, ``-q``, ``-s``, ``-D``. The replies of a run are held against the count and the mean in its summary.
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
_NAME = r"(\S{1,255}?)"
_ADDRESS = r"[\da-fA-F:.%]{1,60}"

_STARTS = re.compile(
    rf"PING6?[ (](?:\S+ bytes\) {_ADDRESS} --> )?([^\s()=]{{1,255}}?):?(?: ?\((\S+?)\))?:?(?:[ (].*|$)"
)
_STARTS_IN_WINDOWS = re.compile(rf"[^\d:\[\]]{{2,60}}? {_NAME}(?: \[({_ADDRESS})\])? \D{{1,60}}? \d{{1,5}} \D{{1,60}}:")
_SUMMARY_STARTS = re.compile(r"--- (?:(\S{1,255}) ping6? statistics|.{1,300}) ---")
_REPLY = re.compile(rf"{_STAMP}.*?(?:seq|req)=\d+.*?[\s:][^\W\d]{{1,20}} ?([=<]) ?{_FIGURE}(.*)")
_REPLY_IN_WINDOWS = re.compile(rf"()[^=<]{{1,200}}(?:=\d+ )?[^\W\d]{{1,20}}([=<]){_FIGURE}((?: TTL=\d+)?)")
_COUNTS = re.compile(r"(?!.*ewma)\D{0,40}(\d{1,9})\D{1,80}(\d{1,9})\D.*\d ?%(?=[\s,]).*")
_COUNTS_IN_WINDOWS = re.compile(r"[^=]*= (\d{1,9}), [^=]+= (\d{1,9}), [^=]+= \d.*")
_TIMES = re.compile(
    rf"[^=]{{0,80}}\w/\w[^=]{{0,80}}= ?{_NUMBER}/({_NUMBER})/{_NUMBER}(?:/{_NUMBER})* ?(us|µs|ms|s)\b.*"
)
_TIMES_IN_WINDOWS = re.compile(r"[^=]*= ?\d+ ?ms, [^=]*= ?\d+ ?ms, [^=]*= ?(\d{1,9}) ?(ms)")
_UNREADABLE = re.compile(r"(?:\[.*\] )?\d+ \w+ .*(?:seq|req)=\d.*|.*\bTTL=\d.*")
_COMPLAINT = re.compile(r"f?ping6?: .*|.*time of day goes back.*")
_UNREACHABLE_IN_WINDOWS = re.compile(r"Reply from [^=]*\.")

_TARGET = rf"{_NAME}(?: \([^)\s]{{1,255}}\))?"
_FPING_REPLY = re.compile(rf"{_STAMP}{_TARGET}\s+: \[\d+\], (?:\d+ bytes, {_FIGURE}|timed out).*")
_FPING_REPLIES = re.compile(rf"{_TARGET}\s+:((?: (?:{_NUMBER}|-))+)")
_FPING_SUMMARY = re.compile(rf"{_TARGET}\s+: xmt/rcv/%\w+ = (\d+)/(\d+)/[^,]+(?:, min/avg/max = [^/]+/({_NUMBER})/.*)?")
_FPING_STATE = re.compile(rf"{_TARGET} (?:is (?:alive|unreachable)(?: \({_FIGURE}\))?.*|\({_FIGURE}\))")
#: Time of day in front of a line, as ``ts`` writes it.
_DATED = r"(?:\w{3} {1,2}\d{1,2} |\d{4}-\d\d-\d\d[T ])?\d\d:\d\d:\d\d[.,\d]{0,10}(?:Z|[+-]\d\d:?\d\d)? "
_AFTER_DATE = re.compile(rf"(?:{_DATED})?(.*)")
_LONGEST_LINE = 2000
_COMPLAINTS = 5
#: Marks around a name or an address.
_AROUND = "()[]:,."

PING_BEGINS = re.compile(
    rf"^(?:{_DATED})?"
    r"(?-i:PING)6?[ (]\S{1,255}[ :)].*\d|^--- (?:\S+ .*ping.*|.*\bping \S+) ---"
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
class _Run:
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

    def samples(self, file: str, probed_from: str) -> Iterator[DelaySample]:
        """Return a sample of each reply; one of the mean if replies are not shown, or of a loss if none came."""
        read = len(self.replies) + self.invalid
        if (read or math.isnan(self.mean)) and not math.isnan(self.received) and read != self.received:
            fields = {"target": self.target, "received": int(self.received), "read": read}
            raise LatencyMapError("map-ping-replies-unread", source=file, place=self.place, **fields)
        single = [delay for delay, _ in self.replies]
        means = [fmean(each) for each in (single, single + self.doubled) if single and not self.invalid]
        if means and min(abs(mean - self.mean) for mean in means) > self.margin:
            fields = {"target": self.target, "mean": means[0], "summary": self.mean}
            raise LatencyMapError("map-ping-mean-contradicted", source=file, place=self.place, **fields)
        loss_ratio = 1 - min(1.0, self.received / self.sent) if self.sent > 0 and self.received >= 0 else None
        for delay, at_s in self.replies or [(math.nan if self.invalid else self.mean, None)]:
            yield DelaySample(
                probed_from, self.target, delay, self.place, DelayUnit.MS, DelayKind.RTT, loss_ratio, at_s
            )


class _Text:
    """The runs in a text."""

    def __init__(self, source: MapSource, options: ImportOptions) -> None:
        self.source, self._probed_from = source, options.probed_from
        self._runs: list[_Run] = []
        self._of_name: dict[str, _Run] = {}
        self._current: _Run | None = None
        self._below = 0
        self._complaints: Counter[str] = Counter()

    def begin(self, place: str, *names: str | None) -> _Run:
        """Begin a run to a target, with its name and further names of it."""
        run = _Run(str(names[0]), place)
        self._runs.append(run)
        self._of_name |= {name.strip(_AROUND): run for name in names if name}
        self._current = run
        return run

    def run_of(self, place: str, name: str) -> _Run:
        """Return the last run to a target; begin one if there is none."""
        self._current = self._of_name.get(name.strip(_AROUND)) or self.begin(place, name)
        return self._current

    def end(self, place: str, line: str, name: str | None) -> None:
        """Begin the summary of a run; ping6 has the name of its target there only, other languages around it."""
        last = self._runs[-1] if self._runs else None
        if name is not None and name not in self._of_name and last is not None and math.isnan(last.received):
            last.target = name
            self._of_name[name] = last
        if name is not None:
            self.run_of(place, name)
        else:
            self.run_in(line)

    def run_in(self, line: str) -> _Run | None:
        """Return the run whose target a line names, as runs may write in turns, else the last one."""
        words = (word.strip(_AROUND) for word in line.split())
        self._current = next((self._of_name[word] for word in words if word in self._of_name), self._current)
        return self._current

    def add(self, run: _Run, figure: str, unit: str, at: str | None = None, *, below: bool = False) -> None:
        """Add a reply, or count it if its time is not above 0."""
        delay_ms = _milliseconds(run, figure, unit)
        self._below += below
        run.margin *= 2 if below else 1
        if delay_ms > 0:
            run.replies.append((delay_ms, float(at) if at else None))
        else:
            run.invalid += 1

    def read(self, add_line: Callable[["_Text", str, str], None], program: str) -> Readings:
        """Read all lines, and return the samples of the runs with notes."""
        for number, line in enumerate(self.source.lines(), 1):
            text = _AFTER_DATE.sub(r"\1", line.strip("\r\n\0 \t"), count=1)
            if _COMPLAINT.fullmatch(text):
                self._complaints[shortened(text)] += 1
            elif len(text) <= _LONGEST_LINE:
                add_line(self, f"line {number}", text)
        file = self.source.name
        targets = list(dict.fromkeys(run.target for run in self._runs))
        if not targets:
            raise LatencyMapError("map-empty", source=file, expected=f"targets in the output of {program}")
        if self._probed_from is None:
            raise LatencyMapError("map-source-missing", source=file, targets=targets)
        samples = [sample for run in self._runs for sample in run.samples(file, self._probed_from)]
        silent = sorted(set(targets) - {sample.target for sample in samples if sample.delay > 0})
        means = sum(run.mean > 0 and not run.replies for run in self._runs)
        facts: dict[str, dict[str, object]] = {
            "import-one-row": {"node": self._probed_from, "targets": len(targets)},
            "import-targets-silent": {"targets": silent} if silent else {},
            "import-ping-means": {"count": means} if means else {},
            "import-ping-below": {"count": self._below} if self._below else {},
        }
        complaints = self._complaints.most_common(_COMPLAINTS)
        invalid = [(run.target, run.invalid) for run in self._runs if run.invalid]
        return Readings(
            samples=samples,
            names=tuple(dict.fromkeys((self._probed_from, *targets))),
            unit=DelayUnit.MS,
            kind=DelayKind.RTT,
            stated_at=f"round trips of {program} in milliseconds",
            notes=[Problem(code, fields) for code, fields in facts.items() if fields],
            warnings=[
                *(Problem("import-ping-complains", {"text": text, "count": count}) for text, count in complaints),
                *(Problem("import-ping-invalid", {"target": name, "count": count}) for name, count in invalid),
            ],
        )


def _milliseconds(run: _Run, figure: str, unit: str) -> float:
    """Return a figure in ms; the step in which it is written widens the margin of the mean of its run."""
    whole, _, decimals = figure.replace(",", ".").partition(".")
    run.margin = max(run.margin, 1.01 * _MS_PER[unit] * 10.0 ** -len(decimals))
    return float(f"{whole}.{decimals or 0}") * _MS_PER[unit]


def read_ping(source: MapSource, options: ImportOptions) -> Readings:
    """Read the output of one or several runs of ``ping``.

    Raises
    ------
    LatencyMapError
        The text has no target, its figures contradict each other or cannot be read, or the node on which ``ping`` ran
        is not given.
    """
    return _Text(source, options).read(_add_line_of_ping, "ping")


def _add_line_of_ping(text: _Text, place: str, line: str) -> None:
    if starts := _STARTS.fullmatch(line) or _STARTS_IN_WINDOWS.fullmatch(line):
        text.begin(place, *starts.groups())
    elif summary := _SUMMARY_STARTS.fullmatch(line):
        text.end(place, line, summary[1])
    elif run := text.run_in(line):
        _add_to_run(text, run, place, line)


def _add_to_run(text: _Text, run: _Run, place: str, line: str) -> None:
    if reply := _REPLY.fullmatch(line) or _REPLY_IN_WINDOWS.fullmatch(line):
        stamp, sign, figure, unit, rest = reply.groups()
        if "DUP!" in rest:
            run.doubled.append(_milliseconds(run, figure, unit))
        elif "DIFFERENT ADDRESS" in rest:
            run.invalid += 1
        else:
            text.add(run, figure, unit, stamp, below=sign == "<")
    elif times := _TIMES.fullmatch(line) or _TIMES_IN_WINDOWS.fullmatch(line):
        run.mean = _milliseconds(run, times[1], times[2])
    elif counts := _COUNTS.fullmatch(line) or _COUNTS_IN_WINDOWS.fullmatch(line):
        run.sent, run.received = float(counts[1]), float(counts[2]) - run.refused
    elif _UNREACHABLE_IN_WINDOWS.fullmatch(line):
        run.refused += 1
    elif _UNREADABLE.fullmatch(line):
        raise LatencyMapError("map-ping-unreadable", source=text.source.name, place=place, text=shortened(line))


def read_fping(source: MapSource, options: ImportOptions) -> Readings:
    """Read the output of one or several runs of ``fping``; see `read_ping`."""
    return _Text(source, options).read(_add_line_of_fping, "fping")


def _add_line_of_fping(text: _Text, place: str, line: str) -> None:
    if reply := _FPING_REPLY.fullmatch(line):
        run = text.run_of(place, reply[2])
        if reply[3]:
            text.add(run, reply[3], reply[4], reply[1])
    elif listed := _FPING_REPLIES.fullmatch(line):
        run = text.run_of(place, listed[1])
        figures = [figure for figure in listed[2].split() if figure != "-"]
        if len(run.replies) + run.invalid == _counted(run.received):  # else they are shown above, too
            for figure in figures:
                text.add(run, figure, "ms")
        run.sent, run.received = _counted(run.sent) + len(listed[2].split()), _counted(run.received) + len(figures)
    elif summary := _FPING_SUMMARY.fullmatch(line):
        run = text.run_of(place, summary[1])
        before, now = _counted(run.received), float(summary[3])
        run.sent, run.received = _counted(run.sent) + float(summary[2]), before + now
        if summary[4]:  # of several summaries the mean of all replies
            mean = _milliseconds(run, summary[4], "ms")
            run.mean = (_counted(run.mean) * before + mean * now) / (before + now) if now else run.mean
    elif state := _FPING_STATE.fullmatch(line):
        run = text.run_of(place, state[1])
        if figure := state[2] or state[4]:
            text.add(run, figure, state[3] or state[5])


def _counted(figure: float) -> float:
    """Return a figure, 0 if it is not known."""
    return 0.0 if math.isnan(figure) else figure
