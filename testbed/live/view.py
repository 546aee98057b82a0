"""What a person sees while the demo runs: a live table on a terminal, one line a step elsewhere."""

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from rich.console import Console, Group
from rich.live import Live
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from gesscale.model.decision import Decision

_BLOCKS = " ▁▂▃▄▅▆▇█"


@dataclass(slots=True)
class _Course:
    """What is shown of one operator: how it came to where it is, and its newest decision."""

    loads: list[float] = field(default_factory=list)
    replicas: list[float] = field(default_factory=list)
    newest: Decision | None = None


@dataclass(slots=True)
class LiveView:
    """Shows each operator's newest decision and the history of its load, and what was changed.

    Attributes
    ----------
    console
        Where to.
    seconds
        Length of the replay.
    hour_of_day
        The hour at which the replayed day begins.
    """

    console: Console
    seconds: float
    hour_of_day: float
    _live: Live | None = None
    _courses: dict[str, _Course] = field(default_factory=lambda: defaultdict(_Course))
    _changes: list[Text] = field(default_factory=list)

    @contextmanager
    def showing(self) -> Iterator[None]:
        """Show for as long as the context lasts."""
        if not self.console.is_terminal:
            yield
            return
        with Live(console=self.console, refresh_per_second=4, transient=False) as live:
            self._live = live
            yield
        self._live = None

    def show(self, decision: Decision, elapsed_s: float) -> None:
        """Show a new decision.

        Parameters
        ----------
        decision
            Of this step.
        elapsed_s
            Seconds since the replay began.
        """
        reading, course = decision.analysis.reading, self._courses[decision.operator]
        course.loads.append((reading.input_rows_per_s if reading else None) or 0.0)
        course.replicas.append(float(len(decision.plan.placement)))
        course.newest = decision
        line = Text(f"{self._clock(elapsed_s)}  {decision.operator}: {decision.sentence.partition(':')[0]}")
        if decision.acted:
            self._changes.append(
                Text("▲ " if decision.outcome.added else "▼ ", style="bold").append_text(line)
            )
        if self._live is not None:
            self._live.update(self._panel(elapsed_s))
        else:
            mst = decision.analysis.mst
            self.console.print(
                f"{elapsed_s:4.0f} s  {self._clock(elapsed_s)}  {decision.operator:8s}"
                f"  load {course.loads[-1]:5.0f} rows/s"
                f"  MST {f'{mst.mid:5.0f}' if mst else '    –'}"
                f"  backlog {(reading.backlog_rows if reading else None) or 0:6.0f}"
                f"  {decision.sentence}",
                highlight=False,
            )

    def _clock(self, elapsed_s: float) -> str:
        hours = (self.hour_of_day + 24.0 * max(0.0, min(1.0, elapsed_s / self.seconds))) % 24
        return f"{int(hours):02d}:{int(hours * 60) % 60:02d}"

    def _panel(self, elapsed_s: float) -> Panel:
        bar = Table.grid(expand=True)  # a bar alone does not end its line
        bar.add_row(ProgressBar(total=self.seconds, completed=max(0.0, min(self.seconds, elapsed_s))))
        facts = [_facts(course.newest, course) for course in self._courses.values() if course.newest]
        body = Group(bar, *facts, *self._changes[-6:])
        return Panel(body, title=f"the day at {self._clock(elapsed_s)}", title_align="left")


def _facts(decision: Decision, course: _Course) -> Table:
    reading, mst = decision.analysis.reading, decision.analysis.mst
    backlog = reading.backlog_rows if reading else None
    facts = Table.grid(padding=(0, 2))
    facts.add_column(style="dim")
    facts.add_column()
    rows = {
        "operator": decision.operator,
        "load": f"{course.loads[-1]:.0f} rows/s   {sparkline(course.loads)}",
        "throughput": f"{reading.throughput_rows_per_s:.0f} rows/s" if reading else "–",
        "MST": f"{mst.mid:.0f} rows/s ({mst.low:.0f} to {mst.high:.0f})" if mst else "not known yet",
        "replicas": f"{len(decision.plan.placement)}   {sparkline(course.replicas)}",
        "nodes": ", ".join(decision.plan.placement),
        "NDmax": f"{decision.plan.nd_max_ms:.0f} ms" if decision.plan.nd_max_ms is not None else "–",
        "backlog": f"{backlog:.0f} rows" if backlog is not None else "–",
        "decision": decision.sentence,
    }
    for name, value in rows.items():
        facts.add_row(name, value)
    return facts


def sparkline(values: list[float], width: int = 60) -> str:
    """Draw the newest values as blocks, the largest as a full one.

    Parameters
    ----------
    values
        Not negative.
    width
        How many to draw at most.

    Returns
    -------
    str
        One character a value.

    Examples
    --------
    >>> sparkline([0, 1, 2, 4])
    ' ▂▄█'
    """
    newest = values[-width:]
    top = max([*newest, 1e-9])
    return "".join(_BLOCKS[round(value / top * (len(_BLOCKS) - 1))] for value in newest)
