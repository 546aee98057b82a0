"""The autoscaler of the Flink Kubernetes operator, with its defaults.

It extends DS2 by the time to catch up with a backlog and with a restart, by bounds around the target within which
nothing changes, and by a scale-in that waits. All operators change together.

Source: apache/flink-kubernetes-operator, module flink-autoscaler (JobVertexScaler, ScalingMetricEvaluator,
DelayedScaleDown, AutoScalerUtils).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import ClassVar

from pydantic import Field

from gesscale.fields import Duration, SettingsGroup
from gesscale.formatting import format_duration
from gesscale.model.decision import Reason
from gesscale.model.observation import OperatorReading, WorkflowObservation
from gesscale.policies.memos import Memo, load_memo, serialize_memo
from gesscale.policies.registry import PolicyInfo
from gesscale.ports import Knowledge
from testbed.baselines.shared.signals import is_source
from testbed.baselines.shared.sizing import (
    PLACEMENT_SETTINGS,
    SIZED_TOGETHER,
    SizeProposal,
    SizingPolicy,
    blocking_proposal,
    ceiling,
    with_configured_placement,
)
from testbed.baselines.shared.true_rates import required_rates


class FlinkAutoscalerSettings(SettingsGroup):
    """Options `job.autoscaler.*` of the Flink Kubernetes operator; each default is the operator's."""

    metrics_window_s: Duration = 900.0
    """Time over which metrics are averaged: `metrics.window`. Nothing changes before it is full."""
    stabilization_interval_s: Duration = 300.0
    """Time after a change whose metrics are not used: `stabilization.interval`."""
    utilisation_target_share: float = Field(0.7, ge=0.001, le=1)
    """Target of the share of busy time, 0..1: `utilization.target`."""
    utilisation_boundary: float = Field(0.3, ge=0, le=1)
    """Nothing changes while the share is within this of the target, 0..1: `target.utilization.boundary`."""
    restart_time_s: Duration = 300.0
    """Expected time without processing after a change: `restart.time`."""
    catch_up_s: Duration | None = 1800.0
    """Time in which a backlog must be processed: `catch-up.duration`. None: backlogs are ignored."""
    scale_down_interval_s: Duration | None = 3600.0
    """Scale-in waits this long, then uses the highest proposal of this time: `scale-down.interval`. None: no wait."""
    max_scale_down_factor: float = Field(0.6, ge=0, le=1)
    """Largest share of the replicas that a change removes, 0..1: `scale-down.max-factor`."""
    max_scale_up_factor: float = Field(100_000.0, ge=0, le=1e9)
    """Largest multiple of the replicas that a change adds: `scale-up.max-factor`."""
    backlog_lag_s: Duration = 300.0
    """No scale-in while the lag is older than this: `backlog-processing.lag-threshold`."""
    observed_rate_lag_s: Duration = 30.0
    """The true rate is observed while the lag is at least this old: `observed-true-processing-rate.lag-threshold`."""
    detect_ineffective: bool = False
    """Block a scale-out after one that did not help: `scaling.effectiveness.detection.enabled`."""
    effective_share: float = Field(0.1, ge=0, le=1)
    """Share of the expected gain from which a scale-out helped, 0..1: `scaling.effectiveness.threshold`."""


# `observed-true-processing-rate.switch-threshold` and `.min-observations`.
_SWITCH_SHARE, _MIN_OBSERVATIONS = 0.15, 2

# Samples in a metrics window; the operator takes one a minute.
_SAMPLES = 60


class FlinkAutoscalerMemo(Memo):
    """Metrics of an operator since the last change, and its delayed scale-in."""

    #: Instant, rows/s, busy share and lag in rows, oldest first; at most a few more than 60.
    samples: tuple[tuple[float, float, float, float], ...] = ()
    #: When the delayed scale-in was first proposed.
    delayed_since_s: float | None = None
    #: Instants, replicas and whether the operator was out of bounds; replicas strictly decreasing.
    delayed: tuple[tuple[float, int, bool], ...] = ()
    #: Replicas after the latest scale-out, and the true rate before it and as it was expected, rows/s.
    scale_out: tuple[int, float, float] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluated:
    """Averages of an operator over the metrics window."""

    #: True rate of all replicas together, rows/s; infinite without rows or busy time.
    true_rate: float
    #: Rate that it must process, and rate that processes its backlog in time, rows/s (target_rate, catch_up_rate).
    target_rate: float
    catch_up_rate: float

    def capacity(self, utilisation: float, settings: FlinkAutoscalerSettings, *, with_restart: bool) -> float:
        """Return the rate that the replicas must be able to process, rows/s (AutoScalerUtils)."""
        share = min(1.0, utilisation)
        if share <= 0:
            return math.inf
        restart = 0.0
        if with_restart and settings.catch_up_s is not None:
            restart = self.target_rate * settings.restart_time_s / settings.catch_up_s
        return math.floor(self.catch_up_rate + restart + self.target_rate / share + 0.5)


@dataclass(frozen=True, slots=True)
class FlinkAutoscalerPolicy(SizingPolicy):
    """Sizes each operator for its load, its backlog and a restart, once one of them is out of bounds."""

    name: ClassVar[str] = "flink-autoscaler"

    sizing: FlinkAutoscalerSettings = field(default_factory=FlinkAutoscalerSettings)

    def proposals(
        self, readings: Mapping[str, OperatorReading], observation: WorkflowObservation, knowledge: Knowledge
    ) -> Mapping[str, SizeProposal]:
        """Size every operator; see `testbed.baselines.shared.sizing.SizingPolicy`."""
        blocked = blocking_proposal(self.workflow, readings, observation) or self._without_lag(readings)
        if blocked is not None:
            return dict.fromkeys(readings, blocked)
        at_s, settings = observation.at_s, self.sizing
        changes = (knowledge.latest(name) for name in self.workflow.operators)
        changed_s = max((change.at_s for change in changes if change is not None), default=-math.inf)
        memos = {name: self._collected(each, at_s, changed_s, knowledge) for name, each in readings.items()}
        full_s = max((memo.samples[0][0] if memo.samples else at_s) for memo in memos.values())
        full_s += settings.metrics_window_s
        if at_s < full_s:
            detail = f"the metrics window is full in {format_duration(full_s - at_s)}; {SIZED_TOGETHER}"
            waiting = SizeProposal(replicas=None, detail=detail, reason=Reason.COOLING_DOWN)
            return {name: replace(waiting, memo=serialize_memo(memo)) for name, memo in memos.items()}
        evaluated = self._evaluated(readings, memos)
        late = any(memo.samples[-1][3] > settings.backlog_lag_s * _rate(memo.samples) for memo in memos.values())
        sized = {name: self._sized(reading, evaluated[name], memos[name], late) for name, reading in readings.items()}
        if any(each.outside and each.proposal.replicas is not None for each in sized.values()):
            return {name: each.proposal for name, each in sized.items()}
        return {name: each.held(memos[name].scale_out) for name, each in sized.items()}

    # Metrics

    def _without_lag(self, readings: Mapping[str, OperatorReading]) -> SizeProposal | None:
        for name, reading in readings.items():
            if reading.backlog_rows is None or not math.isfinite(reading.backlog_rows):
                detail = f"the lag of {name} is unknown; {SIZED_TOGETHER}"
                return SizeProposal(replicas=None, detail=detail, reason=Reason.METRICS_MISSING)
        return None

    def _collected(
        self, reading: OperatorReading, at_s: float, changed_s: float, knowledge: Knowledge
    ) -> FlinkAutoscalerMemo:
        """Return the memo with a new sample, without those from before the end of the stabilization interval."""
        memo = load_memo(FlinkAutoscalerMemo, self.name, reading.operator, knowledge)
        if memo is None or memo.at_s > at_s:
            memo = FlinkAutoscalerMemo(policy=self.name, at_s=-math.inf)
        if memo.at_s == at_s:
            return memo
        if memo.at_s <= changed_s:
            memo = memo.model_copy(update={"samples": (), "delayed_since_s": None, "delayed": ()})
        samples = memo.samples
        if at_s >= changed_s + self.sizing.stabilization_interval_s:
            window_s = self.sizing.metrics_window_s
            if len(samples) > 1 and samples[-1][0] - samples[-2][0] < window_s / _SAMPLES:
                samples = samples[:-1]
            rate = max(0.0, reading.throughput_rows_per_s)
            samples = (*samples, (at_s, rate, reading.busy_share, max(0.0, reading.backlog_rows or 0.0)))
            while len(samples) > 1 and samples[1][0] <= at_s - window_s:
                samples = samples[1:]
        return memo.model_copy(update={"at_s": at_s, "samples": samples})

    def _evaluated(
        self, readings: Mapping[str, OperatorReading], memos: Mapping[str, FlinkAutoscalerMemo]
    ) -> Mapping[str, Evaluated]:
        catch_up_s = self.sizing.catch_up_s
        catching_up = {
            name: 0.0 if catch_up_s is None else memo.samples[-1][3] / catch_up_s for name, memo in memos.items()
        }
        offered = {name: _offered(memos[name].samples) for name in readings if is_source(name, self.workflow)}
        targets = required_rates(self.workflow, readings, offered)
        behind = required_rates(self.workflow, readings, {name: catching_up[name] for name in offered})
        return {
            name: Evaluated(
                true_rate=self._true_rate(memo.samples),
                target_rate=targets.get(name, math.nan),
                catch_up_rate=behind.get(name, math.nan) + (0.0 if name in offered else catching_up[name]),
            )
            for name, memo in memos.items()
        }

    def _true_rate(self, samples: Sequence[tuple[float, float, float, float]]) -> float:
        """Return the true rate by busy time or, if that is larger by a share, as observed during a backlog."""
        rate, busy = _rate(samples), fmean(each[2] for each in samples)
        by_busy_time = rate / busy if rate > 0 and busy > 0 else math.inf
        lag_s = self.sizing.observed_rate_lag_s
        observed = [each[1] for each in samples if each[1] > 0 and each[3] >= lag_s * each[1]]
        if len(observed) < _MIN_OBSERVATIONS:
            return by_busy_time
        return fmean(observed) if by_busy_time > fmean(observed) * (1 + _SWITCH_SHARE) else by_busy_time

    # Sizes

    def _sized(
        self, reading: OperatorReading, found: Evaluated, memo: FlinkAutoscalerMemo, late: bool
    ) -> "SizedOperator":
        settings, present = self.sizing, reading.replicas
        target, margin = settings.utilisation_target_share, settings.utilisation_boundary
        wanted = found.capacity(target, settings, with_restart=True) if math.isfinite(found.target_rate) else math.nan
        detail = f"true rate {found.true_rate:.0f} rows/s, {wanted:.0f} rows/s needed"
        if math.isnan(wanted):
            nothing = SizeProposal(replicas=None, detail=detail, reason=Reason.METRICS_MISSING)
            return SizedOperator(proposal=nothing, outside=False, memo=memo)
        highest, lowest = (1.0, 0.0) if late else (target + margin, target - margin)
        outside = found.true_rate < found.capacity(highest, settings, with_restart=False) or (
            found.true_rate > found.capacity(lowest, settings, with_restart=True)
        )
        least, most = 1 - settings.max_scale_down_factor, 1 + settings.max_scale_up_factor
        factor = min(most, max(least, wanted / found.true_rate))
        operator = self.workflow.operators[reading.operator]
        size = min(operator.max_replicas, max(operator.min_replicas, ceiling(factor * present)))
        proposal = SizeProposal(replicas=size, detail=f"{detail}: {present} -> {size} replicas")
        if size < present:
            return self._delayed(SizedOperator(proposal=proposal, outside=outside, memo=memo))
        memo = memo.model_copy(update={"delayed_since_s": None, "delayed": ()})
        if size > present:
            if settings.detect_ineffective and self._was_ineffective(present, found, memo.scale_out):
                detail = f"{proposal.detail}; the last scale-out did not help"
                proposal = replace(proposal, replicas=None, detail=detail, reason=Reason.DELAY_EATS_GAIN)
                return SizedOperator(proposal=proposal, outside=outside, memo=memo)
            scale_out = (size, found.true_rate, found.true_rate * factor)
            memo = memo.model_copy(update={"scale_out": scale_out})
        return SizedOperator(proposal=proposal, outside=outside and size != present, memo=memo)

    def _was_ineffective(self, present: int, found: Evaluated, last: tuple[int, float, float] | None) -> bool:
        if last is None or last[0] != present:
            return False
        _, before, expected = last
        return found.true_rate - before < self.sizing.effective_share * (expected - before)

    def _delayed(self, sized: "SizedOperator") -> "SizedOperator":
        """Return the highest proposal of the interval, or none before its end (DelayedScaleDown)."""
        interval_s, memo, count = self.sizing.scale_down_interval_s, sized.memo, sized.proposal.replicas or 0
        if interval_s is None:
            return sized
        since_s = memo.at_s if memo.delayed_since_s is None else memo.delayed_since_s
        kept = tuple(each for each in memo.delayed if each[0] >= memo.at_s - interval_s and each[1] > count)
        delayed = (*kept, (memo.at_s, count, sized.outside))
        memo = memo.model_copy(update={"delayed_since_s": since_s, "delayed": delayed})
        left_s = since_s + interval_s - memo.at_s
        if left_s > 0:
            detail = f"{sized.proposal.detail}; scale-in waits {format_duration(left_s)}"
            waits = replace(sized.proposal, replicas=None, detail=detail, reason=Reason.COOLING_DOWN)
            return SizedOperator(proposal=waits, outside=sized.outside, memo=memo)
        _, most, outside = delayed[0]
        detail = f"{sized.proposal.detail}; {most} at most in the last {format_duration(interval_s)}"
        return SizedOperator(proposal=replace(sized.proposal, replicas=most, detail=detail), outside=outside, memo=memo)


@dataclass(frozen=True, slots=True, kw_only=True)
class SizedOperator:
    """Size of one operator, before it is known whether any is out of bounds."""

    proposal: SizeProposal
    outside: bool
    memo: FlinkAutoscalerMemo

    def __post_init__(self) -> None:
        object.__setattr__(self, "proposal", replace(self.proposal, memo=serialize_memo(self.memo)))

    def held(self, scale_out: tuple[int, float, float] | None) -> SizeProposal:
        """Return no change, because no operator is out of bounds."""
        memo = serialize_memo(self.memo.model_copy(update={"scale_out": scale_out}))
        reason = Reason.WITHIN_TARGET if self.proposal.replicas is not None else self.proposal.reason
        return replace(self.proposal, replicas=None, reason=reason, memo=memo)


def _rate(samples: Sequence[tuple[float, float, float, float]]) -> float:
    return fmean(each[1] for each in samples)


def _offered(samples: Sequence[tuple[float, float, float, float]]) -> float:
    """Return the offered rate, rows/s: the processed rate and the growth of the lag."""
    (first_s, *_, first), (last_s, *_, last) = samples[0], samples[-1]
    growth = (last - first) / (last_s - first_s) if last_s > first_s else 0.0
    return max(0.0, _rate(samples) + growth)


POLICY = PolicyInfo(
    name="flink-autoscaler",
    summary="true rates like DS2, with the time to catch up, bounds around the target and a delayed scale-in",
    source="Apache Flink Kubernetes Operator, module flink-autoscaler",
    build=with_configured_placement(FlinkAutoscalerPolicy),
    settings=FlinkAutoscalerSettings,
    accepts=PLACEMENT_SETTINGS,
    guide="reference/policies/flink-autoscaler.md",
)
