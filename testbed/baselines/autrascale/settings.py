"""Settings of `autrascale`."""

from typing import Literal

from pydantic import Field

from gesscale.fields import Duration
from gesscale.wire import MOST_REPLICAS
from testbed.baselines.shared.sizing import SizingSettings


class AutrascaleSettings(SizingSettings):
    """AuTraScale+ (Zhang et al., IEEE TPDS 2024)."""

    cooldown_s: Duration = 1.0
    """For this long after a change of any operator, nothing changes. Default: next to none; after each change it
    waits for `to_stabilise` or more."""
    max_step_up: int = Field(40, ge=1, le=MOST_REPLICAS)
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
