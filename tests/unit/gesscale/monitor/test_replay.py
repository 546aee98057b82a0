"""The recorded world: what could be seen, and where replicas were, at each instant of a record."""

from dataclasses import replace

import pytest
from edge import batches, delays

from gesscale.errors import ClusterError
from gesscale.model.decision import MapStatus, Reason
from gesscale.model.observation import MissingReading, OperatorReading
from gesscale.monitor.record_files import Recording
from gesscale.monitor.record_lines import LiveDecision
from gesscale.monitor.replay import RecordedWorld

# Batches of 2 s that end at 92, 94, 96, 98 and 100 s.
RUN = batches(("hub",), at_s=100.0, rows=50, seconds=2.0, count=5)
READ = OperatorReading(
    operator="op",
    at_s=100.0,
    placement=("hub",),
    throughput_rows_per_s=25.0,
    saturated_share=0.0,
    busy_share=0.5,
    cpu_share=0.7,
)


def live(**changes: object) -> LiveDecision:
    plain = LiveDecision(
        at_s=100.0,
        operator="op",
        policy="gesscale",
        reason="WithinTarget",
        detail="",
        placement=("hub",),
        change=None,
        planned=("hub",),
        acted=False,
        status="NothingToDo",
        seen=READ,
        batches_seen=5,
        rejections={},
        latency_map=MapStatus(),
        document={},
    )
    return replace(plain, **changes)


def world(*decisions: LiveDecision, at_s: float = 100.0, **changes: object) -> RecordedWorld:
    recording = Recording(batches={"op": RUN}, decisions=decisions)
    periods = {"window_s": 10.0, "history_s": 60.0, "stale_after_s": 30.0}
    placed = RecordedWorld(recording=recording, delays=delays(), **{**periods, **changes})
    placed.move_to(at_s)
    return placed


def read(placed: RecordedWorld) -> OperatorReading | MissingReading:
    seen = placed.observe(placed.now_s)
    return {**seen.readings, **seen.missing_readings}["op"]


def test_figures_are_those_that_were_read_live_with_the_batches_behind_them():
    seen = read(world(live()))
    assert isinstance(seen, OperatorReading)
    # Of the batches themselves: 50 rows in 2 s, back to back, and no CPU.
    assert (seen.busy_share, seen.cpu_share) == (0.5, 0.7)
    assert seen.batches == RUN
    assert seen.warm_batches == RUN[1:]  # the first known batch of a run is cold


def test_for_another_window_the_figures_are_computed_from_the_batches():
    seen = read(world(live(), as_read=False, window_s=5.0))
    assert isinstance(seen, OperatorReading)
    assert (seen.busy_share, seen.cpu_share) == (1.0, None)


@pytest.mark.parametrize(("count", "newest"), [(5, 100.0), (4, 98.0), (1, 98.0)])
def test_as_many_batches_are_seen_as_live_within_what_clocks_allow(count: int, newest: float):
    # At 99.5 s four batches have ended. That a fifth was seen, or only the fourth not, is within 5 s; that only the
    # first was, which ended 7.5 s before, is not, and the time decides.
    seen = read(world(live(at_s=99.5, batches_seen=count), at_s=99.5))
    assert isinstance(seen, OperatorReading)
    assert seen.batches[-1].ended_at_s == newest


def test_what_was_unseen_live_stays_unseen():
    missing_readings = MissingReading(operator="op", detail="its driver was silent", stale=True)
    assert read(world(live(seen=missing_readings))) == missing_readings


def test_batches_that_end_later_are_not_known_yet():
    seen = read(world(at_s=96.5))
    assert isinstance(seen, OperatorReading)
    assert [batch.ended_at_s for batch in seen.batches] == [92.0, 94.0, 96.0]


def test_the_cluster_is_where_the_live_decision_found_it():
    state = world(live(placement=("far", "hub"))).state()
    assert state.placements == {"op": ("far", "hub")}
    assert set(state.nodes) == set(delays().names)
    assert not any(node.problem for node in state.nodes.values())


def test_without_a_decision_replicas_are_where_the_newest_batch_ran():
    assert world().state().placements == {"op": ("hub",)}
    assert world(at_s=50.0).state().placements == {}


def test_nodes_that_could_take_no_replica_then_cannot_now():
    lost = {
        "near": ("NotReady", "the kubelet is silent"),
        "mid": ("Farther", "50 ms"),
        "far": ("Excluded", "the settings exclude it"),
    }
    nodes = world(live(rejections=lost)).state().nodes
    assert (nodes["near"].reason, nodes["near"].problem) == (Reason.NOT_READY, "the kubelet is silent")
    # The others lost by their delay, or by settings that the replay has itself.
    assert [nodes[name].problem for name in ("mid", "far")] == ["", ""]


def test_a_cluster_that_could_not_be_read_cannot_be_read_now():
    silent = live(reason="ClusterUnavailable", detail="no answer of the API server")
    assert world(silent).state().problem == "no answer of the API server"


def test_the_map_stands_as_it_stood():
    old = MapStatus(age_s=90_000.0, stale="the latency map is 25 h old")
    assert world(live(latency_map=old)).current(100.0).standing == old
    assert world().current(100.0).standing == MapStatus()


def test_nothing_can_be_changed():
    with pytest.raises(ClusterError, match="a recorded run cannot be changed to hub, near"):
        world().apply("op", ("hub", "near"))
