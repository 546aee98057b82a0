"""What AuTraScale+ remembers of a workflow: where it is in its steps, and the samples of each rate."""

from typing import Literal, Self

from pydantic import BaseModel, ConfigDict

from gesscale.model.decision import Reason
from gesscale.policies.memos import Memo
from testbed.baselines.autrascale.search import Replicas

MOST_RATES = 8
MOST_SAMPLES = 24
MOST_CHECKS = 60
_MOST_BYTES = 32 * 1024

Phase = Literal["throughput", "latency", "backlog", "steady"]
"""The step that is under way: TO, PLO, ELO, or none."""


class _Value(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class RateCheck(_Value):
    """The workflow at one instant of a run.

    Attributes
    ----------
    at_s
        When.
    rate, throughput
        lambda and v_t, rows/s at the sources.
    latency_s
        l_p.
    waiting_s
        l_w; None where the backlog is unknown.
    """

    at_s: float
    rate: float
    throughput: float
    latency_s: float
    waiting_s: float | None


class Trial(_Value):
    """A configuration of the throughput step, and what it processed of the rate, rows/s."""

    replicas: Replicas
    throughput: float


class LatencySample(_Value):
    """A configuration that ran for the stabilisation time.

    Attributes
    ----------
    replicas
        Of each operator.
    latency_s
        l_p, the mean of the second half.
    sustained
        Whether the throughput was what it should be.
    """

    replicas: Replicas
    latency_s: float
    sustained: bool


class RateModel(_Value):
    """What is known of one input rate.

    Attributes
    ----------
    rate
        Rows/s at the sources.
    samples
        Newest first.
    batches_s
        How long the batches of each operator took with the newest sample, from which others are estimated.
    """

    rate: float
    samples: tuple[LatencySample, ...] = ()
    batches_s: tuple[float, ...] = ()

    def learning(self, sample: LatencySample, batches_s: tuple[float, ...]) -> Self:
        """Return it with one more sample, which takes the place of an older one of the same configuration."""
        others = (old for old in self.samples if old.replicas != sample.replicas)
        return self.model_copy(update={"samples": (sample, *others)[:MOST_SAMPLES], "batches_s": batches_s})


class AutrascaleMemo(Memo):
    """What is remembered from step to step; kept at the first operator in topological order.

    Attributes
    ----------
    operators
        The operators whose replicas the vectors hold, in their order.
    replicas, since_s
        The configuration that runs, and since when it has been seen.
    checks
        Of this run, oldest first.
    phase
        The step that is under way.
    rate, recent_rates
        The rate that the present model belongs to, and the last three that were seen, rows/s.
    may_shrink
        Whether the throughput step may give up replicas at this rate: until a configuration has fallen behind.
    tried
        Configurations of the throughput step at this rate.
    least
        pi^t; empty until it is found.
    capped_at
        The most throughput there was where no configuration kept up, rows/s; else 0.
    latency_trials, gave_up
        How many configurations the latency step has ordered at this rate, and whether it ended without a good one.
    return_to, return_phase
        While a backlog drains: the configuration to return to, and the step that was under way.
    rests_until_s
        Before this instant no other backlog step begins.
    models
        By rate, the present one first.
    wanted, ordered_s
        The proposed configuration, and since when.
    detail, reason
        Why.
    """

    operators: tuple[str, ...]
    replicas: Replicas = ()
    since_s: float = 0.0
    checks: tuple[RateCheck, ...] = ()
    phase: Phase = "throughput"
    rate: float
    recent_rates: tuple[float, ...] = ()
    may_shrink: bool = True
    tried: tuple[Trial, ...] = ()
    least: Replicas = ()
    capped_at: float = 0.0
    latency_trials: int = 0
    gave_up: bool = False
    return_to: Replicas = ()
    return_phase: Phase = "steady"
    rests_until_s: float = 0.0
    models: tuple[RateModel, ...]
    wanted: Replicas
    ordered_s: float = 0.0
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
