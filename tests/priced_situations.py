"""Situations of the rivals that know the price: replicas of 100 rows/s each, a step of 20 s, nothing waits."""

from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from edge import known, observe, operator, reading, workflow

from gesscale.analyze.changes import ChangeTimes
from gesscale.model.decision import Analysis
from gesscale.policies import policy_named
from gesscale.ports import Knowledge
from gesscale.settings.analyze import AnalyzeSettings
from testbed.baselines.shared.priced import PricedMemo, PricedPolicy, Situation

M = TypeVar("M", bound=PricedMemo)

SITUATION = Situation(
    at_s=1000.0,
    replicas=1,
    numbers=range(1, 9),
    load=90.0,
    drain=0.0,
    wait_s=0.0,
    objective_s=60.0,
    change=ChangeTimes(start_s=20.0),
    step_s=20.0,
    capacity=100.0 * np.arange(1, 9),
)


def rival(name: str, **prices: float) -> PricedPolicy[Any]:
    """Return a rival with its default settings, or other prices."""
    group = name.replace("-", "_")
    policy = policy_named(name, workflow(operator(cap=None, max_replicas=8)), AnalyzeSettings(**{group: prices}))
    assert isinstance(policy, PricedPolicy)
    return policy


def chosen(policy: PricedPolicy[M], memo: M, **changes: Any) -> int:
    """Return the number of replicas that a rival chooses."""
    now = SITUATION._replace(**changes)
    return now.numbers[policy.choice(memo, now)[0]]


def stepped(policy: PricedPolicy[M], memo: M, *loads: float, **changes: Any) -> M:
    """Return the memo after a step with each of some loads."""
    for index, load in enumerate(loads):
        now = SITUATION._replace(at_s=1000.0 + 20 * index, load=load, **changes)
        memo = policy.learned(memo, now)
    return memo


def analysed(name: str, offered: float | None, memory: Knowledge | None = None, **seen: Any) -> Analysis:
    """Return the analysis of one operator on two replicas that processes 100 rows/s."""
    read = replace(reading(("hub", "near"), **seen), input_rows_per_s=offered)
    return rival(name).analyze(observe(read), known() if memory is None else memory)["op"]
