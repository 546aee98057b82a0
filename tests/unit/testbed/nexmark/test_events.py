"""Properties of the generator: shares, references, and equal events for any range."""

from collections import Counter

import pytest

from testbed.nexmark.events import AUCTION, BID, FIRST_ID, PERSON, SCHEMA, events

ALL = events(0, 5000, events_per_s=100.0)
ROWS = ALL.to_pylist()


def of(kind):
    return [row for row in ROWS if row["kind"] == kind]


def test_kinds_come_1_to_3_to_46():
    assert Counter(row["kind"] for row in ROWS) == {PERSON: 100, AUCTION: 300, BID: 4600}
    assert ALL.column_names == [field.split()[0] for field in SCHEMA.split(", ")]
    for kind, count in ((PERSON, 100), (AUCTION, 300)):
        assert [row["id"] for row in of(kind)] == [FIRST_ID + number for number in range(count)]
    # event 4999 at 100 events/s: 49.99 s after the first
    assert (ROWS[-1]["at"] - ROWS[0]["at"]).total_seconds() == pytest.approx(49.99)


@pytest.mark.parametrize(("start", "end"), [(0, 1), (49, 51), (777, 1234), (4999, 5000), (20, 20)])
def test_any_range_gives_the_same_events(start, end):
    assert events(start, end, events_per_s=100.0).equals(ALL.slice(start, end - start))


def test_references_point_to_earlier_events():
    persons, auctions = set(), set()
    for row in ROWS:
        if row["kind"] == PERSON:
            persons.add(row["id"])
        elif row["kind"] == AUCTION:
            auctions.add(row["id"])
            assert row["seller"] in persons
        else:
            assert row["bidder"] in persons
            assert row["auction"] in auctions


def test_fields_are_in_their_ranges():
    for row in of(BID):
        assert 100 <= row["price"] <= 100_000_000  # 100 x 10^0..6
    for row in of(AUCTION):
        assert 10 <= row["category"] <= 14
        assert row["reserve"] >= row["initial_bid"]
        assert row["expires"] > row["at"]
    assert all(row["price"] is None and row["seller"] is None for row in of(PERSON))
