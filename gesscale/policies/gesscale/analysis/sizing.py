"""The sizing rule: the cheapest replicas that carry the expected load and keep rows within the objective.

A number of replicas suffices if its capacity is at least the expected load, and if rows still wait within the
objective after the next bucket when the load is as high as its quantile. More replicas are put off while rows stay
within the objective until they would serve, and a smaller addition comes first where rows can wait until the replicas
that it saves have paid for another change. Fewer replicas must suffice by the low end of their capacity, and come
once the surplus has cost as much as a change (ski rental). If the next fewer only suffice in four of five cases, they
are tried once the surplus has cost as much as two changes, provided that the low end makes no row late. Replicas cost
the prices of their nodes; if all prices are the same, the cheapest are the fewest.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from gesscale.analyze.changes import ChangeTimes
from gesscale.policies.gesscale.analysis.demand import BUCKETS_KEPT
from perfmodel import Estimate

#: More replicas are put off until rows wait this share of the allowed time, and those that come leave no more to wait:
#: the rest is a margin for a higher load and a slow start.
MARGIN_SHARE = 0.7
#: If a change stops the job, rows must be back within the objective this number of stops after the bucket.
RECOVERY_STOPS = 4.0
#: Stops that a change costs if a change stops the job: one there, and one back.
STOPS_OF_A_CHANGE = 2.0
#: A number of replicas that was too few is not tried again until the load is below this share of the load then.
RETRY_SHARE = 0.95
#: A placement that carries this share of what the cap of a batch allows is limited by the cap.
AT_CAP_SHARE = 0.8
_MIN_SPARE_SHARE = 0.05
_NEAR_CAPACITY_SHARE = 0.85


class LoadAhead(NamedTuple):
    """Load and backlog of an operator, rows and rows/s."""

    #: Mean load of the next bucket: expected, and the quantile that it exceeds as rarely as a replica is worth less
    #: than the late time that it avoids (expected, high).
    expected: float
    high: float
    #: Mean loads of the past buckets, oldest first.
    past: Sequence[float]
    #: Rows that wait now.
    backlog_rows: float
    #: Length of a bucket.
    bucket_s: float


class Size(NamedTuple):
    """A number of replicas with its predicted capacity, rows/s."""

    replicas: int
    #: Middle and ends of the interval (mid, low, high).
    mid: float
    low: float
    high: float = math.inf
    #: Replicas that move to another node.
    moved: int = 0
    #: Mean price of its nodes.
    unit_price: float = 1.0

    @property
    def price(self) -> float:
        """The sum of the prices of its nodes."""
        return self.replicas * self.unit_price

    @property
    def mst(self) -> Estimate:
        """The predicted capacity."""
        return Estimate(low=self.low, mid=self.mid, high=self.high)


class TooFew(NamedTuple):
    """A number of replicas to which others had to be added recently, and the load then."""

    replicas: int
    rows_per_s: float


class Why(Enum):
    """Why a size was chosen."""

    #: It suffices, and no smaller one does: its capacity is below the load, or could be.
    NO_SMALLER = "no smaller"
    #: A smaller one suffices, but its surplus has not cost as much as a change yet.
    SURPLUS_STAYS = "surplus stays"
    #: A smaller one should suffice, but was too few for such a load recently.
    SMALLER_WAS_TOO_FEW = "smaller was too few"
    #: It does not suffice, but rows stay within the objective for now.
    CAN_WAIT = "can wait"
    #: It does not suffice, and no other one carries more.
    LARGEST = "largest"
    #: The present size does not suffice, or is outside the limits; this one suffices, or carries most.
    NEEDED = "needed"
    #: It suffices, and the present size has cost as much as a change more.
    SURPLUS = "surplus"
    #: It should suffice; the present size has cost as much more as a change there and back, and rows stay in time.
    TRIAL = "trial"


class SizeChoice(NamedTuple):
    """The chosen size; the present one if nothing changes."""

    size: Size
    why: Why


@dataclass(frozen=True, slots=True, kw_only=True)
class SizingRule:
    """The rule with its inputs."""

    present: Size
    #: The sizes to choose from, the cheapest first, at least one; each carries more than all cheaper ones.
    sizes: Sequence[Size]
    #: Most replicas that are allowed; the sizes may end before.
    max_replicas: int
    load: LoadAhead
    change: ChangeTimes
    #: Longest time that a row may wait.
    allowed_s: float
    #: Time until the next step.
    step_s: float
    #: Prices in replica-minutes (change_price, late_minute_price).
    change_price: float
    late_minute_price: float
    too_few: Sequence[TooFew] = ()

    def choose(self) -> SizeChoice:
        """Choose a size."""
        present, sizes = self.present, self.sizes
        target = next((size for size in sizes if self._suffices_with_margin(size)), sizes[-1])
        if not sizes[0].replicas <= present.replicas <= self.max_replicas:
            return SizeChoice(target, Why.NEEDED)
        if not self.suffices(present):
            if target.mid <= present.mid:
                calm = present.mid >= self.load.expected and self._can_wait()
                return SizeChoice(present, Why.NO_SMALLER if calm else Why.LARGEST)
            first = self._first_step(target)
            waits = first == target and target.price >= present.price and self._can_wait()
            return SizeChoice(present, Why.CAN_WAIT) if waits else SizeChoice(first, Why.NEEDED)
        why = Why.NO_SMALLER
        for size in sizes:
            if size.price >= present.price:
                break
            if not self._suffices_surely(size):
                continue
            if self._was_too_few(size):
                why = Why.SMALLER_WAS_TOO_FEW
            elif self._surplus_is_paid(size):
                return SizeChoice(size, Why.SURPLUS)
            else:
                why = Why.SURPLUS_STAYS
        smaller = next((size for size in reversed(sizes) if size.price < present.price), None)
        if why is Why.NO_SMALLER and smaller is not None and self._is_worth_a_trial(smaller):
            return SizeChoice(smaller, Why.TRIAL)
        return SizeChoice(present, why)

    def _first_step(self, target: Size) -> Size:
        """Return a smaller addition, if rows can wait until the replicas that it saves have paid for another change."""
        present, load = self.present, self.load
        if present.mid >= load.expected or self.change.stop_s:
            return target
        for size in self.sizes:
            if size.price >= target.price:
                break
            if size.mid <= present.mid or size.price <= present.price:
                continue
            hold_s = 60 * self.change_price / (target.price - size.price) + self.step_s + self.change.effective_s
            waiting = load.backlog_rows + max(0.0, load.expected - present.mid) * self.change.effective_s
            waiting += max(0.0, load.expected - size.mid) * hold_s
            if waiting <= MARGIN_SHARE * self.allowed_s * size.mid:
                return size
        return target

    def suffices(self, size: Size) -> bool:
        """Return whether a size carries the expected load and keeps rows within the objective."""
        return size.mid >= self.load.expected and self.late_s(size) == 0

    def late_s(self, size: Size) -> float:
        """Return by how much the last row of the next bucket would be late, if the load is high."""
        return max(0.0, self.wait_s(size) - self.allowed_s)

    def wait_s(self, size: Size) -> float:
        """Return how long the last row of the next bucket would wait, if the load is high."""
        load = self.load
        horizon_s = load.bucket_s + RECOVERY_STOPS * self.change.stop_s
        changing_s = 0.0 if size == self.present else min(self.change.effective_s, horizon_s)
        changing_rows_per_s = 0.0 if self.change.stop_s else min(size.mid, self.present.mid)
        served = changing_rows_per_s * changing_s + size.mid * (horizon_s - changing_s)
        waiting = max(0.0, load.backlog_rows + load.high * horizon_s - served)
        return waiting / size.mid if size.mid > 0 else math.inf if waiting else 0.0

    def _change_cost(self, size: Size) -> float:
        """Return the cost of a change, replica-minutes."""
        return self.change_price + STOPS_OF_A_CHANGE * self.late_minute_price * self._late_minutes_of_a_stop(size)

    def _suffices_with_margin(self, size: Size) -> bool:
        """Return whether a size suffices, and more replicas than now suffice for some time."""
        if not (self.suffices(size) and self._lasts(size)):
            return False
        return size.price <= self.present.price or self.wait_s(size) <= MARGIN_SHARE * self.allowed_s

    def _lasts(self, size: Size) -> bool:
        """Return whether a size carries the load until one replica more would have cost as much as a stop of the job.

        The load is a random walk: its spread grows with the square root of the time.
        """
        if not self.change.stop_s:
            return True
        load = self.load
        buckets = self._change_cost(size) * 60 / load.bucket_s
        return size.mid >= load.expected + (load.high - load.expected) * math.sqrt(max(1.0, buckets))

    def _suffices_surely(self, size: Size) -> bool:
        """Return whether the low end of a smaller size suffices, for the present backlog too."""
        least = size._replace(mid=size.low)
        return self.suffices(least) and self.load.backlog_rows <= self.allowed_s * size.low

    def _is_worth_a_trial(self, size: Size) -> bool:
        """Return whether a smaller size that may not suffice is tried: only its batches can show whether it does.

        It must suffice halfway between the low end and the middle of its capacity, which it exceeds in four of five
        cases. At the low end, rows must wait within the objective until replicas ordered in the step after the first
        batches serve.
        """
        likely = size._replace(mid=(size.low + size.mid) / 2)
        if self.change.stop_s or not self.suffices(likely) or self._was_too_few(size):
            return False
        load, back_after_s = self.load, 2 * self.step_s + self.change.effective_s
        waiting = load.backlog_rows + max(0.0, load.expected - size.low) * back_after_s
        return waiting <= MARGIN_SHARE * self.allowed_s * size.low and self._surplus_is_paid(size, trial=True)

    def _was_too_few(self, size: Size) -> bool:
        """Return whether a size was too few for such a load; others were added for a backlog if it was far lower.

        A number that carries less than a smaller one, because of its delays, shows nothing about the smaller one.
        """
        expected, numbers = self.load.expected, {each.replicas for each in self.sizes}
        return any(
            (size.replicas == replicas or (size.replicas < replicas and replicas in numbers))
            and expected >= RETRY_SHARE * load
            and load >= _NEAR_CAPACITY_SHARE * size.mid
            for replicas, load in self.too_few
        )

    def _surplus_is_paid(self, size: Size, *, trial: bool = False) -> bool:
        """Return whether the replicas that a smaller size saves will have cost as much as a change after the bucket.

        They were superfluous in all past buckets since the load was last above its capacity, and the next one counts.
        """
        saved = self.present.price - size.price
        cost = (2 if trial else 1) * self._change_cost(size)
        buckets = min(math.ceil(cost * 60 / (saved * self.load.bucket_s) - 1e-9) - 1, BUCKETS_KEPT)
        if buckets <= 0:
            return True
        past = self.load.past[-buckets:]
        return len(past) == buckets and max(past) <= ((size.low + size.mid) / 2 if trial else size.low)

    def _late_minutes_of_a_stop(self, size: Size) -> float:
        """Return how long rows are late if the job stops and goes on with a size; 0 if it continues."""
        stop_s, load = self.change.stop_s, self.load.expected
        if stop_s <= self.allowed_s:
            return 0.0
        spare = max(size.low - load, _MIN_SPARE_SHARE * size.mid)  # the low end may be 0
        waiting = self.load.backlog_rows + load * stop_s
        return (stop_s - self.allowed_s + max(0.0, waiting - self.allowed_s * size.low) / spare) / 60

    def _can_wait(self) -> bool:
        """Return whether replicas that are ordered in the next step would serve before rows wait too long."""
        load = self.load
        served_after_s = self.step_s + self.change.effective_s
        waiting = load.backlog_rows + (load.expected - self.present.mid) * served_after_s
        return waiting <= MARGIN_SHARE * self.allowed_s * load.expected


def size_under_cap(rule: SizingRule, why: Why, cap_rows_per_s: float) -> Size | None:
    """Return the size where the cap of a batch limits the rate, not the replicas; None if it does not.

    Nothing is added then. If the cap allows less than the load, replicas go without which as many rows are processed.
    """
    present = rule.present
    beyond = rule.load.expected > cap_rows_per_s
    if present.mid < AT_CAP_SHARE * cap_rows_per_s or not (beyond or why is Why.LARGEST):
        return None
    if not rule.sizes[0].replicas <= present.replicas <= rule.max_replicas:
        return None
    fewer = (each for each in rule.sizes if beyond and each.replicas < present.replicas and each.mid >= present.mid)
    return next((each for each in fewer if each.low >= AT_CAP_SHARE * cap_rows_per_s), present)
