"""Base of the rivals that know the price of a late minute: what they observe of load and capacity.

Their papers have a capacity function. Here a rival learns it as DS2 does, from the true rate, once for each number of
replicas that it has seen; a number between two others is interpolated, a larger one in proportion.
"""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, ClassVar, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from gesscale.analyze.capacity import has_backlog
from gesscale.analyze.changes import ChangeTimes, change_times
from gesscale.analyze.readiness import actionable_reading
from gesscale.fields import MIN_PERIOD_S, Duration
from gesscale.model.decision import Analysis, Reason
from gesscale.model.observation import OperatorReading, WorkflowObservation
from gesscale.model.workflow import Operator
from gesscale.policies.base import useful_maximum
from gesscale.policies.memos import Memo, load_memo, serialize_memo
from gesscale.ports import Knowledge
from gesscale.wire import MAX_REPLICAS
from testbed.baselines.shared.signals import waiting_s
from testbed.baselines.shared.sizing import SizeProposal, SizingPolicy, SizingSettings
from testbed.baselines.shared.true_rates import demand_of, required_rates, source_rates, true_rate_per_replica

Floats = NDArray[np.float64]

_FIRST_STEP_S = 60.0
#: Time after a change in which new replicas are still cold, and in which none is given back, seconds.
SETTLE_S = 60.0
#: Trigger interval if it is unknown.
_TRIGGER_S = 1.0
#: Where a change stops the job, the rows of the stop drain in this number of stops beyond the objective.
_RECOVERY_STOPS = 4.0
#: Most numbers of replicas that a rival compares.
_MOST_NUMBERS = 32
#: Digits of the figures in a memo, which keep it short.
_DIGITS = 4
#: Largest figure of a memo.
_MOST = 1e12


class PricedSettings(SizingSettings):
    """The prices that `gesscale` has too, and the common settings."""

    cooldown_s: Duration = 1.0
    """No operator changes for this long after a change of any operator. Default: 1 s, as a change has a price."""
    late_minute_price: float = Field(10.0, gt=0, le=1e6)
    """Price of a minute with rows older than the objective, in replica-minutes. Default: as in `gesscale`."""
    change_price: float = Field(2.0, ge=0, le=1e4)
    """Price of a change, in replica-minutes. Default: as in `gesscale`."""


#: Figures of a memo: costs, rates, and numbers of replicas.
Cost = Annotated[float, Field(ge=-_MOST, le=_MOST)]
Rate = Annotated[float, Field(ge=0, le=_MOST)]
Number = Annotated[int, Field(ge=1, le=MAX_REPLICAS)]


class PricedMemo(Memo):
    """What any of these rivals keeps of an operator."""

    #: Time between two steps.
    step_s: float = Field(_FIRST_STEP_S, ge=MIN_PERIOD_S, le=_MOST)
    #: Capacity of each number of replicas that was observed, rows/s.
    capacities: Mapping[Number, Rate] = {}

    def observed(self, reading: OperatorReading, operator: Operator) -> Mapping[int, float]:
        """Return the capacities with that of the present replicas.

        With a backlog it is what they process. Without one they may be able to do more: it is a lower bound, since on
        Spark the time in batches is never idle time.
        """
        now, number = reading.warm_rows_per_s, reading.replicas
        if not now or true_rate_per_replica(reading) is None:
            return self.capacities
        before = float(capacities(self.capacities, range(number, number + 1), operator)[0])
        if has_backlog(reading):
            now = (before + now) / 2 if number in self.capacities else now
        elif now <= before:
            return self.capacities
        return dict(sorted({**self.capacities, number: rounded(now)}.items())[-_MOST_NUMBERS:])


class Situation(NamedTuple):
    """An operator at a step."""

    at_s: float
    #: Present replicas, and the numbers to choose from, ascending.
    replicas: int
    numbers: range
    #: Offered load, and the rate that drains the backlog in time, rows/s (load, drain).
    load: float
    drain: float
    #: How long the newest row waits for its batch, and the objective, seconds (wait_s, objective_s).
    wait_s: float
    objective_s: float
    change: ChangeTimes
    step_s: float
    #: Capacity of each of the numbers, rows/s.
    capacity: Floats

    @property
    def present(self) -> int:
        """Index of the number nearest to the present replicas."""
        return min(max(self.replicas, self.numbers[0]), self.numbers[-1]) - self.numbers[0]


M = TypeVar("M", bound=PricedMemo)


@dataclass(frozen=True, slots=True)
class PricedPolicy(SizingPolicy, Generic[M]):
    """Base policy: learns in each step with a reading, also while a change settles; the rival has the rule."""

    memo: ClassVar[type[PricedMemo]]

    sizing: PricedSettings = field(default_factory=PricedSettings)

    def change_cost(self, now: Situation) -> float:
        """Return the price of a change with the late minutes of its stop, replica-minutes."""
        return self.sizing.change_price + self.sizing.late_minute_price * now.change.stop_s / 60

    @abstractmethod
    def learned(self, memo: M, now: Situation) -> M:
        """Return the memo with a new step."""

    @abstractmethod
    def choice(self, memo: M, now: Situation) -> tuple[int, str]:
        """Return the index of the chosen number of replicas, and the explanation."""

    def analyze(self, observation: WorkflowObservation, knowledge: Knowledge) -> Mapping[str, Analysis]:
        """Analyze every operator; see `gesscale.ports.Policy`."""
        found = SizingPolicy.analyze(self, observation, knowledge)
        learned = self._learned(observation, knowledge)
        return {
            name: replace(each, memo=serialize_memo(learned[name][0])) if name in learned else each
            for name, each in found.items()
        }

    def proposals(
        self, readings: Mapping[str, OperatorReading], observation: WorkflowObservation, knowledge: Knowledge
    ) -> Mapping[str, SizeProposal]:
        """Propose the chosen number of every operator whose load and capacity are known."""
        learned = self._learned(observation, knowledge)
        return {name: self._proposal(reading, learned.get(name)) for name, reading in readings.items()}

    def _proposal(self, reading: OperatorReading, learned: tuple[M, Situation] | None) -> SizeProposal:
        if learned is None or reading.input_rows_per_s is None:
            return SizeProposal(replicas=None, detail="its load is unknown", reason=Reason.METRICS_MISSING)
        memo, now = learned
        if not memo.capacities:
            return SizeProposal(replicas=None, detail="its capacity is unknown: no rows processed")
        index, detail = self.choice(memo, now)
        if index < now.present and now.capacity[index] < now.load + now.drain:
            index, detail = now.present, f"{detail}; no fewer while its rows wait"
        return SizeProposal(replicas=now.numbers[index], detail=f"{now.load:.0f} rows/s offered; {detail}")

    def _learned(self, observation: WorkflowObservation, knowledge: Knowledge) -> Mapping[str, tuple[M, Situation]]:
        """Return the memo and the situation of each operator with a known load."""
        readings = observation.readings
        pushed_down = required_rates(self.workflow, readings, source_rates(self.workflow, readings))
        found: dict[str, tuple[M, Situation]] = {}
        for name, rate in pushed_down.items():
            if (reading := readings.get(name)) is None:
                continue
            memo, at_s = load_memo(self.memo, self.name, name, knowledge), observation.at_s
            if memo is None or memo.at_s > at_s:
                memo = self.memo(policy=self.name, at_s=at_s - _FIRST_STEP_S)
            if is_new := memo.at_s < at_s:
                changed: dict[str, object] = {"at_s": at_s}
                if at_s - memo.at_s < 3 * memo.step_s:  # after a longer gap the step is unchanged
                    changed["step_s"] = at_s - memo.at_s
                if isinstance(actionable_reading(name, observation, knowledge, SETTLE_S), OperatorReading):
                    changed["capacities"] = memo.observed(reading, self.workflow.operators[name])
                memo = memo.model_copy(update=changed)
            now = self._situation(reading, demand_of(reading, rate), memo, knowledge)
            assert isinstance(memo, self.memo)  # noqa: S101 - for mypy, as M is the class of the memo
            kept: M = memo  # type: ignore[assignment]
            found[name] = (self.learned(kept, now) if is_new else kept, now)
        return found

    def _situation(self, reading: OperatorReading, load: float, memo: PricedMemo, knowledge: Knowledge) -> Situation:
        operator = useful_maximum(self.workflow.operators[reading.operator], reading)
        numbers = range(operator.min_replicas, min(operator.max_replicas, operator.min_replicas + _MOST_NUMBERS) + 1)
        objective_s, trigger_s = self.workflow.objective_s(reading.operator), reading.trigger_s or _TRIGGER_S
        backlog = reading.backlog_rows if has_backlog(reading) and reading.backlog_rows is not None else 0.0
        change = change_times(knowledge.orders.get(reading.operator, ()), trigger_s, restarts=operator.restarts)
        return Situation(
            at_s=reading.at_s,
            replicas=reading.replicas,
            numbers=numbers,
            load=load,
            drain=max(0.0, backlog) / (objective_s + _RECOVERY_STOPS * change.stop_s),
            wait_s=waiting_s(reading) or 0.0,
            objective_s=objective_s,
            change=change,
            step_s=memo.step_s,
            capacity=capacities(memo.capacities, numbers, operator, trigger_s),
        )


def capacities(
    observed: Mapping[int, float], numbers: range, operator: Operator, trigger_s: float = _TRIGGER_S
) -> Floats:
    """Return the capacity of each number of replicas, rows/s, at most what the cap of a batch allows.

    Examples
    --------
    Two carry 100, four 160: one half of 100, three the middle, and eight twice 160.

    >>> from gesscale.model.workflow import Operator
    >>> capacities({2: 100.0, 4: 160.0}, range(1, 9), Operator(name="op", driver_node="hub"), 1.0).tolist()
    [50.0, 100.0, 130.0, 160.0, 200.0, 240.0, 280.0, 320.0]
    """
    if not observed:
        return np.zeros(len(numbers))
    known, wanted = sorted(observed), np.array(numbers, dtype=float)
    found = np.interp(wanted, [0, *known], [0.0, *(observed[number] for number in known)])
    found *= np.maximum(1.0, wanted / known[-1])
    caps = [operator.batch_rows(number) for number in numbers]
    return np.array([min(rate, rows / trigger_s) if rows else rate for rate, rows in zip(found, caps, strict=True)])


def rounded(value: float) -> float:
    """Return a figure with four significant digits.

    Examples
    --------
    >>> rounded(1234.56), rounded(0.0)
    (1235.0, 0.0)
    """
    return float(f"{value:.{_DIGITS}g}")
