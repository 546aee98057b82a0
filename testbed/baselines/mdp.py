"""The elasticity MDP (Russo Russo, Cardellini, Lo Presti, ACM TAAS 2023; roots DEBS 2019): a model-based learner.

The state is the number of replicas and the level of the load. How levels follow each other is counted, how late each
state is is learned, and value iteration gives the replicas of least discounted cost. Variants choose any number of
replicas instead of one more or fewer, and have the wait of the newest row in the state.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Annotated, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from gesscale.fields import MAX_EXACT_INTEGER
from gesscale.policies.registry import PolicyInfo
from gesscale.wire import MAX_REPLICAS
from testbed.baselines.shared.priced import Cost, Floats, PricedMemo, PricedPolicy, PricedSettings, Rate, Situation
from testbed.baselines.shared.sizing import PLACEMENT_SETTINGS, with_configured_placement

#: Levels of the load, as `input.rate.levels` of the authors.
LEVELS = 20
#: Discount of the next step, and weight of a new observation of lateness: the authors'.
_DISCOUNT, _ALPHA = 0.99, 0.1
#: Values are updated in each of the first steps, later once in this number of steps (the authors' numbers), and here
#: also at a level that is new.
_EARLY_STEPS, _UPDATE_EVERY = 100, 50
#: Sweeps over all states in an update; the authors have one.
_SWEEPS = 60
#: A level that was left more often than this has its counts halved.
_MOST_COUNTS = 1000
_DIGITS = 5


class MdpSettings(PricedSettings):
    """The prices of the MDP."""


class MdpAnySettings(MdpSettings):
    """The prices of the MDP that chooses any number of replicas."""


class MdpBacklogSettings(MdpSettings):
    """The prices of the MDP with the backlog in its state."""


class MdpMemo(PricedMemo):
    """Learned model and values of an operator; 3 to 12 kB of JSON."""

    #: Upper end of the highest level, rows/s; 0 before the first load. It doubles when the load exceeds it.
    top: Rate = 0.0
    #: Newest level; -1 before the first load.
    level: int = Field(-1, ge=-1, lt=LEVELS)
    #: How often a level followed another: the earlier one times `LEVELS`, plus the later one.
    counts: Mapping[Annotated[int, Field(ge=0, lt=LEVELS**2)], Annotated[int, Field(ge=1, le=MAX_EXACT_INTEGER)]] = {}
    #: Learned share of late steps: the number of replicas times `LEVELS`, plus the level.
    late: Mapping[Annotated[int, Field(ge=0, lt=LEVELS * (MAX_REPLICAS + 1))], Annotated[float, Field(ge=0, le=1)]] = {}
    #: Least cost by replicas, level and wait, flat.
    values: tuple[Cost, ...] = ()
    steps: int = Field(0, ge=0)

    def with_top(self, load: float) -> "MdpMemo":
        """Return the memo with levels that contain a load: pairs of levels become one as long as it is too high."""
        memo = self if self.top else self.model_copy(update={"top": max(1.0, 2 * load)})
        while load >= memo.top:
            counts: dict[int, int] = {}
            for key, count in memo.counts.items():
                merged = key // LEVELS // 2 * LEVELS + key % LEVELS // 2
                counts[merged] = counts.get(merged, 0) + count
            late = {key // LEVELS * LEVELS + key % LEVELS // 2: share for key, share in memo.late.items()}
            changed = {"top": 2 * memo.top, "level": memo.level // 2, "counts": counts, "late": late, "values": ()}
            memo = memo.model_copy(update=changed)
        return memo

    def counted(self, level: int) -> "MdpMemo":
        """Return the memo with the next level of the load."""
        if self.level < 0:
            return self.model_copy(update={"level": level})
        key = self.level * LEVELS + level
        counts = {**self.counts, key: self.counts.get(key, 0) + 1}
        row = [each for each in counts if each // LEVELS == self.level]
        if sum(counts[each] for each in row) > _MOST_COUNTS:
            counts |= {each: (counts[each] + 1) // 2 for each in row}
        return self.model_copy(update={"level": level, "counts": counts})


class Model(NamedTuple):
    """What the costs and the next state depend on; arrays by replicas before, after, the next level, and the wait."""

    #: Probability of each next level, by level.
    follows: Floats
    #: Cost of the replicas and of the change, by replicas before and after; infinite where it is not allowed.
    cost: Floats
    #: Cost of lateness.
    late: Floats
    #: The next wait: the index below it, and the share of the one above (below, share).
    below: NDArray[np.intp]
    share: Floats

    def totals(self, values: Floats) -> Floats:
        """Return the cost of each number after, from each state: replicas before, after, level and wait."""
        after = np.arange(values.shape[0])[None, :, None, None]
        level = np.arange(LEVELS)[None, None, :, None]
        above = np.minimum(self.below + 1, values.shape[2] - 1)
        ahead = (1 - self.share) * values[after, level, self.below] + self.share * values[after, level, above]
        found: Floats = self.cost[:, :, None, None] + np.matmul(self.follows, self.late + _DISCOUNT * ahead)
        return found

    def improved(self, values: Floats, sweeps: int = _SWEEPS) -> Floats:
        """Return the values after some sweeps of value iteration."""
        for _ in range(sweeps):
            values = self.totals(values).min(axis=1)
        return values


@dataclass(frozen=True, slots=True)
class MdpPolicy(PricedPolicy[MdpMemo]):
    """Chooses the replicas of least discounted cost, at most one more or fewer."""

    name: ClassVar[str] = "mdp"
    memo: ClassVar[type[PricedMemo]] = MdpMemo
    #: Most replicas that one change adds or removes.
    most_moved: ClassVar[int] = 1
    #: Waits in the state, as shares of the objective; a state without them learns its lateness.
    waits: ClassVar[tuple[float, ...]] = (0.0,)

    def learned(self, memo: MdpMemo, now: Situation) -> MdpMemo:
        """Count the level, learn the lateness, and update the values if it is time."""
        memo = memo.with_top(now.load)
        memo = memo.counted(min(int(LEVELS * now.load / memo.top), LEVELS - 1))
        is_new = all(key // LEVELS != memo.level for key in memo.counts)
        key = now.replicas * LEVELS + memo.level
        expected = memo.late.get(key, float(now.capacity[now.present] < now.load))
        late = round((1 - _ALPHA) * expected + _ALPHA * (now.wait_s > now.objective_s), 3)
        steps = memo.steps + 1
        memo = memo.model_copy(update={"late": {**memo.late, key: late}, "steps": steps})
        is_due = steps < _EARLY_STEPS or steps % _UPDATE_EVERY == 0 or is_new or not memo.values
        if not (is_due and now.capacity.any()):
            return memo
        values = self.model(memo, now).improved(self._values(memo, now)).ravel().tolist()
        return memo.model_copy(update={"values": tuple(float(f"{value:.{_DIGITS}g}") for value in values)})

    def choice(self, memo: MdpMemo, now: Situation) -> tuple[int, str]:
        """Choose the replicas of least cost; the present ones where that is the same."""
        totals = self.model(memo, now).totals(self._values(memo, now))[now.present, :, memo.level]
        wait = now.wait_s / now.objective_s
        costs = np.array([np.interp(wait, self.waits, by_wait) for by_wait in totals])
        best = int(costs.argmin())
        if costs[now.present] <= costs[best] + 1e-6:
            best = now.present
        text = f"level {memo.level + 1} of {LEVELS} up to {memo.top:.0f} rows/s"
        return best, f"{text}; {costs[best]:.1f} replica-minutes ahead, {costs[now.present]:.1f} without a change"

    def model(self, memo: MdpMemo, now: Situation) -> Model:
        """Return the model that is known in a situation."""
        numbers, step_min = np.array(now.numbers), now.step_s / 60
        counts = np.eye(LEVELS)
        for key, count in memo.counts.items():
            counts[divmod(key, LEVELS)] += count
        moved = np.abs(numbers[:, None] - numbers)
        change = np.where(moved > self.most_moved, np.inf, self.change_cost(now) * (moved > 0))
        loads = (np.arange(LEVELS) + 0.5) * memo.top / LEVELS
        shape = (len(numbers), len(numbers), LEVELS, len(self.waits))
        if len(self.waits) == 1:
            late = (now.capacity[:, None] < loads).astype(float)
            for key, share in memo.late.items():
                if (number := key // LEVELS) in now.numbers:
                    late[number - now.numbers[0], key % LEVELS] = share
            next_wait, lateness = np.zeros(shape), np.broadcast_to(late[None, :, :, None], shape)
        else:
            next_wait = self._next_waits(now, loads)
            lateness = (next_wait > 1.0).astype(float)
        position = np.interp(next_wait, self.waits, np.arange(len(self.waits)))
        below = position.astype(np.intp)
        return Model(
            follows=counts / counts.sum(axis=1, keepdims=True),
            cost=numbers * step_min + change,
            late=self.sizing.late_minute_price * step_min * lateness,
            below=below,
            share=position - below,
        )

    def _next_waits(self, now: Situation, loads: Floats) -> Floats:
        """Return the wait after a step as a share of the objective, by replicas before, after, level and wait."""
        capacity = np.maximum(now.capacity, 1e-3)
        pair = np.minimum(capacity[:, None], capacity) * (now.change.stop_s == 0)
        changing = min(1.0, now.change.effective_s / now.step_s) * (1 - np.eye(len(capacity)))
        served = changing * pair + (1 - changing) * capacity
        grown_s = now.step_s * (loads - served[:, :, None]) / capacity[:, None]
        waits: Floats = np.maximum(0.0, np.array(self.waits) + grown_s[..., None] / now.objective_s)
        return waits

    def _values(self, memo: MdpMemo, now: Situation) -> Floats:
        shape = (len(now.numbers), LEVELS, len(self.waits))
        known = len(memo.values) == np.prod(shape)
        return np.array(memo.values).reshape(shape) if known else np.zeros(shape)


@dataclass(frozen=True, slots=True)
class MdpAnyPolicy(MdpPolicy):
    """Chooses any number of replicas."""

    name: ClassVar[str] = "mdp-any"
    most_moved: ClassVar[int] = 10**6


@dataclass(frozen=True, slots=True)
class MdpBacklogPolicy(MdpAnyPolicy):
    """Chooses any number of replicas, and knows how long rows wait."""

    name: ClassVar[str] = "mdp-backlog"
    waits: ClassVar[tuple[float, ...]] = (0.0, 1 / 3, 2 / 3, 4 / 3, 8 / 3)


_info = partial(
    PolicyInfo,
    source="Russo Russo, Cardellini, Lo Presti, ACM TAAS 2023, and DEBS 2019",
    accepts=PLACEMENT_SETTINGS,
    guide="reference/policies/mdp.md",
    knows_price=True,
)

POLICY = _info(
    name="mdp",
    summary="learns how the load goes on, and takes the replicas of least discounted cost, one more or fewer",
    build=with_configured_placement(MdpPolicy),
    settings=MdpSettings,
)
ANY_POLICY = _info(
    name="mdp-any",
    summary="the same with any number of replicas",
    build=with_configured_placement(MdpAnyPolicy),
    settings=MdpAnySettings,
)
BACKLOG_POLICY = _info(
    name="mdp-backlog",
    summary="the same with any number of replicas, and the wait of rows in its state",
    build=with_configured_placement(MdpBacklogPolicy),
    settings=MdpBacklogSettings,
)
