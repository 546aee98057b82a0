"""DS2 over time: pauses after a change, and several windows before one."""

from ds2_readings import CHAIN, analyses, chain, op, seen
from edge import known, workflow

from gesscale.model.decision import Reason, Verdict
from gesscale.model.order import Order
from gesscale.ports import Knowledge
from testbed.baselines.ds2 import Ds2Memo, Ds2Settings


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
    return analyses(
        ALONE, seen("op", 1, 100.0, offered=offered, at_s=at_s), settings=THREE, knowledge=knowledge
    )["op"]


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
