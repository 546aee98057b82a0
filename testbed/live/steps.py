"""Prints the steps of the loop during a day, one line each."""

from dataclasses import dataclass, field

from rich.console import Console

from gesscale.model.decision import Decision, OutcomeStatus, Reason, format_replicas
from gesscale.model.observation import OperatorReading

#: Characters of a line.
WIDTH = 100
_HOURS = 24
_STEADY = frozenset(
    {Reason.WITHIN_TARGET, Reason.FEWER_WOULD_NOT_SUSTAIN, Reason.NEVER_CHANGES, Reason.CHEAPER_TO_WAIT}
)
_FAILED = frozenset({OutcomeStatus.FAILED, OutcomeStatus.PARTLY_APPLIED})


@dataclass(slots=True)
class StepPrinter:
    """Prints changes when they happen, and otherwise one line for each hour of the compressed day."""

    console: Console
    #: Start of the day, seconds since the epoch.
    began_at_s: float
    #: Length of the compressed day, s.
    day_s: float
    #: Hour of the day at its start.
    begins_at_hour: float
    #: Whether lines name the operator.
    with_operator: bool = False
    #: Whether every step is printed, with all its figures.
    verbose: bool = False
    _last_s: dict[str, float] = field(default_factory=dict, init=False)

    def print(self, decision: Decision) -> None:
        """Print a decision, unless it changes nothing and the hour already has a line."""
        elapsed_s = decision.at_s - self.began_at_s
        clock = _clock(self.begins_at_hour + _HOURS * min(1.0, max(0.0, elapsed_s / self.day_s)))
        if self.verbose:
            self.console.print(verbose_line(decision, clock, elapsed_s), highlight=False, markup=False)
            return
        news = decision.acted or decision.outcome.status in _FAILED
        last_s = self._last_s.get(decision.operator)
        if news or last_s is None or elapsed_s - last_s >= self.day_s / _HOURS:
            self._last_s[decision.operator] = elapsed_s
            operator = f"{decision.operator:8s}  " if self.with_operator else ""
            self.console.print(step_line(decision, f"{clock}  {operator}"), highlight=False, markup=False)


def step_line(decision: Decision, head: str) -> str:
    """Return a decision as a line of at most `WIDTH` characters that begins with the given text."""
    reading, plan, outcome = decision.analysis.reading, decision.plan, decision.outcome
    rate = reading.input_rows_per_s if reading else None
    if outcome.status in _FAILED:
        text = f"{outcome.status.value}: {outcome.detail}"
    elif decision.acted:
        text = "; ".join((plan.detail or decision.analysis.detail or plan.reason.value).split("; ")[:2])
    else:
        text = f"{_backlog(reading)}  {plan.reason.value if plan.reason not in _STEADY else ''}".strip()
    line = f"{head}{'–' if rate is None else f'{rate:.0f}':>5} rows/s  {_replicas(decision)}  {text}".rstrip()
    return line if len(line) <= WIDTH else _cut(line.replace(" replicas (", " (", 1))


def verbose_line(decision: Decision, clock: str, elapsed_s: float) -> str:
    """Return a decision with all its figures."""
    reading, mst = decision.analysis.reading, decision.analysis.mst
    load, backlog = (reading.input_rows_per_s, reading.backlog_rows) if reading else (None, None)
    return (
        f"{clock}  {elapsed_s:4.0f} s  {decision.operator:8s}  load {load or 0:5.0f} rows/s"
        f"  MST {f'{mst.mid:5.0f}' if mst else '    –'}  backlog {backlog or 0:6.0f}  {decision.sentence}"
    )


def _backlog(reading: OperatorReading | None) -> str:
    """Return a backlog of more than a second; empty for less."""
    if reading is None or not reading.backlog_rows or reading.backlog_rows < (reading.input_rows_per_s or 0.0):
        return ""
    return f"backlog {reading.backlog_rows:.0f} rows"


def _replicas(decision: Decision) -> str:
    plan, outcome = decision.plan, decision.outcome
    added, removed = outcome.added, outcome.removed
    if not decision.acted and plan.change is not None:
        added, removed = plan.change.add, plan.change.remove
    if not added and not removed:
        return format_replicas(len(plan.before))
    before, after = len(plan.before), len(plan.placement)
    count = format_replicas(after) if before == after else f"{before} -> {format_replicas(after)}"
    nodes = " ".join([*(f"+{node}" for node in added), *(f"-{node}" for node in removed)])
    return f"{count} ({nodes})"


def _clock(hour: float) -> str:
    return f"{int(hour % _HOURS):02d}:{int(hour * 60) % 60:02d}"


def _cut(line: str) -> str:
    if len(line) <= WIDTH:
        return line
    words = line[: WIDTH - 3].rpartition(" ")[0]
    return f"{words}..."
