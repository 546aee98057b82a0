"""For any orders and failures, no row is counted twice, and only retention loses rows."""

import math
from contextlib import suppress
from dataclasses import replace

import pytest
from flink_scenes import NODES, PLAIN, plant, scene
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st
from simulated_orders import order
from thoroughness import examples

from gesscale.errors import ClusterError
from gesscale.model.workflow import Operator, Workflow
from testbed.simulator.scene import NodeFailure

NOISY = replace(PLAIN, service_s=0.008, noise=0.1, restart_spread=0.3, cold_share=0.5, checkpoint_interval_s=35.0)
DURATION_S = 1800.0

rates = st.lists(st.floats(0.0, 120.0), min_size=30, max_size=30).filter(lambda steps: sum(steps) > 1)
instants = st.one_of(
    st.floats(1.0, DURATION_S),
    st.builds(  # at the end of a tick, and just before or after it
        lambda tick, off_s: 10.0 * tick + off_s,
        st.integers(1, 180),
        st.sampled_from([-1e-6, -1e-7, -2.3e-13, 0.0, 2.3e-13, 1e-7, 1e-6]),
    ),
)
orders = st.lists(st.tuples(instants, st.sampled_from("abcd"), st.sampled_from(NODES), st.booleans()), max_size=8)
SHAPES: dict[str, dict[str, tuple[str, ...]]] = {
    "chain": {"a": (), "b": ("a",), "c": ("b",)},
    "diamond": {"a": (), "b": ("a",), "c": ("a",), "d": ("b", "c")},
    "join": {"a": (), "b": (), "c": (), "d": ("a", "b", "c")},
}
PLACES = {"a": ("n0", "n1"), "b": ("n1",), "c": ("n2", "n3"), "d": ("n0",)}
failures = st.lists(
    st.builds(
        lambda node, from_s, for_s: NodeFailure(node=node, from_s=from_s, until_s=from_s + for_s),
        st.sampled_from(NODES),
        st.floats(0.0, DURATION_S).map(lambda at_s: round(at_s, 3)),
        st.floats(1.0, 600.0),
    ),
    max_size=3,
)


@settings(
    max_examples=examples(50, few=10), deadline=None, phases=[Phase.explicit, Phase.generate]
)  # shrinking takes minutes
@example(  # b loses its node, which returns as the source's node fails
    shape="chain",
    rates=[0.0] * 29 + [2.0],
    orders=[],
    failures=[NodeFailure(node="n0", from_s=931.0, until_s=941.0), NodeFailure(node="n1", from_s=928.0, until_s=931.0)],
    whole=False,
    restart_s=120.0,
    seed=0,
    retention_s=None,
)
@example(  # a tick ends slightly before its nominal end; rows offered until then must count too
    shape="chain",
    rates=[0.0] * 16 + [2.0] * 14,
    orders=[(969.999999, "a", "n2", True), (math.nextafter(1800.0, 0.0), "b", "n2", True)],
    failures=[],
    whole=True,
    restart_s=0.0,
    seed=0,
    retention_s=None,
)
@given(
    shape=st.sampled_from(sorted(SHAPES)),
    rates=rates,
    orders=orders,
    failures=failures,
    whole=st.booleans(),
    restart_s=st.sampled_from([0.0, 120.0]),
    seed=st.integers(0, 5),
    retention_s=st.sampled_from([None, 60.0]),
)
def test_every_row_reaches_the_sink_once_or_is_dropped_by_its_source(
    shape: str,
    rates: list[float],
    orders: list[tuple[float, str, str, bool]],
    failures: list[NodeFailure],
    whole: bool,
    restart_s: float,
    seed: int,
    retention_s: float | None,
) -> None:
    upstream = SHAPES[shape]
    made = scene(
        {name: rates for name, producers in upstream.items() if not producers},
        Workflow(Operator(name=name, driver_node="n0", upstream=producers) for name, producers in upstream.items()),
        {name: PLACES[name] for name in upstream},
        rtt_ms=40.0,
        failures=tuple(failures),
        selectivity={"a": 0.5, "b": 2.0},
        retention_s={name: retention_s for name in upstream if retention_s is not None and not upstream[name]},
    )
    flink = plant(made, replace(NOISY, restart_whole_job=whole, restart_s=restart_s), seed)
    completed, sink = 0.0, max(upstream)
    last = {name: flink.tally(name) for name in upstream}
    last_s = 0.0
    moments = [*sorted(orders), *((DURATION_S + 1000.0 * step, "", "", False) for step in range(1, 13))]
    for at_s, operator, node, adds in moments:
        flink.advance(at_s)
        completed += sum(completion.rows for completion in flink.completions() if not completion.lost)
        now = {name: flink.tally(name) for name in upstream}
        for name, tally in now.items():
            assert tally.processed_rows + tally.lost_rows <= tally.offered_rows + 1e-6
            for counter in ("offered_rows", "processed_rows", "lost_rows", "work_s", "waiting_s", "replica_seconds"):
                assert getattr(tally, counter) >= getattr(last[name], counter)
            if not failures:  # each replica for the elapsed time
                kept_s = last[name].supply_replicas * (at_s - last_s)
                assert tally.replica_seconds - last[name].replica_seconds == pytest.approx(kept_s, abs=1e-4)
            if upstream[name]:  # the output of an operator is the input of the next one
                emitted = sum(
                    made.selectivity.get(producer, 1.0) * now[producer].processed_rows for producer in upstream[name]
                )
                assert tally.offered_rows == pytest.approx(emitted, abs=1e-6)
        assert completed == pytest.approx(now[sink].processed_rows)
        if operator in upstream:
            with suppress(ClusterError):
                order(flink, operator, **{"add" if adds else "remove": (node,)})
        # An order does not move rows.
        last, last_s = {name: flink.tally(name) for name in upstream}, at_s
        assert [(tally.offered_rows, tally.processed_rows) for tally in last.values()] == [
            (tally.offered_rows, tally.processed_rows) for tally in now.values()
        ]
    for name, load in made.workloads.items():
        assert last[name].processed_rows + last[name].lost_rows == pytest.approx(
            load.total_rows, abs=1.0
        )  # whole rows only
    for tally in last.values():
        assert tally.processed_rows + tally.lost_rows == pytest.approx(tally.offered_rows, abs=1e-6)


@pytest.mark.parametrize(
    ("left", "right", "through"),
    [
        (80, 80, (50, 50)),  # of 160 offered rows/s 100 are processed, half of them from each side
        (90, 20, (80, 20)),  # a producer below half is not slowed down; the other one has the rest
        (20, 90, (20, 80)),
    ],
)
def test_two_producers_share_the_buffers_of_their_consumer(left: int, right: int, through: tuple[int, int]) -> None:
    workflow = Workflow(
        [
            Operator(name="left", driver_node="n0"),
            Operator(name="right", driver_node="n0"),
            Operator(name="join", driver_node="n0", upstream=("left", "right")),
        ]
    )
    made = scene(
        {"left": [float(left)] * 10, "right": [float(right)] * 10},
        workflow,
        {"left": ("n0",), "right": ("n1",), "join": ("n2",)},
    )
    flink = plant(made)
    flink.advance(600.0)
    tallies = [flink.tally(name).processed_rows / 600 for name in ("left", "right")]
    assert tallies == pytest.approx(through, rel=0.01)
    flink.advance(1200.0)
    assert flink.tally("join").processed_rows == pytest.approx(600 * (left + right))


def test_a_row_reaches_every_consumer() -> None:
    workflow = Workflow(
        [
            Operator(name="split", driver_node="n0"),
            Operator(name="fast", driver_node="n0", upstream=("split",)),
            Operator(name="slow", driver_node="n0", upstream=("split",)),
        ]
    )
    made = scene({"split": [150.0] * 10}, workflow, {"split": ("n0", "n1"), "fast": ("n1", "n2"), "slow": ("n3",)})
    flink = plant(made)
    flink.advance(600.0)
    # The slower consumer, 100 rows/s, slows down the producer and so the other consumer.
    assert flink.tally("fast").processed_rows == pytest.approx(600 * 100, rel=0.01)
    flink.advance(1200.0)
    assert flink.tally("fast").processed_rows == flink.tally("slow").processed_rows == 600 * 150
