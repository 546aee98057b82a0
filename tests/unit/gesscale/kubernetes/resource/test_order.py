import pytest

from gesscale.errors import InputError
from gesscale.kubernetes.resource.order import parse_order
from gesscale.wire import Strategy

GIVEN = {
    "id": "7-3",
    "term": 7,
    "placement": ["edge1", "edge4"],
    "at": "2026-11-21T20:58:08Z",
    "strategy": "Restart",
}


def test_an_order_is_read_and_written_alike():
    order = parse_order(GIVEN)
    assert (order.rank, order.strategy) == ((7, 3), Strategy.RESTART)
    assert order.model_dump(mode="json", by_alias=True, exclude_unset=True) == GIVEN
    assert parse_order({**GIVEN, "downtimeSeconds": 2.5}).downtime_s == 2.5


def test_executors_join_live_where_nothing_else_is_said_and_unknown_fields_do_not_matter():
    given = {name: value for name, value in GIVEN.items() if name != "strategy"}
    assert parse_order({**given, "since": 1}).strategy is Strategy.LIVE


def test_counters_are_numbers():
    assert parse_order({**GIVEN, "id": "7-10"}).rank > parse_order({**GIVEN, "id": "7-9"}).rank


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"placement": []}, "placement: "),
        ({"placement": ["b", "a"]}, "sorted"),
        ({"placement": ["a", "a"]}, "none twice"),
        ({"placement": [""]}, "placement.0: "),
        ({"id": "6-3"}, "with term 7, got '6-3'"),
        ({"id": "7"}, "got '7'"),
        ({"id": "7-03"}, "got '7-03'"),
        ({"term": -7}, "term: "),
        ({"at": "2026-11-21T20:58:08"}, "at: "),
        ({"strategy": "Magic"}, "strategy: "),
    ],
)
def test_a_broken_order_is_refused_with_the_field(change, said):
    with pytest.raises(InputError, match=said):
        parse_order({**GIVEN, **change})


def test_what_is_no_mapping_is_no_order():
    with pytest.raises(InputError, match=r"status\.order is no order"):
        parse_order("7-3")
