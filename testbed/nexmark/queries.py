"""Four queries of Nexmark in Spark's DataFrame functions, for streams and batches.

They are the benchmark's queries 1, 3, 5 and 11: without state, a join, windows and sessions. Windows are shorter than
in the original, so that many close in a run of minutes.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gesscale.errors import InputError
from testbed.nexmark.events import AUCTION, BID, PERSON

WINDOW, SLIDE, GAP, LATE = "10 seconds", "2 seconds", "10 seconds", "2 seconds"
_DOLLAR_IN_EURO = 0.908
_LOCAL_STATES = ("OR", "ID", "CA")
_LOCAL_CATEGORY = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class NexmarkQuery:
    """One query."""

    #: Its number in the benchmark.
    name: str
    #: Returns the result for events; both are Spark frames, streaming or not.
    result: Callable[[Any], Any]
    #: Column with the end of a result row's window; empty if the query has no windows.
    closes: str = ""
    #: Number of times that Spark reads the events: once for each side of a join.
    reads: int = 1


def _bids(events: Any) -> Any:
    return events.where(f"kind = {BID}").select("number", "auction", "bidder", "price", "channel", "at")


def _prices_in_euro(events: Any) -> Any:
    from pyspark.sql import functions as f

    euro = (f.col("price") * _DOLLAR_IN_EURO).alias("price_euro")
    return _bids(events).select("number", "auction", "bidder", euro, "at")


def _local_sellers(events: Any) -> Any:
    from pyspark.sql import functions as f

    persons = events.where(f"kind = {PERSON}").select("id", "name", "city", "state", "at")
    sellers = persons.where(f.col("state").isin(*_LOCAL_STATES))
    auctions = events.where(f"kind = {AUCTION} AND category = {_LOCAL_CATEGORY}")
    offers = auctions.select(f.col("id").alias("auction"), "seller")
    return sellers.join(offers, sellers["id"] == offers["seller"]).select("name", "city", "state", "auction")


def _hot_auctions(events: Any) -> Any:
    from pyspark.sql import functions as f

    window = f.window("at", WINDOW, SLIDE)
    counts = _bids(events).withWatermark("at", LATE).groupBy(window, "auction").agg(f.count("*").alias("bids"))
    all_counts = f.collect_list(f.struct("auction", "bids"))
    by_window = counts.groupBy("window").agg(all_counts.alias("counts"))
    hottest = f.filter(
        "counts", lambda each: each["bids"] == f.array_max(f.transform("counts", lambda one: one["bids"]))
    )
    return by_window.select("window", f.explode(hottest).alias("hot")).select(
        f.col("window.start").alias("window_start"), f.col("window.end").alias("window_end"), "hot.auction", "hot.bids"
    )


def _sessions(events: Any) -> Any:
    from pyspark.sql import functions as f

    session = f.session_window("at", GAP)
    counts = _bids(events).withWatermark("at", LATE).groupBy(session, "bidder").agg(f.count("*").alias("bids"))
    return counts.select(
        "bidder",
        "bids",
        f.col("session_window.start").alias("session_start"),
        f.col("session_window.end").alias("session_end"),
    )


QUERIES = {
    query.name: query
    for query in (
        NexmarkQuery(name="q1", result=_prices_in_euro),
        NexmarkQuery(name="q3", result=_local_sellers, reads=2),
        NexmarkQuery(name="q5", result=_hot_auctions, closes="window_end"),
        NexmarkQuery(name="q11", result=_sessions, closes="session_end"),
    )
}


def nexmark_query(name: str) -> NexmarkQuery:
    """Return a query by its name.

    Raises
    ------
    InputError
        If there is no such query.
    """
    if name not in QUERIES:
        raise InputError("query-unknown", place="QUERY", got=name, known=tuple(QUERIES))
    return QUERIES[name]
