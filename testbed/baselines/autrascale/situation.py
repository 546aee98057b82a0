"""What AuTraScale+ is told, what it remembers and sees of a workflow, and what a run of a configuration has shown."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, linear_regression, median
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field

from gesscale.fields import Duration
from gesscale.model.decision import Reason
from gesscale.model.observation import OperatorReading
from gesscale.model.workflow import Workflow
from gesscale.policies.memos import Memo
from gesscale.wire import MAX_REPLICAS
from testbed.baselines.autrascale.search import Replicas
from testbed.baselines.shared.signals import (
    batch_s,
    demand_of,
    in_time_s,
    longest_path_s,
    processing_latency_s,
    required_rates,
    source_rates,
    true_rate_per_replica,
    waiting_s,
)
from testbed.baselines.shared.sizing import SizingSettings, ceiling


class AutrascaleSettings(SizingSettings):
    """AuTraScale+ (Zhang et al., IEEE TPDS 2024)."""

    cooldown_s: Duration = 1.0
    """For this long after a change of any operator, nothing changes. Default: next to none; after each change it
    waits for `to_stabilise` or more."""
    max_step_up: int = Field(40, ge=1, le=MAX_REPLICAS)
    """Replicas that one change adds at most. Default: the most of V-C, so any number there."""
    processing_latency_s: Duration | None = None
    """The target of the processing latency: the time of a row through the workflow without its wait in a backlog.
    Default: 1.5 times the trigger intervals along the longest path, so that batches end in time. A day turns the
    latency step off."""
    event_latency_s: Duration = 60.0
    """The target of the event latency: the processing latency and the wait in the backlog. It is at least the default
    of the processing latency. Default: one period; a day turns the backlog step off."""
    drain_limit_s: Duration = 600.0
    """A backlog must drain within this time. Default: the longest of V-E."""
    to_stabilise_s: Duration = 300.0
    """Throughput step: time from a change to its judgement. Default: V-B."""
    plo_stabilise_s: Duration = 600.0
    """Latency step: time from a change to its judgement. Default: V-C."""
    elo_stabilise_s: Duration = 180.0
    """Backlog step: time from a change to its judgement. Default: V-E."""
    bootstrap: Literal["model", "trials"] = "model"
    """Source of the first scores of a rate: its true times in batches, or trials as in the paper. Each trial is a
    change and `plo_stabilise` of production. Default: model; ten trials take 100 min."""
    transfer_trials: int = Field(10, ge=0, le=100)
    """Num: so many trials at a rate also learn from the nearest other rate; 0: none. Default: ours; not printed."""


MOST_RATES = 8
MOST_SAMPLES = 24
MOST_CHECKS = 60
_MOST_BYTES = 32 * 1024

#: The step that is under way: TO, PLO, ELO, or none.
Phase = Literal["throughput", "latency", "backlog", "steady"]


class _Value(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class RateCheck(_Value):
    """The workflow at one instant of a run."""

    #: When.
    at_s: float
    #: lambda and v_t, rows/s at the sources (rate, throughput).
    rate: float
    throughput: float
    #: L_p.
    latency_s: float
    #: L_w; None where the backlog is unknown.
    waiting_s: float | None


class Trial(_Value):
    """A configuration of the throughput step, and what it processed of the rate, rows/s."""

    replicas: Replicas
    throughput: float


class LatencySample(_Value):
    """A configuration that ran for the stabilisation time."""

    #: Of each operator.
    replicas: Replicas
    #: L_p, the mean of the second half.
    latency_s: float
    #: Whether the throughput was what it should be.
    sustained: bool


class RateModel(_Value):
    """What is known of one input rate."""

    #: Rows/s at the sources.
    rate: float
    #: Newest first.
    samples: tuple[LatencySample, ...] = ()
    #: How long the batches of each operator took with the newest sample, from which others are estimated.
    batches_s: tuple[float, ...] = ()

    def learning(self, sample: LatencySample, batches_s: tuple[float, ...]) -> Self:
        """Return it with one more sample, which takes the place of an older one of the same configuration."""
        others = (old for old in self.samples if old.replicas != sample.replicas)
        return self.model_copy(update={"samples": (sample, *others)[:MOST_SAMPLES], "batches_s": batches_s})


class AutrascaleMemo(Memo):
    """What is remembered from step to step; kept at the first operator in topological order."""

    #: The operators whose replicas the vectors hold, in their order.
    operators: tuple[str, ...]
    #: The configuration that runs, and since when it has been seen (replicas, since_s).
    replicas: Replicas = ()
    since_s: float = 0.0
    #: Of this run, oldest first.
    checks: tuple[RateCheck, ...] = ()
    #: The step that is under way.
    phase: Phase = "throughput"
    #: The rate that the present model belongs to, and the last three that were seen, rows/s (rate, recent_rates).
    rate: float
    recent_rates: tuple[float, ...] = ()
    #: Whether the throughput step may give up replicas at this rate: until a configuration has fallen behind.
    may_shrink: bool = True
    #: Configurations of the throughput step at this rate.
    tried: tuple[Trial, ...] = ()
    #: Pi^t; empty until it is found.
    least: Replicas = ()
    #: The most throughput there was where no configuration kept up, rows/s; else 0.
    capped_at: float = 0.0
    #: How many configurations the latency step has ordered at this rate, and whether it ended without a good one
    #: (latency_trials, gave_up).
    latency_trials: int = 0
    gave_up: bool = False
    #: While a backlog drains: the configuration to return to, and the step that was under way (return_to,
    #: return_phase).
    return_to: Replicas = ()
    return_phase: Phase = "steady"
    #: Before this instant no other backlog step begins.
    rests_until_s: float = 0.0
    #: By rate, the present one first.
    models: tuple[RateModel, ...]
    #: The proposed configuration, and since when (wanted, ordered_s).
    wanted: Replicas
    ordered_s: float = 0.0
    #: Why (detail, reason).
    detail: str = ""
    reason: Reason = Reason.WITHIN_TARGET

    def but(self, **changes: object) -> Self:
        """Return it with some attributes changed."""
        return self.model_copy(update=changes)

    def bounded(self) -> str:
        """Return it as JSON of at most 32 KiB: it drops the longest unused rates first, then old samples."""
        memo, text = self, self.model_dump_json()
        while len(text) > _MOST_BYTES and (len(memo.models) > 1 or memo.models[0].samples):
            present = memo.models[0]
            fewer = (present.model_copy(update={"samples": present.samples[:-1]}),)
            memo = memo.but(models=memo.models[:-1] if len(memo.models) > 1 else fewer)
            text = memo.model_dump_json()
        return text


@dataclass(frozen=True, slots=True, kw_only=True)
class AutrascaleContext:
    """A workflow whose operators can all be judged."""

    #: When, seconds since the epoch.
    at_s: float
    #: Its operators, and what was read of each (workflow, readings).
    workflow: Workflow
    readings: Mapping[str, OperatorReading]
    #: The settings and the seed of the policy (settings, seed).
    settings: AutrascaleSettings
    seed: int
    #: How long the newest changes took that have settled, the longest of the operators; 0 where none has.
    downtime_s: float

    @property
    def operators(self) -> tuple[str, ...]:
        """Their names, upstream first; every vector is in this order."""
        return self.workflow.topological_order

    @property
    def present(self) -> Replicas:
        """The configuration that runs."""
        return tuple(self.readings[name].replicas for name in self.operators)

    @property
    def most(self) -> Replicas:
        """P_max, of each operator."""
        return tuple(self.workflow.operators[name].max_replicas for name in self.operators)

    @property
    def source_rates(self) -> Mapping[str, float]:
        """Rows/s offered by each source; a source that does not report is missing."""
        return source_rates(self.workflow, self.readings)

    @property
    def unknown(self) -> str:
        """What is missing for a judgement, in a sentence; empty where all is known."""
        rates, check = self.source_rates, self.check
        silent = [name for name in self.operators if not self.workflow.upstream(name) and name not in rates]
        if silent:
            return f"the source of {silent[0]} does not report what it offers"
        if not (math.isfinite(check.throughput) and math.isfinite(check.latency_s)):
            return "throughput or latency of the workflow is no number"
        return ""

    @property
    def check(self) -> RateCheck:
        """What this instant adds to the run."""
        rates = self.source_rates
        rate = sum(rates.values())
        batches_s = dict(zip(self.operators, self.batches_s, strict=True))
        waits_s = {name: waiting_s(reading) for name, reading in self.readings.items()}
        told_s = {name: wait_s for name, wait_s in waits_s.items() if wait_s is not None}
        return RateCheck(
            at_s=self.at_s,
            rate=rate,
            throughput=rate * self._served()
            if rate > 0
            else sum(self.readings[name].throughput_rows_per_s for name in rates),
            latency_s=self.latency_of(batches_s),
            waiting_s=longest_path_s(self.workflow, told_s) if len(told_s) == len(waits_s) else None,
        )

    @property
    def batches_s(self) -> tuple[float, ...]:
        """How long the batches of each operator take, seconds."""
        return tuple(batch_s(self.readings[name]) for name in self.operators)

    @property
    def latency_target_s(self) -> float:
        """L_p, seconds."""
        told_s = self.settings.processing_latency_s
        return self.in_time_s if told_s is None else told_s

    @property
    def event_target_s(self) -> float:
        """L_e, seconds."""
        least_s = self.in_time_s if math.isfinite(self.in_time_s) else 0.0
        return max(self.settings.event_latency_s, least_s)

    @property
    def in_time_s(self) -> float:
        """The processing latency where batches just fill their trigger intervals; infinite without one."""
        return in_time_s(self.workflow, self.readings)

    def latency_of(self, batches_s: Mapping[str, float]) -> float:
        """Return l_p where batches take so long, seconds: the sum along the longest path."""
        return processing_latency_s(self.workflow, self.readings, batches_s)

    def estimated_s(self, replicas: Replicas, with_replicas: Replicas, batches_s: Sequence[float]) -> float:
        """Return what l_p would be if replicas shared the time in batches evenly."""
        shared_s = {
            name: seconds * had / has
            for name, seconds, had, has in zip(self.operators, batches_s, with_replicas, replicas, strict=True)
        }
        return self.latency_of(shared_s)

    def sized_for(self, rate: float) -> Replicas:
        """Return the replicas that a rate needs by true rates (Eq. 3)."""
        now, sources = sum(self.source_rates.values()), self.source_rates
        offered = {name: rate * part / now if now > 0 else rate / len(sources) for name, part in sources.items()}
        needed = required_rates(self.workflow, self.readings, offered)
        sizes: dict[str, int] = {}
        for name in self.operators:
            one = true_rate_per_replica(self.readings[name])
            demand = needed.get(name)
            operator, reading = self.workflow.operators[name], self.readings[name]
            size, offered_now = reading.replicas, reading.input_rows_per_s
            if demand is not None:
                demand = demand_of(reading, demand)
            if demand == 0:
                size = 1
            elif demand is not None and one is not None:
                size = ceiling(min(demand / one, operator.max_replicas))
            least = operator.min_replicas if offered_now is not None else reading.replicas
            sizes[name] = min(max(size, least, 1), operator.max_replicas)
        return tuple(sizes.values())

    def _served(self) -> float:
        """Return how many rows leave the workflow for each that its sources offer, selectivity aside."""
        served: dict[str, float] = {}
        for name in self.operators:
            reading, before = self.readings[name], self.workflow.upstream(name)
            offered = reading.input_rows_per_s or 0.0
            share = reading.throughput_rows_per_s / offered if offered > 0 else 1.0
            served[name] = min((served[other] for other in before), default=1.0) * share
        return min(served[name] for name in self.operators if not self.workflow.downstream(name))


#: A rate that differs by more than this share is another one: our value, the paper names none.
_OTHER_RATE = 0.1

#: From this share of the rate on, the throughput is high enough: our value, the paper has no tolerance.
KEPT_UP = 0.98

#: The same where something else limits the throughput, because a noisy figure shows that: our value.
_AT_LIMIT = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class Assessment:
    """The mean of the second half of the time that a configuration must run before it is judged.

    Checks at another rate do not count where there are others.
    """

    #: Lambda, the median, rows/s.
    rate: float
    #: V_t, rows/s.
    throughput: float
    #: L_p.
    latency_s: float
    #: L_w at the end; None where the backlog is unknown.
    waiting_s: float | None
    #: Whether it processes less than is offered, and rows pile up as far as is known.
    falls_behind: bool

    def misses(self, capped_at: float) -> bool:
        """Whether the throughput is less than it should be; `capped_at` is the most that is possible, 0 for none."""
        return self.falls_behind and (capped_at <= 0 or self.throughput < _AT_LIMIT * capped_at)


def judged(memo: AutrascaleMemo, stabilise_s: float) -> Assessment | None:
    """Return what the present run has shown; None until it has lasted for the stabilisation time."""
    newest = memo.checks[-1]
    if newest.at_s - memo.since_s < stabilise_s:
        return None
    late = [check for check in memo.checks if check.at_s > newest.at_s - stabilise_s / 2]
    inside = [check for check in late if not is_other(check.rate, memo.rate)] or late
    offered, throughput = fmean(check.rate for check in inside), fmean(check.throughput for check in inside)
    return Assessment(
        rate=median(check.rate for check in inside),
        throughput=throughput,
        latency_s=fmean(check.latency_s for check in inside),
        waiting_s=newest.waiting_s,
        falls_behind=throughput < KEPT_UP * offered and _grows(inside),
    )


def is_other(rate: float, known: float) -> bool:
    """Whether a rate differs from that of a model."""
    return abs(rate - known) > _OTHER_RATE * known


def staying(memo: AutrascaleMemo, detail: str, reason: Reason, **changes: object) -> AutrascaleMemo:
    """Return what to remember where the configuration that runs stays."""
    return memo.but(wanted=memo.replicas, detail=detail, reason=reason, **changes)


def ordering(
    memo: AutrascaleMemo, now: AutrascaleContext, replicas: Replicas, phase: Phase, detail: str
) -> AutrascaleMemo:
    """Return what to remember where another configuration is to run, and a step is then under way."""
    return memo.but(wanted=replicas, ordered_s=now.at_s, phase=phase, detail=detail, reason=Reason.WITHIN_TARGET)


def stabilising(memo: AutrascaleMemo, step: str, stabilise_s: float) -> AutrascaleMemo:
    """Return what to remember where a configuration has not run long enough to be judged."""
    ran_s = memo.checks[-1].at_s - memo.since_s
    detail = f"{step}: {shown(memo.replicas)} has run for {ran_s:.0f} of {stabilise_s:.0f} s"
    return staying(memo, detail, Reason.COOLING_DOWN)


def shown(replicas: Replicas) -> str:
    """Return a configuration for people."""
    return f"({', '.join(map(str, replicas))})"


def _grows(checks: list[RateCheck]) -> bool:
    known = [(check.at_s, check.waiting_s * check.rate) for check in checks if check.waiting_s is not None]
    if len(known) < max(2, len(checks)):
        return True
    at_s, rows = zip(*known, strict=True)
    return linear_regression(at_s, rows).slope > 0
