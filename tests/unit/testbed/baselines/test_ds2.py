"""DS2 on workflows: true rates, sizes, windows, and what is not known."""

from ds2_readings import CHAIN, analyses, chain, op, seen, sizes
from edge import known, workflow
from figures import figures
from hypothesis import given
from hypothesis import strategies as st

from gesscale.model.decision import Reason, Verdict
from gesscale.model.observation import MissingReading, OperatorReading
from gesscale.model.order import Order
from gesscale.ports import Knowledge
from testbed.baselines.ds2 import Ds2Memo, Ds2Settings

JOIN = workflow(
    op("auctions"), op("persons"), op("filter", "persons"), op("join", "auctions", "filter"), op("sink", "join")
)


def join(**outputs: float) -> tuple[OperatorReading, ...]:
    """Return the join of the thesis, every operator at its limit; the filter lets a fifth through, the join a third."""

    def reported(name: str) -> dict[str, float]:
        return {"output_rows_per_s": outputs[name]} if name in outputs else {}

    return (
        seen("auctions", 2, 40e3, offered=30e3, **reported("auctions")),
        seen("persons", 2, 20e3, offered=10e3, **reported("persons")),
        seen("filter", 2, 50e3, offered=20e3, **reported("filter")),
        seen("join", 3, 15e3, offered=50e3, **reported("join")),
        seen("sink", 1, 100e3, offered=5e3, **reported("sink")),
    )


TOLD = {"auctions": 40e3, "persons": 20e3, "filter": 10e3, "join": 5e3}


# Sizes


def test_a_chain_is_sized_from_its_true_rates():
    # 1 M / (500 k / 5) = 10; 1 M / (800 k / 5) = 6.25; 1 M / (2.5 M / 5) = 2.
    assert sizes(CHAIN, *chain()) == {"source": 10, "map": 7, "sink": 2}


def test_a_join_gets_what_both_sides_hand_on():
    # 30 k / 20 k = 1.5; 10 k / 10 k = 1; 10 k / 25 k = 0.4; (30 k + 0.2 x 10 k) / 5 k = 6.4; 32 k / 3 / 100 k = 0.11.
    assert sizes(JOIN, *join(**TOLD)) == {"auctions": 2, "persons": 1, "filter": 1, "join": 7, "sink": 1}
    found = analyses(JOIN, *join(**TOLD))
    load, true_rate, _, selectivity, _ = figures(found["filter"].detail)
    assert (load, true_rate, selectivity) == (10_000, 25_000, 0.2)
    assert figures(found["sink"].detail)[0] == 10_667


def test_selectivity_is_derived_from_consumers():
    # persons: 20 k offered to the filter for 20 k rows: 1. The join was offered 50 k for the 40 k + 50 k rows of both
    # that feed it: 5/9 each, so (30 k + 10 k) x 5/9 = 22,222 come to it, 4.4 replicas of 5 k. The sink was offered 5 k
    # for the 15 k rows of the join: a third, as it reports above.
    found = analyses(JOIN, *join())
    assert found["join"].desired_replicas == 5
    assert figures(found["join"].detail) == [22_222, 5000, 100, 0.333, 5]


# What counts as useful time


def test_true_rates_can_be_those_of_a_limit_below_all_of_the_time():
    # Twice as busy by the measure of 0.5: half the true rates, so 20, 12.5 and 4.
    found = sizes(CHAIN, *chain(), settings=Ds2Settings(over_provision=1.0, max_busy_share=0.5))
    assert found == {"source": 20, "map": 13, "sink": 4}


def test_cpu_use_can_stand_for_useful_time_and_does_not_count_waiting():
    alone = workflow(op("op"))
    busy_but_waiting = seen("op", 2, 100.0, busy=1.0, offered=400.0, cpu_share=0.5)
    by_cpu = Ds2Settings(over_provision=1.0, useful_time="cpu")
    assert sizes(alone, busy_but_waiting) == {"op": 8}  # 400 / (100 / 1.0 / 2)
    assert sizes(alone, busy_but_waiting, settings=by_cpu) == {"op": 4}  # 400 / (100 / 0.5 / 2)
    unmeasured = seen("op", 2, 100.0, busy=1.0, offered=400.0)
    assert sizes(alone, unmeasured, settings=by_cpu) == {"op": None}


# The backlog


def test_a_backlog_is_not_looked_at_unless_there_is_a_time_for_it():
    readings = chain(100e3, backlog_rows=60e6)
    assert sizes(CHAIN, *readings) == {"source": 1, "map": 1, "sink": 1}
    # 60 M in 120 s are 500 k/s in addition to the 100 k/s: 6, 3.75 and 1.2 replicas.
    draining = Ds2Settings(over_provision=1.0, drain_horizon=120)
    assert sizes(CHAIN, *readings, settings=draining) == {"source": 6, "map": 4, "sink": 2}


def test_operator_with_backlog_is_sized_for_its_input():
    # Upstream is idle by now, and 5,000 rows of it wait in the topic, more than 2 x 2 s x 400 rows/s bring.
    pair = workflow(op("a"), op("b", "a"))
    a = seen("a", 1, 10.0, busy=0.1, offered=10.0, output_rows_per_s=10.0)
    late = seen("b", 2, 200.0, offered=400.0, backlog=5000.0)
    assert sizes(pair, a, late) == {"a": 1, "b": 4}  # 400 / (200 / 2)
    keeps_up = seen("b", 2, 200.0, offered=400.0, backlog=1000.0)
    assert sizes(pair, a, keeps_up) == {"a": 1, "b": 1}


# What is not known


def test_missing_metrics_of_one_operator_block_all():
    source, map_, _ = chain()
    found = analyses(CHAIN, source, map_, missing_readings=(MissingReading(operator="sink", code="metrics-missing"),))
    assert {item.verdict for item in found.values()} == {Verdict.SAME, Verdict.UNKNOWN}
    assert {item.reason for item in found.values()} == {Reason.METRICS_MISSING}
    assert "sink" in found["source"].detail


@given(
    figures=st.lists(
        st.tuples(
            st.floats(0, 1e300),
            st.floats(0, 1),
            st.none() | st.floats(allow_nan=True, allow_infinity=True),
            st.none() | st.floats(allow_nan=True, allow_infinity=True),
            st.none() | st.floats(allow_nan=True, allow_infinity=True),
        ),
        min_size=3,
        max_size=3,
    ),
    horizon_s=st.none() | st.floats(1e-3, 1e6),
)
def test_whatever_is_read_a_size_is_a_number_within_the_limits(figures, horizon_s):
    readings = [
        seen(
            name,
            5,
            1.0,
            throughput_rows_per_s=rows,
            busy=busy,
            input_rows_per_s=offered,
            output_rows_per_s=emitted,
            backlog_rows=backlog,
        )
        for name, (rows, busy, offered, emitted, backlog) in zip(CHAIN.operators, figures, strict=True)
    ]
    settings = Ds2Settings(drain_horizon=horizon_s)
    found = sizes(CHAIN, *readings, settings=settings)
    assert all(size is None or 1 <= size <= 20 for size in found.values())  # at most 15 more at once


# Nodes


def changed(at_s: float, **memos: str) -> Knowledge:
    settled = Order(at_s=at_s, placement=("n0",), downtime_s=40.0)
    return known(orders={"sink": (settled,)}, memos=memos)


def test_nothing_changes_while_any_operator_cools_down():
    found = analyses(CHAIN, *chain(), knowledge=changed(at_s=701.0))  # 299 s ago
    assert {item.reason for item in found.values()} == {Reason.COOLING_DOWN}
    assert found["source"].desired_replicas == 10
    again = analyses(CHAIN, *chain(), knowledge=changed(at_s=700.0))
    assert again["source"].verdict is Verdict.MORE


THREE = Ds2Settings(over_provision=1.0, activation_windows=3)
ALONE = workflow(op("op"))


def window(offered: float, at_s: float, knowledge: Knowledge):
    """Return the analysis of an operator whose replica is good for 100 rows/s."""
    return analyses(ALONE, seen("op", 1, 100.0, offered=offered, at_s=at_s), settings=THREE, knowledge=knowledge)["op"]


def memo(*sizes_found: int, at_s: float = 985.0, policy: str = "ds2") -> dict[str, str]:
    return {"op": Ds2Memo(policy=policy, at_s=at_s, sizes=sizes_found).model_dump_json()}


def test_several_windows_are_waited_for_and_their_median_counts():
    kept = known()
    wanted = []
    for index, offered in enumerate((300.0, 900.0, 500.0, 500.0)):
        found = window(offered, 1000.0 + 15 * index, kept)
        wanted.append(found.desired_replicas)
        kept = known(memos={"op": found.memo})
    assert wanted == [None, None, 5, 5]  # of 3, 9 and 5; of 9, 5 and 5


def test_windows_of_before_a_change_do_not_count():
    settled = Order(at_s=985.0, placement=("n0",), downtime_s=4.0)
    kept = Knowledge(latencies=known().latencies, orders={"op": (settled,)}, memos=memo(3, 9, at_s=985.0))
    found = window(500.0, 1000.0, kept)
    assert Ds2Memo.model_validate_json(found.memo).sizes == (5,)
