"""The contract of a knowledge store."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from model_summaries import eq1_summary
from refusals import refused

from gesscale.errors import KnowledgeError
from gesscale.knowledge.memory import KnowledgeLimits, MemoryKnowledge
from gesscale.knowledge.sqlite import SqliteKnowledge
from gesscale.model.decision import Analysis, Decision, Outcome, OutcomeStatus, Plan, Reason, Rejection, Verdict
from gesscale.model.document import decision_document
from gesscale.model.order import Order
from gesscale.ports import Knowledge
from perfmodel import ModelSummary, Reading

Store = MemoryKnowledge | SqliteKnowledge
LIMITS = KnowledgeLimits(
    readings_per_operator=3, models_per_operator=2, decisions_per_operator=4, orders_per_operator=2
)


def decision(
    at_s: float,
    operator: str = "nearest",
    *,
    evidence: tuple[Reading, ...] = (),
    model: ModelSummary | None = None,
    added: tuple[str, ...] = (),
    memo: str | None = None,
) -> Decision:
    return Decision(
        at_s=at_s,
        operator=operator,
        policy="gesscale",
        analysis=Analysis(
            operator=operator, verdict=Verdict.MORE, reason=Reason.OVERLOADED, evidence=evidence, model=model, memo=memo
        ),
        plan=Plan(
            operator=operator,
            reason=Reason.OVERLOADED,
            before=("edge1",),
            placement=tuple(sorted({"edge1", *added})),
            rejections=(Rejection(node="edge7", reason=Reason.FARTHER, detail="120 ms"),),
        ),
        outcome=Outcome(status=OutcomeStatus.APPLIED if added else OutcomeStatus.NOTHING_TO_DO, added=added),
    )


def reading(at_s: float) -> Reading:
    return Reading(replicas=2, nd_max_ms=40.5, rows_per_s=1900 + at_s, batch_rows=9000, weight=1.5, at_s=at_s)


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    if request.param == "memory":
        yield MemoryKnowledge(LIMITS)
    else:
        with SqliteKnowledge(tmp_path / "k.sqlite", now_s=0, limits=LIMITS) as opened:
            yield opened


@pytest.fixture
def history(tmp_path: Path) -> Iterator[SqliteKnowledge]:
    with SqliteKnowledge(tmp_path / "k.sqlite", now_s=0, limits=LIMITS) as opened:
        yield opened


def test_evidence_is_recalled_newest_first_by_operator(store: Store) -> None:
    store.remember(decision(1, evidence=(reading(1),)))
    store.remember(decision(2, evidence=(reading(2), reading(2.5))))
    store.remember(decision(3, "clean", evidence=(reading(3),)))
    assert store.recall(9).readings == {"nearest": (reading(2.5), reading(2), reading(1)), "clean": (reading(3),)}


def test_what_is_dated_later_than_now_is_not_recalled(store: Store) -> None:
    store.remember(decision(1, evidence=(reading(1),), added=("edge2",)))
    store.remember(decision(5, evidence=(reading(5),), added=("edge3",)))
    known = store.recall(4)
    assert known.readings["nearest"] == (reading(1),)
    latest = known.latest("nearest")
    assert latest is not None
    assert latest.at_s == 1


def test_an_operator_with_a_future_order_is_listed(store: Store) -> None:
    # Ordered at 1 and, by a clock that ran ahead, at 5; once there is a new order, that one is in force.
    store.remember(decision(1, added=("edge2",)))
    store.remember(decision(5, added=("edge3",)))
    assert store.recall(4).order_unknown == {"nearest"}
    assert store.recall(5).order_unknown == set()
    store.remember(decision(2, added=("edge2",)))
    assert store.recall(4).order_unknown == set()


def test_a_change_is_pending_until_it_is_settled(store: Store) -> None:
    store.remember(decision(1, added=("edge2",)))
    pending = store.recall(2).pending("nearest")
    assert pending == Order(at_s=1, placement=("edge1", "edge2"), before=1, reason=Reason.OVERLOADED)
    settled = pending.ended(2.25, 2.5, arrived=True)
    store.settle("nearest", settled)
    known = store.recall(3)
    assert known.pending("nearest") is None
    assert known.latest("nearest") == settled


def test_settling_an_unknown_change_is_an_error(store: Store) -> None:
    with refused("knowledge-order-unknown", KnowledgeError, operator="nearest", at_s=7):
        store.settle("nearest", Order(at_s=7, placement=(), downtime_s=1))


def test_the_newest_memo_of_each_operator_is_recalled(store: Store) -> None:
    store.remember(decision(1, memo="first"))
    store.remember(decision(2, memo="second"))
    store.remember(decision(3))  # nothing new
    store.remember(decision(3, "clean", memo='{"window": [1, 2.5]}'))
    assert store.recall(4).memos == {"nearest": "second", "clean": '{"window": [1, 2.5]}'}
    assert store.recall(2).memos == {"nearest": "second"}


def test_a_store_begins_with_what_it_is_given_as_it_was() -> None:
    change = Order(at_s=2, placement=("edge1",), downtime_s=1.5)
    pending = Order(at_s=4, placement=("edge1", "edge2"))
    given = Knowledge(
        readings={"nearest": (reading(3), reading(1))}, orders={"nearest": (pending, change)}, memos={"clean": "said"}
    )
    store = MemoryKnowledge(LIMITS, known=given)
    assert store.recall(9) == given
    store.settle("nearest", pending.ended(9, 2.0, arrived=False))
    assert store.recall(9).pending("nearest") is None


def test_decisions_keep_reasons_numbers_and_losing_candidates(history: SqliteKnowledge) -> None:
    made = decision(1, evidence=(reading(1),), model=eq1_summary(alpha=1900), added=("edge2",))
    history.remember(made)
    (kept,) = history.decisions()
    assert kept == decision_document(made)
    assert kept["plan"]["rejections"] == [{"node": "edge7", "reason": "Farther", "detail": "120 ms"}]
    assert kept["analysis"]["model"]["laws"][0]["parameters"][0]["value"] == 1900


def test_decisions_are_newest_first_limited_and_by_operator(history: SqliteKnowledge) -> None:
    for at_s, operator in ((1, "clean"), (2, "nearest"), (3, "clean"), (4, "nearest")):
        history.remember(decision(at_s, operator))
    assert [item["at_s"] for item in history.decisions()] == [4, 3, 2, 1]
    assert [item["at_s"] for item in history.decisions(limit=2)] == [4, 3]
    assert [item["at_s"] for item in history.decisions("clean")] == [3, 1]
    assert history.decisions("unknown") == ()


def test_newest_means_remembered_last_even_when_the_clock_stepped_back(history: SqliteKnowledge) -> None:
    history.remember(decision(100))
    history.remember(decision(50))
    assert [item["at_s"] for item in history.decisions()] == [50, 100]


@pytest.mark.parametrize(
    ("second", "versions"),
    [
        # 5 % of max(2000, 2090) is 104.5 and the step only 90; 2120 moves by 120, more than 106.
        pytest.param(eq1_summary(alpha=2090), 1, id="noise is no version"),
        pytest.param(eq1_summary(alpha=2120), 2, id="a moved parameter"),
        pytest.param(eq1_summary(alpha=2000, law="batch-time"), 2, id="another law"),
        pytest.param(eq1_summary(alpha=2000, fitted=False), 2, id="not fitted any more"),
        pytest.param(eq1_summary(alpha=2000, readings=9), 1, id="only more readings"),
    ],
)
def test_a_noticeable_change_of_a_model_makes_a_version(
    history: SqliteKnowledge, second: ModelSummary, versions: int
) -> None:
    history.remember(decision(1, model=eq1_summary(alpha=2000)))
    history.remember(decision(2, model=second))
    assert len(history.models("nearest")) == versions


def test_model_versions_are_bounded_and_newest_first(history: SqliteKnowledge) -> None:
    for at_s, alpha in ((1, 1000), (2, 2000), (3, 3000)):
        history.remember(decision(at_s, model=eq1_summary(alpha=alpha)))
    assert [(item["at_s"], item["laws"][0]["parameters"][0]["value"]) for item in history.models()] == [
        (3, 3000),
        (2, 2000),
    ]
    assert history.models("unknown") == ()
    assert len(history.models(limit=1)) == 1
