"""Inputs of the sizing rule: the sizes with their capacities, the load ahead, and the times of a change."""

import math
from collections.abc import Sequence
from statistics import NormalDist

from gesscale.analyze.changes import change_times
from gesscale.model.observation import OperatorReading
from gesscale.model.order import Order
from gesscale.policies.gesscale.analysis.capacity import OperatorModel, busy_rows_per_s
from gesscale.policies.gesscale.analysis.demand import waiting_rows
from gesscale.policies.gesscale.analysis.limits import too_few_recently
from gesscale.policies.gesscale.analysis.placements import Placements
from gesscale.policies.gesscale.analysis.sizing import LoadAhead, Size, SizingRule
from gesscale.policies.gesscale.memo import GesscaleMemo
from gesscale.policies.gesscale.settings import GesscaleSettings

#: Safety margin of a batch before its deadline, in cycles.
_SAFETY_CYCLES = 1.5
_MIN_ALLOWED_SHARE = 0.3

_Nodes = tuple[str, ...]


def sizes_of(
    sized: Placements, reading: OperatorReading, present: _Nodes, slowdown: float
) -> tuple[Size, dict[Size, _Nodes]]:
    """Return the present size, and the sizes to choose from with their placements, the cheapest first.

    The low end of fewer replicas is that at a pace slower by a factor.
    """
    listed = (present, *(nodes for nodes, _ in sized.choices))
    predicted = dict(zip(listed, sized.fitted.msts(listed), strict=True))
    busy = busy_rows_per_s(reading)

    def size_of(nodes: _Nodes, mid: float) -> Size:
        mst = predicted[nodes]
        low, high = (0.0, math.inf) if mst is None else (mst.low, max(mst.high, mid))
        low = min(mid, max(low, sized.fitted.proportional_rows_per_s(reading.placement, busy, nodes)))
        low = low / slowdown if len(nodes) < len(present) else low
        moved = min(len(present), len(nodes)) - len(set(present) & set(nodes))
        price = sized.fitted.price_of(nodes) / len(nodes)
        return Size(replicas=len(nodes), mid=mid, low=low, high=high, moved=moved, unit_price=price)

    now = size_of(present, sized.present_rows_per_s)
    return now, {now if nodes == present else size_of(nodes, mid): nodes for nodes, mid in sized.choices}


def sizing_rule(
    now: Size,
    sizes: Sequence[Size],
    fitted: OperatorModel,
    reading: OperatorReading,
    memo: GesscaleMemo,
    orders: Sequence[Order],
    settings: GesscaleSettings,
    slo_s: float,
    growth: float,
) -> SizingRule:
    """Return the rule with its inputs; the load grows by a factor."""
    bucket_s = memo.bucket_s(slo_s)
    ahead = memo.load.forecast(bucket_s)
    rarely = settings.late_minute_price / (now.unit_price + settings.late_minute_price)
    high = max(0.0, ahead.rate + NormalDist().inv_cdf(rarely) * ahead.spread)
    late_s = _SAFETY_CYCLES * max(fitted.trigger_s, reading.batches[-1].seconds)
    return SizingRule(
        present=now,
        sizes=sizes,
        max_replicas=fitted.operator.max_replicas,
        load=LoadAhead(
            expected=ahead.rate * growth,
            high=high * growth,
            past=(memo.load.rates(bucket_s) * growth).tolist(),
            backlog_rows=waiting_rows(reading, ahead.newest, now.mid),
            bucket_s=bucket_s,
        ),
        change=change_times(orders, fitted.trigger_s, restarts=fitted.operator.restarts),
        allowed_s=max(slo_s - late_s, _MIN_ALLOWED_SHARE * slo_s),
        step_s=memo.period_s,
        change_price=settings.change_price,
        late_minute_price=settings.late_minute_price,
        too_few=too_few_recently(orders, memo.load, reading.at_s, bucket_s),
    )
