"""The events of an online auction: persons, auctions and bids, 1 to 3 to 46. Pure: an event follows from its number.

The kinds, their shares and the ranges of their fields are those of the Nexmark benchmark (Tucker, Tufte, Papadimos,
Maier, 2002) and of its generator in Apache Beam. The code and the random numbers are ours.
"""

from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

PERSONS, AUCTIONS, BIDS = 1, 3, 46
#: Number of events after which the order of kinds repeats.
EPOCH = PERSONS + AUCTIONS + BIDS
PERSON, AUCTION, BID = 0, 1, 2
#: Of persons and of auctions.
FIRST_ID = 1000
FIRST_CATEGORY, CATEGORIES = 10, 5
STATES = ("AZ", "CA", "ID", "OR", "WA", "WY")
CITIES = (
    "Phoenix",
    "Los Angeles",
    "San Francisco",
    "Boise",
    "Portland",
    "Bend",
    "Redmond",
    "Seattle",
    "Kent",
    "Cheyenne",
)
CHANNELS = ("Google", "Facebook", "Baidu", "Apple")
FIRST_NAMES = ("Peter", "Paul", "Luke", "John", "Saul", "Vicky", "Kate", "Julie", "Sarah", "Deiter", "Walter")
LAST_NAMES = ("Shultz", "Abrams", "Spencer", "White", "Bartels", "Walton", "Smith", "Jones", "Noris")
#: When the first event happens.
BEGINS_S = datetime(2015, 7, 15, tzinfo=UTC).timestamp()

#: Of all events; fields of other kinds are null.
SCHEMA = (
    "number long, kind int, at timestamp, id long, name string, city string, state string, seller long, category int, "
    "initial_bid long, reserve long, expires timestamp, auction long, bidder long, price long, channel string"
)

_HOT_AUCTION_ONE_IN = 2
_HOT_PERSON_ONE_IN = 4
_HOT_STEP = 100
_AUCTIONS_IN_FLIGHT = 100
_ACTIVE_PERSONS = 1000
_SEED = 0xD1342543DE82EF95
_Numbers = NDArray[np.int64]


def events(start: int, end: int, *, events_per_s: float) -> pa.Table:
    """Return the events [start, end).

    Parameters
    ----------
    events_per_s
        Events per second of event time.
    """
    numbers = np.arange(start, end, dtype=np.int64)
    epoch, position = np.divmod(numbers, EPOCH)
    kind = np.select([position < PERSONS, position < PERSONS + AUCTIONS], [PERSON, AUCTION], BID)

    def draw(field: int, below: int | _Numbers) -> _Numbers:
        return (_mixed(numbers, field) % np.asarray(below, dtype=np.uint64)).astype(np.int64)

    at_us = np.rint((BEGINS_S + numbers / events_per_s) * 1e6).astype(np.int64)
    newest_person = epoch  # the first event of an epoch is a person
    newest_auction = epoch * AUCTIONS + np.clip(position - PERSONS, 0, AUCTIONS - 1)
    price = np.rint(100 * 10.0 ** (draw(1, 1_000_000) / 1_000_000 * 6)).astype(np.int64)
    reserve = price + np.rint(100 * 10.0 ** (draw(2, 1_000_000) / 1_000_000 * 6)).astype(np.int64)
    is_person, is_auction, is_bid = kind == PERSON, kind == AUCTION, kind == BID
    names = _chosen(FIRST_NAMES, draw(3, len(FIRST_NAMES))) + " " + _chosen(LAST_NAMES, draw(4, len(LAST_NAMES)))
    someone = FIRST_ID + _recent(
        newest_person, draw(5, _HOT_PERSON_ONE_IN) > 0, draw(6, _spread(newest_person, _ACTIVE_PERSONS))
    )
    something = FIRST_ID + _recent(
        newest_auction, draw(7, _HOT_AUCTION_ONE_IN) > 0, draw(8, _spread(newest_auction, _AUCTIONS_IN_FLIGHT))
    )
    own_id = FIRST_ID + np.where(is_person, newest_person, newest_auction)
    lasts_us = (1 + draw(9, 20)) * 1_000_000
    columns = {
        "number": pa.array(numbers),
        "kind": pa.array(kind.astype(np.int32)),
        "at": _times(at_us),
        "id": pa.array(own_id, mask=is_bid),
        "name": pa.array(
            np.where(is_person, names, "item " + own_id.astype(str).astype(object)), mask=is_bid, type=pa.string()
        ),
        "city": pa.array(_chosen(CITIES, draw(10, len(CITIES))), mask=~is_person, type=pa.string()),
        "state": pa.array(_chosen(STATES, draw(11, len(STATES))), mask=~is_person, type=pa.string()),
        "seller": pa.array(someone, mask=~is_auction),
        "category": pa.array((FIRST_CATEGORY + draw(12, CATEGORIES)).astype(np.int32), mask=~is_auction),
        "initial_bid": pa.array(price, mask=~is_auction),
        "reserve": pa.array(reserve, mask=~is_auction),
        "expires": _times(at_us + lasts_us, mask=~is_auction),
        "auction": pa.array(something, mask=~is_bid),
        "bidder": pa.array(someone, mask=~is_bid),
        "price": pa.array(price, mask=~is_bid),
        "channel": pa.array(_chosen(CHANNELS, draw(13, len(CHANNELS))), mask=~is_bid, type=pa.string()),
    }
    return pa.table(columns)


def _recent(newest: _Numbers, is_hot: NDArray[np.bool_], back: _Numbers) -> _Numbers:
    """Return a number up to the newest: the hot one (each hundredth), or a recent one."""
    return np.where(is_hot, newest // _HOT_STEP * _HOT_STEP, newest - back)


def _spread(newest: _Numbers, most: int) -> _Numbers:
    return np.minimum(newest + 1, most)


def _chosen(words: tuple[str, ...], index: _Numbers) -> NDArray[np.object_]:
    return np.array(words, dtype=object)[index]


def _times(at_us: _Numbers, mask: NDArray[np.bool_] | None = None) -> pa.Array:
    return pa.array(at_us, mask=mask).cast(pa.timestamp("us", tz="UTC"))


def _mixed(numbers: _Numbers, field: int) -> NDArray[np.uint64]:
    """Return a random number for each event and field: the finaliser of SplitMix64 (Steele, Lea, Flood, 2014)."""
    mixed = numbers.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    mixed += np.uint64((_SEED + field * 0xDA942042E4DD58B5) % 2**64)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))
