"""Settings, memo and measurements of AuTraScale+, and the assessment of a configuration."""

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
from testbed.baselines.shared.signals import batch_s, longest_path_s, on_time_latency_s, processing_latency_s, waiting_s
from testbed.baselines.shared.sizing import ceiling
from testbed.baselines.shared.true_rates import (
    TrueRateSettings,
    demand_of,
    required_rates,
    source_rates,
    true_rate_per_replica,
)


class AutrascaleSettings(TrueRateSettings):
    """AuTraScale+ (Zhang et al., IEEE TPDS 2024)."""

    cooldown_s: Duration = 1.0
    """No operator changes for this long after a change of any operator. Default: nearly zero; the policy waits for at
    least `to_stabilise` after each change."""
    max_step_up: int = Field(40, ge=1, le=MAX_REPLICAS)
    """Maximum number of replicas that one change adds. Default: the maximum of V-C, so no limit there."""
    processing_latency_s: Duration | None = None
    """Target of the processing latency: the time of a row through the workflow without its wait in a backlog. Default:
    1.5 times the trigger intervals along the longest path, so that batches end on time. A day disables the latency
    step."""
    event_latency_s: Duration = 60.0
    """Target of the event latency: the processing latency plus the wait in the backlog. It is at least the default of
    the processing latency. Default: one period; a day disables the backlog step."""
    drain_limit_s: Duration = 600.0
    """Maximum time to drain a backlog. Default: the longest of V-E."""
    to_stabilise_s: Duration = 300.0
    """Throughput step: time from a change to its assessment. Default: V-B."""
    plo_stabilise_s: Duration = 600.0
    """Latency step: time from a change to its assessment. Default: V-C."""
    elo_stabilise_s: Duration = 180.0
    """Backlog step: time from a change to its assessment. Default: V-E."""
    bootstrap: Literal["model", "trials"] = "trials"
    """Source of the initial scores of the first rate: trials, each a change that takes `plo_stabilise` of production,
    or estimates from measured batch times. Default: trials, as in the paper."""
    transfer_trials: int = Field(10, ge=0, le=100)
    """Num: number of trials at a rate that also learn from the nearest other rate. Default: ours; the paper gives
    none."""
    transfer_weight: float = Field(0.8, gt=0, le=1)
    """Alpha of Algorithm 2: weight of the samples of this rate against those of the other one. Default: the value of
    Eq. 4, which has the same letter."""
    backlog_by: Literal["rates", "search", "max", "proportion", "exponent"] = "rates"
    """Backlog step: replicas by true rates (Eq. 3); by Bayesian optimisation of Eq. 13; all; the present ones times
    target over predicted throughput; or doubled until they suffice. The last three are the baselines of V-E. Default:
    true rates, because no twin of the job is profiled."""


MAX_RATES = 8
MAX_SAMPLES = 24
MAX_CHECKS = 60
_MAX_BYTES = 32 * 1024

#: The present step: TO, PLO, ELO, or none.
Phase = Literal["throughput", "latency", "backlog", "steady"]


class _Value(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class RateCheck(_Value):
    """Measurement of the workflow at one instant of a run."""

    #: Time, seconds since the epoch.
    at_s: float
    #: Lambda and v_t, rows/s at the sources (rate, throughput).
    rate: float
    throughput: float
    #: L_p.
    latency_s: float
    #: L_w; None if the backlog is unknown.
    waiting_s: float | None


class Trial(_Value):
    """Configuration of the throughput step with its throughput, rows/s."""

    replicas: Replicas
    throughput: float


class LatencySample(_Value):
    """Result of a configuration after the stabilisation time."""

    #: Replicas of each operator.
    replicas: Replicas
    #: L_p, mean of the second half.
    latency_s: float
    #: True if the throughput reached its target.
    sustained: bool


class RateModel(_Value):
    """Samples of one input rate."""

    #: Rows/s at the sources.
    rate: float
    #: Samples, newest first.
    samples: tuple[LatencySample, ...] = ()
    #: Batch time of each operator with the newest sample, from which other configurations are estimated.
    batches_s: tuple[float, ...] = ()

    def learning(self, sample: LatencySample, batches_s: tuple[float, ...]) -> Self:
        """Add a sample; it replaces an older one of the same configuration."""
        others = (old for old in self.samples if old.replicas != sample.replicas)
        return self.model_copy(update={"samples": (sample, *others)[:MAX_SAMPLES], "batches_s": batches_s})


class AutrascaleMemo(Memo):
    """Memo of the policy; stored at the first operator in topological order."""

    #: Order of the operators in all vectors.
    operators: tuple[str, ...]
    #: The present configuration, and the time of its first observation (replicas, since_s).
    replicas: Replicas = ()
    since_s: float = 0.0
    #: Measurements of this run, oldest first.
    checks: tuple[RateCheck, ...] = ()
    #: The present step.
    phase: Phase = "throughput"
    #: Input rate of the present model, and the last three observed rates, rows/s (rate, recent_rates).
    rate: float
    recent_rates: tuple[float, ...] = ()
    #: True until a configuration falls behind: the throughput step may remove replicas at this rate.
    may_shrink: bool = True
    #: Configurations of the throughput step at this rate.
    tried: tuple[Trial, ...] = ()
    #: Pi^t; empty until it is found.
    least: Replicas = ()
    #: Highest throughput if no configuration kept up, rows/s; else 0.
    capped_at: float = 0.0
    #: Number of configurations that the latency step ordered at this rate, and whether it found no good one
    #: (latency_trials, gave_up).
    latency_trials: int = 0
    gave_up: bool = False
    #: Configuration and step to return to after a backlog has drained (return_to, return_phase).
    return_to: Replicas = ()
    return_phase: Phase = "steady"
    #: No other backlog step starts before this time.
    rests_until_s: float = 0.0
    #: Samples by rate, the present one first.
    models: tuple[RateModel, ...]
    #: The proposed configuration, and the time of its proposal (wanted, ordered_s).
    proposed: Replicas
    ordered_s: float = 0.0
    #: Explanation of the proposal (detail, reason).
    detail: str = ""
    reason: Reason = Reason.WITHIN_TARGET

    def with_changes(self, **changes: object) -> Self:
        """Return a copy with some attributes changed."""
        return self.model_copy(update=changes)

    def bounded(self) -> str:
        """Return JSON of at most 32 KiB, without the least recent rates, then without old samples."""
        memo, text = self, self.model_dump_json()
        while len(text) > _MAX_BYTES and (len(memo.models) > 1 or memo.models[0].samples):
            present = memo.models[0]
            fewer = (present.model_copy(update={"samples": present.samples[:-1]}),)
            memo = memo.with_changes(models=memo.models[:-1] if len(memo.models) > 1 else fewer)
            text = memo.model_dump_json()
        return text


@dataclass(frozen=True, slots=True, kw_only=True)
class AutrascaleContext:
    """State of a workflow with usable readings of all operators."""

    #: Time, seconds since the epoch.
    at_s: float
    #: The workflow and the reading of each operator (workflow, readings).
    workflow: Workflow
    readings: Mapping[str, OperatorReading]
    #: The settings and the seed of the policy (settings, seed).
    settings: AutrascaleSettings
    seed: int
    #: Longest downtime of the newest settled changes of all operators; 0 if none has settled.
    downtime_s: float

    @property
    def operators(self) -> tuple[str, ...]:
        """Names of the operators, upstream first; the order of all vectors."""
        return self.workflow.topological_order

    @property
    def present(self) -> Replicas:
        """The present configuration."""
        return tuple(self.readings[name].replicas for name in self.operators)

    @property
    def most(self) -> Replicas:
        """P_max of each operator."""
        return tuple(self.workflow.operators[name].max_replicas for name in self.operators)

    @property
    def source_rates(self) -> Mapping[str, float]:
        """Offered rows/s of each source that reports them."""
        return source_rates(self.workflow, self.readings)

    @property
    def unknown(self) -> str:
        """The missing figure, as text; empty if all are known."""
        rates, check = self.source_rates, self.check
        silent = [name for name in self.operators if not self.workflow.upstream(name) and name not in rates]
        if silent:
            return f"offered rate of {silent[0]} unknown: its source does not report it"
        if not (math.isfinite(check.throughput) and math.isfinite(check.latency_s)):
            return "throughput or latency of the workflow is not finite"
        return ""

    @property
    def check(self) -> RateCheck:
        """The present measurement."""
        rates = self.source_rates
        rate = sum(rates.values())
        batches_s = dict(zip(self.operators, self.batches_s, strict=True))
        waits_s = {name: waiting_s(reading) for name, reading in self.readings.items()}
        known_s = {name: wait_s for name, wait_s in waits_s.items() if wait_s is not None}
        return RateCheck(
            at_s=self.at_s,
            rate=rate,
            throughput=rate * self._served()
            if rate > 0
            else sum(self.readings[name].throughput_rows_per_s for name in rates),
            latency_s=self.latency_of(batches_s),
            waiting_s=longest_path_s(self.workflow, known_s) if len(known_s) == len(waits_s) else None,
        )

    @property
    def batches_s(self) -> tuple[float, ...]:
        """Batch time of each operator, seconds."""
        return tuple(batch_s(self.readings[name]) for name in self.operators)

    @property
    def latency_target_s(self) -> float:
        """L_p, seconds."""
        configured_s = self.settings.processing_latency_s
        return self.on_time_latency_s if configured_s is None else configured_s

    @property
    def event_target_s(self) -> float:
        """L_e, seconds."""
        min_s = self.on_time_latency_s if math.isfinite(self.on_time_latency_s) else 0.0
        return max(self.settings.event_latency_s, min_s)

    @property
    def on_time_latency_s(self) -> float:
        """The processing latency of batches that just fill their trigger intervals; infinite without an interval."""
        return on_time_latency_s(self.workflow, self.readings)

    def latency_of(self, batches_s: Mapping[str, float]) -> float:
        """Return l_p for batch times, seconds: the sum along the longest path."""
        return processing_latency_s(self.workflow, self.readings, batches_s)

    def estimated_s(self, replicas: Replicas, with_replicas: Replicas, batches_s: Sequence[float]) -> float:
        """Estimate l_p of a configuration if replicas share the batch time evenly."""
        shared_s = {
            name: seconds * had / has
            for name, seconds, had, has in zip(self.operators, batches_s, with_replicas, replicas, strict=True)
        }
        return self.latency_of(shared_s)

    def sized_for(self, rate: float) -> Replicas:
        """Return the replicas for a rate by true rates (Eq. 3)."""
        now, sources = sum(self.source_rates.values()), self.source_rates
        offered = {name: rate * part / now if now > 0 else rate / len(sources) for name, part in sources.items()}
        needed = required_rates(self.workflow, self.readings, offered)
        sizes: dict[str, int] = {}
        for name in self.operators:
            one = true_rate_per_replica(self.readings[name], self.settings.useful_time)
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

    def predicted_throughput(self, replicas: Replicas) -> float:
        """Return the largest rate at the sources that a configuration sustains by true rates, rows/s."""
        rate = sum(self.source_rates.values())
        needed = required_rates(self.workflow, self.readings, self.source_rates)
        limits = [
            count * one * rate / needed[name]
            for name, count in zip(self.operators, replicas, strict=True)
            if needed.get(name, 0.0) > 0
            and (one := true_rate_per_replica(self.readings[name], self.settings.useful_time)) is not None
        ]
        return min(limits, default=math.inf)

    def _served(self) -> float:
        """Return the processed share of the offered rows at the outputs, without selectivity."""
        served: dict[str, float] = {}
        for name in self.operators:
            reading, before = self.readings[name], self.workflow.upstream(name)
            offered = reading.input_rows_per_s or 0.0
            share = reading.throughput_rows_per_s / offered if offered > 0 else 1.0
            served[name] = min((served[other] for other in before), default=1.0) * share
        return min(served[name] for name in self.operators if not self.workflow.downstream(name))


#: Minimum relative difference of another rate: our value, the paper gives none.
_OTHER_RATE = 0.1

#: The throughput is sufficient from this share of the rate: our value, the paper has no tolerance.
KEPT_UP = 0.98

#: The same if something else limits the throughput, which is a noisy figure: our value.
_AT_LIMIT = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class Assessment:
    """Mean of the measurements in the second half of the stabilisation time of a configuration.

    Measurements at another rate are ignored if there are others.
    """

    #: Lambda, the median, rows/s.
    rate: float
    #: V_t, rows/s.
    throughput: float
    #: L_p.
    latency_s: float
    #: L_w at the end; None if the backlog is unknown.
    waiting_s: float | None
    #: True if the throughput is below the input, and the backlog grows as far as known.
    falls_behind: bool

    def misses(self, capped_at: float) -> bool:
        """Return True if the throughput misses its target; `capped_at` is the maximum possible, 0 for no limit."""
        return self.falls_behind and (capped_at <= 0 or self.throughput < _AT_LIMIT * capped_at)


def assess(memo: AutrascaleMemo, stabilise_s: float) -> Assessment | None:
    """Assess the present run; None until the stabilisation time has passed."""
    newest = memo.checks[-1]
    if newest.at_s - memo.since_s < stabilise_s:
        return None
    late = [check for check in memo.checks if check.at_s > newest.at_s - stabilise_s / 2]
    inside = [check for check in late if not is_other_rate(check.rate, memo.rate)] or late
    offered, throughput = fmean(check.rate for check in inside), fmean(check.throughput for check in inside)
    return Assessment(
        rate=median(check.rate for check in inside),
        throughput=throughput,
        latency_s=fmean(check.latency_s for check in inside),
        waiting_s=newest.waiting_s,
        falls_behind=throughput < KEPT_UP * offered and _grows(inside),
    )


def is_other_rate(rate: float, known: float) -> bool:
    """Return True if a rate differs from that of a model."""
    return abs(rate - known) > _OTHER_RATE * known


def keep_replicas(memo: AutrascaleMemo, detail: str, reason: Reason, **changes: object) -> AutrascaleMemo:
    """Return the memo of an unchanged configuration."""
    return memo.with_changes(proposed=memo.replicas, detail=detail, reason=reason, **changes)


def order_replicas(
    memo: AutrascaleMemo, now: AutrascaleContext, replicas: Replicas, phase: Phase, detail: str
) -> AutrascaleMemo:
    """Return the memo with a new configuration to run in a step."""
    return memo.with_changes(
        proposed=replicas, ordered_s=now.at_s, phase=phase, detail=detail, reason=Reason.WITHIN_TARGET
    )


def wait_until_stable(memo: AutrascaleMemo, step: str, stabilise_s: float) -> AutrascaleMemo:
    """Return the memo of a configuration that has not run long enough for an assessment."""
    ran_s = memo.checks[-1].at_s - memo.since_s
    detail = f"{step}: {format_configuration(memo.replicas)} stabilising, {ran_s:.0f} of {stabilise_s:.0f} s"
    return keep_replicas(memo, detail, Reason.COOLING_DOWN)


def format_configuration(replicas: Replicas) -> str:
    """Format a configuration."""
    return f"({', '.join(map(str, replicas))})"


def _grows(checks: list[RateCheck]) -> bool:
    known = [(check.at_s, check.waiting_s * check.rate) for check in checks if check.waiting_s is not None]
    if len(known) < max(2, len(checks)):
        return True
    at_s, rows = zip(*known, strict=True)
    return linear_regression(at_s, rows).slope > 0
