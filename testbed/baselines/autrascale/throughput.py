"""The throughput step TO: the least configuration that keeps up with the rate (IV-B)."""

from testbed.baselines.autrascale import backlog, latency
from testbed.baselines.autrascale.memo import AutrascaleMemo, Trial
from testbed.baselines.autrascale.search import Replicas
from testbed.baselines.autrascale.situation import (
    KEPT_UP,
    Assessment,
    AutrascaleContext,
    judged,
    ordering,
    shown,
    stabilising,
)

_NEXT_TO_BEST = 0.98
"""A configuration of at least this share of the most throughput is as good as the best: our value."""

_STEP = "throughput step"


def take(memo: AutrascaleMemo, now: AutrascaleContext) -> AutrascaleMemo:
    """Judge a configuration and order what true rates ask for, until it keeps up or they ask for nothing new.

    Where a rate begins with more than it needs, replicas are given up until true rates ask for no fewer, or one
    configuration has fallen behind; but not before a backlog is gone. What was tried at this rate is not tried again:
    that ends the endless loop that DS2 falls into where something else limits the throughput.
    """
    stabilise_s = now.settings.to_stabilise_s
    seen = judged(memo, stabilise_s)
    if seen is None:
        return stabilising(memo, _STEP, stabilise_s)
    wanted = asked_for(memo, now, seen)
    shrinks = not seen.falls_behind and memo.may_shrink and wanted != memo.replicas
    if shrinks and (eaten_first := backlog.begin(memo, now)) is not None:
        return eaten_first
    tried = (*memo.tried, _trial(memo, seen))
    looked = memo.but(may_shrink=memo.may_shrink and not seen.falls_behind, tried=tried)
    if not seen.falls_behind and not shrinks:
        return latency.begin(looked.but(least=memo.replicas, capped_at=0.0), now)
    if wanted not in {trial.replicas for trial in tried}:
        return ordering(looked, now, wanted, "throughput", f"{_sentence(seen)} {shown(wanted)}")
    best = _best(tried)
    capped_at = best.throughput if best.throughput < KEPT_UP * seen.rate else 0.0
    return latency.begin(looked.but(least=best.replicas, capped_at=capped_at), now)


def again(memo: AutrascaleMemo, now: AutrascaleContext) -> AutrascaleMemo | None:
    """Begin again where a configuration that kept up no longer does; None where there is no need, or no use."""
    seen = judged(memo, now.settings.to_stabilise_s)
    if seen is None or not seen.misses(memo.capped_at):
        return None
    tried = memo.tried if memo.capped_at else ()
    wanted = asked_for(memo, now, seen)
    no_more = all(count <= has for count, has in zip(wanted, memo.replicas, strict=True))
    if no_more or wanted in {trial.replicas for trial in tried}:
        return None
    tried = (*tried, _trial(memo, seen))
    return ordering(memo.but(tried=tried), now, wanted, "throughput", f"{_sentence(seen)} {shown(wanted)}")


def asked_for(memo: AutrascaleMemo, now: AutrascaleContext, seen: Assessment) -> Replicas:
    """Return what true rates ask for; no more of an operator than it has where the workflow keeps up."""
    asked = now.sized_for(seen.rate)
    if seen.falls_behind:
        return asked
    return tuple(min(few, has) for few, has in zip(asked, memo.replicas, strict=True))


def _trial(memo: AutrascaleMemo, seen: Assessment) -> Trial:
    # What is processed beyond the rate is backlog: it makes a configuration no better.
    return Trial(replicas=memo.replicas, throughput=max(0.0, round(min(seen.throughput, seen.rate), 1)))


def _best(tried: tuple[Trial, ...]) -> Trial:
    most = max(trial.throughput for trial in tried)
    good = (trial for trial in tried if trial.throughput >= _NEXT_TO_BEST * most)
    return min(good, key=lambda trial: sum(trial.replicas))


def _sentence(seen: Assessment) -> str:
    return f"{_STEP}: {seen.throughput:.0f} of {seen.rate:.0f} rows/s are processed, true rates ask for"
