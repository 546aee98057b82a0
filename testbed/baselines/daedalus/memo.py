"""What Daedalus remembers of an operator, and how it learns from one observation more."""

from collections.abc import Mapping

from gesscale.model.observation import OperatorReading
from gesscale.model.order import Order
from gesscale.policies.memos import Memo
from testbed.baselines.daedalus.capacity import (
    Capacities,
    CpuRegression,
    hottest_cpu,
    job_capacity,
    with_window,
    workers,
)
from testbed.baselines.daedalus.scale_out import Downtimes
from testbed.baselines.daedalus.settings import DaedalusSettings
from testbed.baselines.daedalus.workload import Forecaster, History, extended, idled


class DaedalusMemo(Memo):
    """All that is learned of an operator.

    Attributes
    ----------
    placement
        The nodes of its replicas.
    steady_from_s
        When it last started or was changed and ran again, seconds since the epoch.
    changed_s
        When the newest change that is known was ordered; 0 before any.
    lines
        By node; of the present placement only, for keys are dealt again at each change.
    full_cpu
        The CPU of the hottest worker, 0..1, when the job could do no more.
    capacities, history, forecaster, downtimes
        See `testbed.baselines.daedalus`.
    """

    placement: tuple[str, ...]
    steady_from_s: float
    changed_s: float
    downtimes: Downtimes
    lines: Mapping[str, CpuRegression] = {}
    full_cpu: float = 1.0
    capacities: Capacities = Capacities()
    history: History | None = None
    forecaster: Forecaster = Forecaster()


def begun(
    policy: str,
    reading: OperatorReading,
    at_s: float,
    change: Order | None,
    settings: DaedalusSettings,
) -> DaedalusMemo:
    """Return the first memo of an operator, with its last change as an old one."""
    return DaedalusMemo(
        policy=policy,
        at_s=at_s,
        placement=reading.placement,
        steady_from_s=at_s,
        changed_s=change.at_s if change else 0.0,
        downtimes=Downtimes(out_s=settings.downtime_out_s, in_s=settings.downtime_in_s),
    )


def learned(
    memo: DaedalusMemo,
    reading: OperatorReading,
    at_s: float,
    change: Order | None,
    settings: DaedalusSettings,
) -> DaedalusMemo:
    """Return the memo with one observation more.

    Parameters
    ----------
    memo
        So far.
    reading, at_s
        What is seen, and when.
    change
        The newest change, which has settled; None where there was none.
    settings
        Of the policy.
    """
    memo = _after_change(memo, reading, at_s, change)
    memo = _with_workload(memo, reading, at_s, settings)
    return _with_capacity(memo, reading, at_s, settings).model_copy(update={"at_s": at_s})


def _after_change(
    memo: DaedalusMemo,
    reading: OperatorReading,
    at_s: float,
    change: Order | None,
) -> DaedalusMemo:
    """Begin again with the workers after a change, and learn how long it stopped the job."""
    if change is not None and change.at_s > memo.changed_s:
        downtime_s = max(0.0, (change.downtime_s or 0.0) - (reading.trigger_s or 0.0))
        return memo.model_copy(
            update={
                "placement": reading.placement,
                "steady_from_s": change.at_s + downtime_s,
                "changed_s": change.at_s,
                "lines": {},
                "downtimes": memo.downtimes.learned(reading.replicas - len(memo.placement), downtime_s),
            }
        )
    if reading.placement != memo.placement:
        return memo.model_copy(update={"placement": reading.placement, "steady_from_s": at_s, "lines": {}})
    return memo


def _with_workload(
    memo: DaedalusMemo, reading: OperatorReading, at_s: float, settings: DaedalusSettings
) -> DaedalusMemo:
    """Take in what was offered and processed, judge the last forecast, and make the next."""
    history = extended(memo.history, reading.batches)
    if reading.input_rows_per_s == 0:
        history = idled(history, at_s)
    if history is None:
        return memo
    forecaster = memo.forecaster.updated(history, at_s, settings)
    return memo.model_copy(update={"history": history, "forecaster": forecaster})


def _with_capacity(
    memo: DaedalusMemo, reading: OperatorReading, at_s: float, settings: DaedalusSettings
) -> DaedalusMemo:
    """Take in what the workers did, unless part of that was in their first minutes."""
    if at_s - settings.loop_s < memo.steady_from_s + settings.warm_up_s:
        return memo
    window = workers(reading)
    if not window:
        return memo
    lines, full_cpu = with_window(memo.lines, window), memo.full_cpu
    if reading.saturated_share >= 1:
        # Waiting uses no CPU here: what the hottest worker reaches in place of 100 %.
        full_cpu = (full_cpu + hottest_cpu(window)) / 2
    found = job_capacity(lines, window, reading.replicas, full_cpu)
    capacities = memo.capacities.learned(
        reading.replicas,
        found,
        at_s,
    )
    return memo.model_copy(update={"lines": lines, "full_cpu": full_cpu, "capacities": capacities})
