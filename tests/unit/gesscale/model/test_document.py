from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pytest
import yaml

from gesscale.model.decision import Analysis, Decision, Outcome, OutcomeStatus, Plan, Reason, Rejection, Verdict
from gesscale.model.document import as_document, decision_document
from gesscale.model.observation import Batch, OperatorReading


@dataclass(frozen=True, slots=True)
class Named:
    name: str
    reason: Reason
    parts: Mapping[int, tuple[float, ...]]


@pytest.mark.parametrize(
    ("value", "document"),
    [
        (None, None),
        (True, True),
        (float("inf"), None),
        (np.float64(1.5), 1.5),
        (np.int64(7), 7),
        (np.array([[1.0, np.nan]]), [[1.0, None]]),
        (np.str_("edge1"), "edge1"),
        (Named("x", Reason.WITHIN_TARGET, {1: (0.5,)}), {"name": "x", "reason": "WithinTarget", "parts": {"1": [0.5]}}),
    ],
)
def test_values_become_json_values(value: object, document: object) -> None:
    result = as_document(value)
    assert result == document
    assert yaml.safe_load(yaml.safe_dump(result)) == document


def test_a_decision_keeps_the_number_of_its_batches() -> None:
    batches = tuple(
        Batch(batch_id=number, ended_at_s=number, rows=100, seconds=0.5, nodes=("edge1",)) for number in (1, 2)
    )
    made = Decision(
        at_s=3,
        operator="nearest",
        policy="gesscale",
        analysis=Analysis(
            operator="nearest",
            verdict=Verdict.MORE,
            reason=Reason.OVERLOADED,
            reading=OperatorReading(
                operator="nearest",
                at_s=3,
                placement=("edge1",),
                throughput_rows_per_s=100,
                saturated_share=0,
                busy_share=0.5,
                batches=batches,
                warm_batches=batches[1:],
            ),
        ),
        plan=Plan(
            operator="nearest", reason=Reason.OVERLOADED, detail="more", before=("edge1",), placement=("edge1", "edge2")
        ),
        outcome=Outcome(status=OutcomeStatus.APPLIED, added=("edge2",)),
        ineligible=(Rejection(node="edge3", reason=Reason.CORDONED, detail="by a person"),),
    )
    document = decision_document(made)
    reading = document["analysis"]["reading"]
    assert (reading["batches"], reading["warm_batches"]) == (2, 1)
    assert reading["warm_rows_per_s"] == 200  # 100 rows in 0.5 s
    assert document["sentence"] == "replicas 1 -> 2 (Overloaded, +edge2): more"
    assert document["acted"] is True
    assert document["plan"]["change"] == {"add": ["edge2"], "remove": []}
    assert document["ineligible"] == [{"node": "edge3", "reason": "Cordoned", "detail": "by a person"}]
