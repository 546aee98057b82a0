"""The cap of a batch: what the batches show rules over the settings, and contradictions are named."""

from dataclasses import replace

import pytest
from edge import NODES, known, observe, workflow
from gesscale_streams import FLOW, stream

from gesscale.common.errors import Problem
from gesscale.model.decision import Reason
from gesscale.model.observation import Batch
from gesscale.model.workflow import BatchCap
from gesscale.policies import policy_named
from gesscale.policies.gesscale.analysis.batch_caps import find_cap
from gesscale.ports import ClusterState, Node
from gesscale.settings.analyze import AnalyzeSettings

FIXED, EACH = BatchCap(rows=200), BatchCap(rows_per_replica=200)


def batch(rows, *, replicas=1, cap=None, each=None, seconds=1.0, backlog=0.0, number=0):
    return Batch(
        batch_id=number,
        ended_at_s=1000.0 + 2 * number,
        rows=rows,
        seconds=seconds,
        nodes=tuple(f"n{index}" for index in range(replicas)),
        trigger_s=2.0,
        cap_rows=cap,
        cap_rows_per_replica=each,
        backlog_rows=backlog,
    )


def codes(found):
    return [each.code for each in found.warnings]


@pytest.mark.parametrize(
    ("stated", "batches", "cap", "warned"),
    [
        (None, [], None, []),
        (FIXED, [], FIXED, []),
        (FIXED, [batch(150)], FIXED, []),
        (FIXED, [batch(150, cap=200)], FIXED, []),
        (None, [batch(150, cap=200)], FIXED, []),
        (BatchCap(rows=2000), [batch(150, cap=200)], FIXED, ["batch-cap-differs"]),
        # The driver has another figure for each replica, or settings of another kind.
        (BatchCap(rows_per_replica=500), [batch(150, replicas=2, cap=400)], EACH, ["batch-cap-differs"]),
        (BatchCap(rows=2000), [batch(150, replicas=2, cap=400, each=200)], EACH, ["batch-cap-differs"]),
        (None, [batch(150, replicas=2, cap=400, each=200)], EACH, []),
        # Two numbers of replicas show that the cap grows with them.
        (None, [batch(150, cap=200), batch(150, replicas=3, cap=600)], EACH, []),
        (None, [batch(150, cap=200), batch(150, replicas=3, cap=200)], FIXED, []),
        # More rows than the cap: it is none. 297 of 300: Kafka rounds.
        (FIXED, [batch(320)], None, ["batch-cap-exceeded"]),
        (None, [batch(320, cap=200)], None, ["batch-cap-exceeded"]),
        (FIXED, [batch(201, cap=200)], FIXED, []),
    ],
)
def test_the_cap_of_the_batches_rules(stated, batches, cap, warned):
    found = find_cap(stated, batches)
    assert (found.cap, codes(found)) == (cap, warned)


def test_equal_batches_that_leave_rows_though_they_have_time_show_a_cap():
    capped = [batch(rows, backlog=1000.0, number=index) for index, rows in enumerate((200, 199, 200))]
    found = find_cap(None, capped)
    assert (found.cap, found.seen_rows, codes(found)) == (FIXED, 200, ["batch-cap-seen"])
    # Also below a stated cap; not if it is the stated one.
    stale = find_cap(BatchCap(rows=2000), capped)
    assert (stale.cap, codes(stale)) == (FIXED, ["batch-cap-seen"])
    assert find_cap(FIXED, capped) == find_cap(FIXED, [batch(150)])
    # It is kept while rows do not wait, until a batch has more.
    assert find_cap(None, [batch(120)], 200).cap == FIXED
    assert find_cap(None, [batch(260)], 200).cap is None


def test_a_stated_cap_for_each_replica_that_does_not_grow_is_not_believed_again_with_fewer():
    each = BatchCap(rows_per_replica=150)
    four = find_cap(each, [batch(300, replicas=4, backlog=1000.0)] * 3)
    assert (four.cap, four.seen_rows) == (BatchCap(rows=300), 300)  # not 600
    # With two replicas both are 300.
    assert find_cap(each, [batch(300, replicas=2, backlog=1000.0)] * 3, 300) == four._replace(
        warnings=(Problem("batch-cap-seen", {"rows": 300, "cap_rows": 300}),)
    )
    assert find_cap(each, [batch(450, replicas=4, backlog=1000.0)], 300).cap == each
    # Batches of two, still listed after others came, show nothing.
    assert find_cap(each, [batch(300, replicas=2, backlog=1000.0)] * 2 + [batch(300, replicas=4)]).cap == each


@pytest.mark.parametrize(
    "batches",
    [
        [batch(200, backlog=1000.0)] * 2,
        [batch(rows, backlog=1000.0) for rows in (200, 230, 200)],
        [batch(200, backlog=100.0)] * 3,
        [batch(200, backlog=1000.0, seconds=2.4)] * 3,
        [replace(batch(200), backlog_rows=None)] * 3,
        [replace(batch(200, backlog=1000.0), trigger_s=None)] * 3,
        [batch(0, backlog=0.0)] * 3,
    ],
    ids=["too few", "unequal", "little waits", "no time", "unknown backlog", "no trigger", "no rows"],
)
def test_other_batches_show_no_cap(batches):
    assert find_cap(None, batches).cap is None


def decided(cap_rows, stated, placement, load=140.0, *, law="auto"):
    """Decide for an operator of 100 rows/s a replica, whose batches of 10 s take at most this number of rows."""
    rows = min(cap_rows, 1000 * len(placement))
    seen = stream(load, placement, backlog=50_000.0)
    batches = tuple(
        replace(each, rows=rows, seconds=rows / 100 / len(placement), cap_rows=cap_rows) for each in seen.batches
    )
    seen = replace(seen, batches=batches, warm_batches=batches[-6:])
    settings = AnalyzeSettings(gesscale={"law": law})
    operator = replace(FLOW.operators["op"], cap=stated)
    policy = policy_named("gesscale", workflow(operator), settings)
    cluster = ClusterState(nodes={name: Node(name=name) for name in NODES}, placements={"op": placement})
    analyses = policy.analyze(observe(seen), known())
    return analyses["op"], policy.plan(analyses, cluster, known())["op"]


@pytest.mark.parametrize("law", ["auto", "eq1", "batch-time"])
@pytest.mark.parametrize("stated", [None, BatchCap(rows=20_000), BatchCap(rows=1000)])
def test_where_the_cap_limits_nothing_is_added_and_the_reason_says_so(stated, law):
    # 1,000 rows each 10 s are 100 rows/s with any number of replicas; 140 come.
    for placement in (("hub",), ("hub", "near")):
        analysis, plan = decided(1000, stated, placement, law=law)
        assert plan.reason is Reason.CAP_LIMITS
        assert set(plan.placement) <= set(placement)
        assert analysis.mst.high <= 100
        assert all(each.mst.mid <= 100 for each in plan.candidates)


def test_under_a_cap_replicas_go_that_add_nothing():
    _, plan = decided(1000, None, ("hub", "near", "mid", "far"))
    assert plan.reason is Reason.CAP_LIMITS
    assert len(plan.placement) < 4


def test_a_cap_that_grows_with_the_replicas_does_not_limit_them():
    _, plan = decided(1000, BatchCap(rows_per_replica=1000), ("hub",))
    assert plan.reason is Reason.OVERLOADED
    assert len(plan.placement) > 1
