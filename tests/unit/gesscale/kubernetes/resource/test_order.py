import pytest
from pydantic import ValidationError

from gesscale.kubernetes.resource.order import OrderStatus
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
    ("change", "said"),
    [
        ({"placement": []}, "placement"),
        ({"placement": ["b", "a"]}, "sorted"),
        ({"placement": ["a", "a"]}, "sorted"),
        ({"placement": [""]}, "placement.0\n"),
        ({"id": "6-3"}, "with term 7, got '6-3'"),
        ({"id": "7"}, "got '7'"),
        ({"id": "7-03"}, "got '7-03'"),
        ({"term": -7}, "term\n"),
        ({"at": "2026-11-21T20:58:08"}, "\nat\n"),
        ({"strategy": "Magic"}, "strategy\n"),
    ],
)
def test_an_invalid_order_is_refused_with_its_field(change, said):
    with pytest.raises(ValidationError, match=said):
        OrderStatus.model_validate({**GIVEN, **change})
