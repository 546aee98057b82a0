"""Which nodes carry most, for each number of replicas."""

from dataclasses import replace

import numpy as np
import pytest
from edge import delays, operator
from hypothesis import given, settings
from hypothesis import strategies as st
from site_maps import site_maps
from thoroughness import examples
from true_law import TRUE, true_eq1, true_model

from gesscale.model.workflow import BatchCap, Operator
from gesscale.policies.gesscale.analysis.capacity import OperatorModel
from gesscale.policies.gesscale.analysis.growth import MIN_REPLICA_GAIN
from gesscale.policies.gesscale.analysis.placements import MIN_GAIN, Placements, placements
from latency_map import LatencyMap
from perfmodel import CapacityModel


def placed(
    model: CapacityModel,
    operator: Operator,
    present: tuple[str, ...],
    free: tuple[str, ...],
    *,
    weights: dict[str, float],
    delays: LatencyMap,
    trigger_s: float,
    moves: bool = True,
    prices: dict[str, float] | None = None,
) -> Placements:
    fitted = OperatorModel(
        operator=operator,
        model=model,
        weights=weights,
        prices=prices or {},
        delays=delays,
        trigger_s=trigger_s,
        cap=operator.cap,
    )
    return placements(fitted, present, free, moves=moves)


def test_nodes_are_chosen_by_the_learned_delay() -> None:
    # For a query that only maps the way to the driver counts: near (10 ms), mid (50), far (200).
    grown = placed(TRUE, operator(), ("hub",), ("far", "mid", "near"), weights={}, delays=delays(), trigger_s=0.1)
    assert grown.nodes == (("hub",), ("hub", "near"), ("hub", "mid", "near"), ("far", "hub", "mid", "near"))
    # 2 replicas, cap 200: 0.5 + 0.005 * 100 + 5 * 0.01 = 1.05 s.
    assert grown.rows_per_s[1] == pytest.approx(200 / 1.05)


def test_cheaper_nodes_are_offered_where_they_suffice() -> None:
    # The dear node is the nearest; each choice costs more than the one before and carries more.
    prices = {"near": 8.0, "hub": 4.0}
    found = placed(
        TRUE, operator(), ("hub",), ("far", "mid", "near"), weights={}, delays=delays(), trigger_s=0.1, prices=prices
    )
    costs = [found.fitted.price_of(nodes) for nodes, _ in found.choices]
    carried = [rows_per_s for _, rows_per_s in found.choices]
    assert costs == sorted(costs)
    assert carried == sorted(carried)
    assert found.choices[0][0] == ("mid",)  # 50 ms away at price 1, "far" is 200 ms away
    assert costs[-1] == sum({"hub": 4, "mid": 1, "near": 8, "far": 1}[node] for node in found.choices[-1][0])
    same = placed(
        TRUE, operator(), ("hub",), ("far", "mid", "near"), weights={}, delays=delays(), trigger_s=0.1,
        prices=dict.fromkeys(("hub", "far", "mid", "near"), 3.0),
    )  # fmt: skip
    assert [nodes for nodes, _ in same.choices] == [same.nodes[size - 1] for size in same.sizes]


def test_farthest_is_removed_first_and_fast_node_stays() -> None:
    shrunk = placed(TRUE, operator(), ("edge", "hub", "near"), (), weights={}, delays=delays(), trigger_s=0.1)
    assert shrunk.nodes == (("hub",), ("hub", "near"), ("edge", "hub", "near"))
    # Cap 200: hub and near take 0.5 + 0.5 + 0.05 = 1.05 s; near with a weight of 9 and edge lose to hub and near.
    fast = placed(
        TRUE, replace(operator(), cap=None), ("hub", "near"), (), weights={"near": 9.0}, delays=delays(), trigger_s=10.0
    )
    assert fast.nodes[0] == ("near",)


def test_replica_moves_to_a_better_node_only_if_allowed() -> None:
    def of_one(present: str, *, moves: bool) -> tuple[str, ...]:
        free = tuple({"hub", "near", "mid"} - {present})
        return placed(
            TRUE, operator(), (present,), free, weights={}, delays=delays(), trigger_s=0.1, moves=moves
        ).nodes[0]

    assert of_one("mid", moves=True) == ("hub",)
    assert of_one("mid", moves=False) == ("mid",)
    # Cap 100: hub takes 0.5 + 0.5 = 1 s and near 1.05 s, 5 % more than 2 %.
    assert of_one("near", moves=True) == ("hub",)


@given(data=st.data())
def test_map_query_gets_nodes_nearest_to_the_driver(data: st.DataObject) -> None:
    # Greedy removals fail here: of two far nodes neither alone gains anything when it goes.
    names = tuple(f"n{index}" for index in range(7))
    rtt_ms = np.zeros((7, 7))
    rtt_ms[0, 1:] = rtt_ms[1:, 0] = data.draw(st.lists(st.floats(1, 300), min_size=6, max_size=6))
    present = tuple(sorted(data.draw(st.sets(st.sampled_from(names), min_size=1))))
    at_n0 = replace(operator(), driver_node="n0", max_replicas=7)
    found = placed(
        TRUE,
        at_n0,
        present,
        tuple(name for name in names if name not in present),
        weights={},
        delays=LatencyMap(names=names, rtt_ms=rtt_ms),
        trigger_s=0.1,
    )
    farthest_s = np.sort(rtt_ms[0]) / 1000
    for count, rows_per_s in enumerate(found.rows_per_s, start=1):
        # Cap 100 for each: the farthest of the nearest decides; what is present is kept for up to 2 %.
        best = 100 * count / (1.0 + 5 * farthest_s[count - 1])
        assert best * (1 - MIN_GAIN) - 1e-6 <= rows_per_s <= best + 1e-6


# Where growth ends

#: A windowed query: a batch of 3,000 rows takes 0.5 s and 1.5 s on one replica, and 20 round trips of a far node.
WINDOWED = true_model(fixed_s=0.5, row_s=0.0005, driver_trips=14.0, pair_trips=6.0)


def on_line(*rtt_ms: float) -> LatencyMap:
    """Return nodes n0, n1, ... at these distances from n0, on its one side."""
    at_ms = np.array([0.0, *rtt_ms])
    return LatencyMap(names=tuple(f"n{index}" for index in range(len(at_ms))), rtt_ms=np.abs(at_ms[:, None] - at_ms))


def best(delays: LatencyMap, *, law: CapacityModel = WINDOWED, trigger_s: float = 0.5, **changes: object) -> Placements:
    at_n0 = replace(operator(), **{"driver_node": "n0", "cap": BatchCap(rows=3000), **changes})
    free = tuple(delays.names[1:])
    return placed(law, at_n0, ("n0",), free, weights={}, delays=delays, trigger_s=trigger_s)


def test_a_replica_that_lowers_the_capacity_is_no_choice() -> None:
    # One: 3000 / 2 = 1500. Two: 0.5 + 0.75 + 20 * 0.15 = 4.25 s, 706; without the delay 1.25 s, 2400.
    found = best(on_line(150, 450))
    assert found.rows_per_s[1] == pytest.approx(3000 / 4.25)
    assert found.sizes == (1,)
    end = found.growth_end
    assert end is not None
    assert (end.replicas, end.rows_per_s) == (1, pytest.approx(1500))
    assert [each.node for each in end.additions] == ["n1", "n2"]
    assert end.nearest == ("n1", pytest.approx(150), pytest.approx(3000 / 4.25), pytest.approx(2400))
    assert end.by_delay


def test_a_third_replica_may_make_up_for_the_delay_of_the_second() -> None:
    # Cap 3,000 each: 2 s on one. 0.5 + 1.5 + 3 = 5 s on each more: 1200 on two, 1800 on three, 2400 on four.
    found = best(
        LatencyMap(names=("n0", "n1", "n2", "n3"), rtt_ms=150 * (1 - np.eye(4))), cap=BatchCap(rows_per_replica=3000)
    )
    assert found.rows_per_s == pytest.approx([1500, 1200, 1800, 2400])
    assert found.sizes == (1, 3, 4)
    assert found.growth_end is None  # no node is left


def test_the_delay_that_costs_more_is_named() -> None:
    # n1 is 100 ms from the driver and n0's replica; only the way between replicas costs, and only n2 is far from n0.
    shuffles = true_model(fixed_s=0.5, row_s=0.0005, pair_trips=20.0)
    rtt_ms = np.array([[0, 100, 100], [100, 0, 200], [100, 200, 0.0]])
    found = placed(
        shuffles,
        replace(operator(), driver_node="n0", cap=BatchCap(rows=3000)),
        ("n1",),
        ("n2",),
        weights={},
        delays=LatencyMap(names=("n0", "n1", "n2"), rtt_ms=rtt_ms),
        trigger_s=0.5,
    )
    assert found.growth_end is not None
    # 0.5 + 0.75 + 20 * 0.2 = 5.25 s.
    assert found.growth_end.nearest[:3] == ("n2", pytest.approx(200), pytest.approx(3000 / 5.25))


def test_a_cap_that_limits_batches_is_not_blamed_on_the_delay() -> None:
    # Batches of 3,000 rows, one each 2 s: 1500 rows/s on any number of replicas, near or far.
    found = best(on_line(1, 2), trigger_s=2.0)
    assert found.sizes == (1,)
    assert found.growth_end is not None
    assert not found.growth_end.by_delay


def test_growth_has_no_end_at_the_limits() -> None:
    assert best(on_line(150), max_replicas=1).growth_end is None
    assert best(on_line()).growth_end is None
    # Fewer than the minimum are no choice, so two are not compared with one.
    assert best(on_line(150, 160), min_replicas=2).sizes == (2,)
    # A node of unknown delay is not said to be far.
    rtt_ms = np.array([[0, np.nan, 150], [np.nan, 0, np.nan], [150, np.nan, 0]])
    found = best(LatencyMap(names=("n0", "n1", "n2"), rtt_ms=rtt_ms)).growth_end
    assert found is not None
    assert [each.node for each in found.additions] == ["n2"]


_SHARES = st.floats(0.0, 1.0)
_BATCH_TIMES = st.builds(
    lambda fixed_s, row, even, shared, driver_trips, pair_trips: true_model(
        fixed_s=fixed_s,
        row_s=row / 1000,
        even_row_s=0.0001 + even / 1000,
        shared_row_s=shared / 10000,
        driver_trips=driver_trips,
        pair_trips=pair_trips,
    ),
    st.floats(0.05, 2.0),
    _SHARES,
    _SHARES,
    _SHARES,
    st.floats(0, 30),
    st.floats(0, 30),
)
_EQ1 = st.builds(
    lambda alpha, beta, gamma: true_eq1(alpha=alpha, beta=beta, gamma=gamma * alpha),
    st.floats(10, 10_000),
    st.floats(0.2, 1.2),
    st.floats(0, 0.02),
)


@settings(max_examples=examples(400))
@given(data=st.data(), delays=site_maps(gaps=True), law=_BATCH_TIMES | _EQ1)
def test_each_choice_of_more_replicas_raises_the_predicted_capacity(
    data: st.DataObject, delays: LatencyMap, law: CapacityModel
) -> None:
    cap = data.draw(st.sampled_from([None, BatchCap(rows=3000), BatchCap(rows_per_replica=3000)]))
    at_n0 = replace(operator(), driver_node="n0", cap=cap, max_replicas=data.draw(st.integers(1, 8)))
    nodes = st.sampled_from(delays.names)
    present = tuple(sorted(data.draw(st.sets(nodes, min_size=1, max_size=at_n0.max_replicas))))
    found = placed(
        law,
        at_n0,
        present,
        tuple(name for name in delays.names if name not in present),
        weights=data.draw(st.dictionaries(nodes, st.floats(0.2, 5))),
        delays=delays,
        trigger_s=data.draw(st.sampled_from([0.1, 2.0, 10.0])),
        moves=data.draw(st.booleans()),
    )
    chosen = [float(found.rows_per_s[size - 1]) for size in found.sizes]
    assert chosen == sorted(chosen)
    assert len({*chosen}) == len(chosen)
    larger = [size for size in found.sizes if size > len(present)]
    assert all(found.rows_per_s[size - 1] > found.present_rows_per_s for size in larger)
    # What the present replicas carry can be chosen, or almost.
    assert chosen[-1] * (1 + MIN_REPLICA_GAIN * len(delays)) >= found.present_rows_per_s
    if (end := found.growth_end) is not None:
        assert end.rows_per_s == chosen[-1]
        rates = [each.rows_per_s for each in end.additions]
        assert rates == sorted(rates, reverse=True)
        assert not {each.node for each in end.additions} & set(found.nodes[end.replicas - 1])
