import pytest
from pydantic import ValidationError

from gesscale.kubernetes.resource.order import OrderStatus
from gesscale.validation import first_problem
from gesscale.wire import Strategy

GIVEN = {"id": "7-3", "term": 7, "placement": ["edge1", "edge4"], "at": "2026-11-21T20:58:08Z", "strategy": "Restart"}


def test_an_order_is_read_as_written():
    order = OrderStatus.model_validate(GIVEN)
    assert (order.id, order.strategy) == ("7-3", Strategy.RESTART)
    assert order.model_dump(mode="json", by_alias=True, exclude_unset=True) == GIVEN
    assert OrderStatus.model_validate({**GIVEN, "downtimeSeconds": 2.5}).downtime_s == 2.5


def test_the_default_strategy_is_live_and_unknown_fields_are_ignored():
    given = {name: value for name, value in GIVEN.items() if name != "strategy"}
    assert OrderStatus.model_validate({**given, "since": 1}).strategy is Strategy.LIVE


@pytest.mark.parametrize(
    ("change", "code", "place"),
    [
        ({"placement": []}, "field-invalid", "placement"),
        ({"placement": ["b", "a"]}, "order-nodes-unsorted", "placement"),
        ({"placement": ["a", "a"]}, "order-nodes-unsorted", "placement"),
        ({"placement": [""]}, "field-invalid", "placement.0"),
        ({"id": "6-3"}, "order-id-invalid", "id"),
        ({"id": "7"}, "order-id-invalid", "id"),
        ({"id": "7-03"}, "order-id-invalid", "id"),
        ({"term": -7}, "field-invalid", "term"),
        ({"at": "2026-11-21T20:58:08"}, "instant-invalid", "at"),
        ({"strategy": "Magic"}, "field-invalid", "strategy"),
    ],
)
def test_an_invalid_order_is_refused_with_its_field(change, code, place):
    with pytest.raises(ValidationError) as caught:
        OrderStatus.model_validate({**GIVEN, **change})
    problem = first_problem(caught.value)
    assert (problem.code, problem.fields["place"].split(", ")[0]) == (code, place)
