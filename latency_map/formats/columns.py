"""The columns of a list of delays, found by their labels.

A table has labels in its heading, a list in JSON has the keys of its objects, a graph those of its edges. Where two
labels fit, both are refused until an option names the one to use. Columns of loss, counts, status, unit, direction and
time are used, so that no delay contradicts the rest of its row.
"""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from latency_map.errors import LatencyMapError
from latency_map.formats.source import ImportOptions
from latency_map.kinds import DelayKind, DelayUnit


def word_set(words: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(words.split())


_NAMES_OF_UNITS = {
    DelayUnit.NS: "ns nsec nsecs nanos nanosec nanosecond nanoseconds",
    DelayUnit.US: "us usec usecs micros microsec microsecond microseconds µs μs µsec",
    DelayUnit.MS: "ms msec msecs millis millisec millisecs millisecond milliseconds",
    DelayUnit.S: "s sec secs second seconds",
}
UNITS = {name: unit for unit, names in _NAMES_OF_UNITS.items() for name in names.split()}
ROUND_TRIP, ONE_WAY = word_set("rtt rtts roundtrip"), word_set("owd oneway")
_DELAY = ROUND_TRIP | ONE_WAY | word_set("latency latencies delay delays ping pings response lag")
_CENTRAL = word_set("avg average mean median med p50")
_OTHER_STATISTIC = re.compile(
    r"p\d+|min|minimum|max|maximum|best|worst|wrst|std\w*|sd|m?dev|deviation|var|variance|jitter|last|first"
)
_FILL = word_set("in of the value network net tcp icmp udp link path measured observed time times packet")
_ELAPSED = word_set("time times elapsed duration")
_LAST_RESORT = word_set("value weight")
_OTHER_FIGURE = word_set("bandwidth throughput capacity speed mbps gbps kbps bps hops distance km total sum")

_ENDS: Sequence[tuple[frozenset[str], frozenset[str]]] = (
    (word_set("from source src origin"), word_set("to target tgt destination dest dst")),
    (
        word_set("client sender sending probe prober local pinger agent monitor vantage initiator"),
        word_set("server receiver receiving remote peer responder"),
    ),
)
_LETTERS = (*zip("aiu01", "bjv12", strict=True), ("row", "col"), ("row", "column"), ("left", "right"))
_OF_LETTERS = {each for pair in _LETTERS for each in pair}
_ADDRESS = word_set("ip ipv4 ipv6 addr address id uuid")
#: Words in which labels of the same nodes may differ.
_SAME = _ADDRESS | word_set("exported name host hostname node")
#: Words that may occur with those of an end.
_OF_END = _SAME | _ENDS[1][0] | _ENDS[1][1] | word_set("nodes city region site zone az location dc datacenter vertex")
_OF_END |= word_set("pod router switch device machine point endpoint end label instance cluster var")

#: Words of a share of lost probes, or of others with one of the words for a share.
LOSS = word_set("loss losses lost packetloss ploss dropped drop drops timeouts verlust verloren perte perdida")
PERCENT, RATIO = word_set("% pct percent percentage"), word_set("ratio fraction share")
SHARE = PERCENT | RATIO | {"rate"}
BAD = word_set("timeout timedout failed failure failures fail err error errors errno down dead unreachable")
STATUS = word_set("status state outcome result health verdict")
_GOOD = word_set("reply success successful succeeded ok reachable alive up online available valid healthy connected")
_OF_SHARE = BAD | word_set("success availability received delivery delivered")
_COUNTED = word_set("packet packets probe probes pkt pkts count ping pings icmp total number of replies avg rate is")
_OF_STATUS = word_set("is was probe ping icmp test check connection request return link node host measurement last")
_TIME = _ELAPSED | word_set("timestamp timestamps datetime date ts epoch when at unixtime day measured created updated")
_TIME |= word_set("offset uptime seen generated collected recorded observed sampled started ended start end begin")
_OF_TIME = word_set(
    "window utc gmt unix iso measurement query probe ping sample test check run event local server last"
)
_UNIT = word_set("unit units uom")
#: Words of columns with facts on the delay: some of the first, and others among the second only.
_FACTS: Mapping[str, tuple[frozenset[str], frozenset[str]]] = {
    "units": (_UNIT, _DELAY | _FILL),
    "losses": (LOSS, _COUNTED | SHARE),
    "shares": (_OF_SHARE, _COUNTED | SHARE),
    "statuses": (_GOOD | BAD | STATUS, _OF_STATUS),
    "sent": (word_set("sent snt transmitted xmt tx total"), _COUNTED),
    "received": (word_set("received recv rcv rcvd rx replies responses samples sample count nobs"), _COUNTED | {"num"}),
    "times": (_TIME, _OF_TIME | UNITS.keys()),
}
#: Words of columns that may contradict a delay, where they are none of these.
_DOUBTFUL = LOSS | STATUS | _UNIT | (BAD - {"down"}) | word_set("success exit rc returncode kind direction way")
_DOUBTFUL |= word_set("availability hop metric measure statistic stat variable quantile percentile")

_WORD = re.compile(r"p\d+|[^\W\d_]+|\d+|%")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_JOINED = {
    ("round", "trip"): "roundtrip",
    ("one", "way"): "oneway",
    ("1", "way"): "oneway",
    ("timed", "out"): "timedout",
}


def words_of(label: str) -> list[str]:
    """Return the words of a label in lower case, with "round trip" and "one way" joined."""
    words = _WORD.findall(_CAMEL.sub(" ", label[:100]).lower())
    for at in range(len(words) - 2, -1, -1):
        if (joined := _JOINED.get((words[at], words[at + 1]))) is not None:
            words[at : at + 2] = [joined]
    return words


def parse_label(label: str) -> tuple[DelayUnit | None, DelayKind | None]:
    """Return the unit and the direction in a label of a delay; None for each that is missing."""
    words = set(words_of(label))
    units = {UNITS[word] for word in words if word in UNITS}
    kind = DelayKind.RTT if words & ROUND_TRIP else DelayKind.ONE_WAY if words & ONE_WAY else None
    return (units.pop() if len(units) == 1 else None), kind


def rank_of(label: str) -> str:
    """Return what a label is of: delay, other (another statistic), elapsed, last (resort); "" if it is of no delay."""
    words = set(words_of(label))
    other = {word for word in words if _OTHER_STATISTIC.fullmatch(word)} - _CENTRAL
    known = _DELAY | _CENTRAL | UNITS.keys() | _FILL | _ELAPSED | _LAST_RESORT | other
    if "lat" in words and words & UNITS.keys():
        words = words - {"lat"} | {"latency"}
    if not words or not words <= known:
        return ""
    if other:
        return "other"
    if words & (_DELAY | _CENTRAL):
        return "delay"
    if words & UNITS.keys():
        return "elapsed" if words & _ELAPSED or words == {"s"} else "delay"
    return "last" if words <= _LAST_RESORT else ""


def is_other_figure(label: str) -> bool:
    """Return whether a label is that of another figure than a delay, such as a percentile, a loss or a bandwidth."""
    return rank_of(label) == "other" or bool(set(words_of(label)) & (LOSS | _OTHER_FIGURE))


def is_delay_label(label: str) -> bool:
    """Return whether a label is that of a delay and has no word with another meaning; a unit alone may be a region."""
    return rank_of(label) in ("delay", "elapsed") and not UNITS.keys() >= set(words_of(label))


class Columns(NamedTuple):
    """Positions of the columns of a list, from 0; none for those that it does not have."""

    source: int
    target: int
    delay: int
    units: tuple[int, ...] = ()
    #: Losses and statuses, each of which may state that all probes were lost.
    losses: tuple[int, ...] = ()
    sent: tuple[int, ...] = ()
    received: tuple[int, ...] = ()
    times: tuple[int, ...] = ()


def has_columns(labels: Sequence[str]) -> bool:
    """Return whether labels are those of the two ends of a pair, once or more often."""
    return bool(_pairs_of_ends([words_of(label) for label in labels]))


def find_columns(file: str, labels: Sequence[str], options: ImportOptions) -> Columns:
    """Return the columns of a list of pairs, by labels or as the options name them.

    Raises
    ------
    LatencyMapError
        A column is missing, or several fit.
    """
    source, target = _find_ends(file, labels, options)
    rest = [at for at in range(len(labels)) if at not in (source, target)]
    delay = _find_delay(file, labels, rest, options.delay_column)
    words = {at: frozenset(words_of(labels[at])) for at in rest if at != delay}
    found = {
        fact: tuple(at for at, each in words.items() if each & kinds and each <= kinds | others)
        for fact, (kinds, others) in _FACTS.items()
    }
    lost = found["losses"] + tuple(at for at in found.pop("shares") if words[at] & SHARE) + found.pop("statuses")
    unit = _named(file, labels, options.unit_column, "--unit-column")
    found["units"] = found["units"] if unit is None else (unit,)
    if len(found["units"]) > 1:
        raise _ambiguous(file, labels, found["units"], "--unit-column")
    return Columns(source, target, delay, **found | {"losses": lost})


def unused_columns(file: str, labels: Sequence[str], columns: Columns) -> tuple[int, ...]:
    """Return the columns that are not used; raise LatencyMapError if one may contradict a delay."""
    used = {at for each in columns for at in (each if isinstance(each, tuple) else (each,))}
    unused = tuple(at for at in range(len(labels)) if at not in used)
    if doubtful := [labels[at] for at in unused if not rank_of(labels[at]) and _DOUBTFUL & set(words_of(labels[at]))]:
        raise LatencyMapError("map-column-doubtful", source=file, found=doubtful)
    return unused


def _find_ends(file: str, labels: Sequence[str], options: ImportOptions) -> tuple[int, int]:
    """Return the columns of the two ends of a pair."""
    source = _named(file, labels, options.from_column, "--from")
    target = _named(file, labels, options.to_column, "--to-node")
    words = [words_of(label) for label in labels]
    pairs = [(a, b) for a, b in _pairs_of_ends(words) if source in (None, a) and target in (None, b)]
    if source is not None and target is not None:
        pairs = [(source, target)]
    if len({tuple(frozenset(words[at]) - _SAME for at in pair) for pair in pairs}) == 1:  # labels of the same nodes
        best = max(_preference(words, pair) for pair in pairs)
        pairs = [pair for pair in pairs if _preference(words, pair) == best]
    if len(pairs) != 1:
        found = [f"{labels[a]} and {labels[b]}" for a, b in pairs]
        code = "map-columns-ambiguous" if found else "map-column-missing"
        option = "--from and --to-node"
        raise LatencyMapError(code, source=file, wanted="ends of a pair", found=found or list(labels), option=option)
    return pairs[0]


def _pairs_of_ends(labels: Sequence[Sequence[str]]) -> list[tuple[int, int]]:
    """Return the pairs of columns that may be the two ends, by the words of their labels."""
    ends: list[list[int]] = [[], []]
    for at, words in enumerate(labels):
        for sides in _ENDS:
            found = [side for side, kinds in enumerate(sides) for word in words if word in kinds]
            if len(found) == 1 and set(words) - sides[0] - sides[1] <= _OF_END:
                ends[found[0]].append(at)
            if found:
                break
    lettered = [(at, words) for at, words in enumerate(labels) if words and words[-1] in _OF_LETTERS]
    last = [(at, words[:-1], words[-1]) for at, words in lettered if _OF_END.issuperset(words[:-1])]
    return [(a, b) for a in ends[0] for b in ends[1]] + [
        (a, b)
        for a, stem, x in last
        for b, other, y in last
        if (x, y) in _LETTERS and stem == other and (stem or not x.isdigit())
    ]


def _preference(words: Sequence[Sequence[str]], pair: tuple[int, int]) -> tuple[int, int]:
    """Rank columns of the same nodes: those that Prometheus renamed since others clash first, addresses last."""
    labels = [set(words[at]) for at in pair]
    return sum("exported" in each for each in labels), -sum(bool(each & _ADDRESS) for each in labels)


def _find_delay(file: str, labels: Sequence[str], rest: Sequence[int], chosen: str | None) -> int:
    """Return the column of the delay, an elapsed time only if no label is that of a delay."""
    named = _named(file, labels, chosen, "--delay")
    if named is not None:
        return named
    ranks = {at: rank_of(labels[at]) for at in rest}
    for rank in ("delay", "other", "elapsed", "last"):
        found = [at for at, each in ranks.items() if each == rank]
        if len(found) > 1 or (found and rank == "other"):  # the least or a percentile only if the caller chooses it
            raise _ambiguous(file, labels, found, "--delay")
        if found:
            return found[0]
    raise LatencyMapError("map-column-missing", source=file, wanted="a delay", found=list(labels), option="--delay")


def _ambiguous(file: str, labels: Sequence[str], found: Sequence[int], option: str) -> LatencyMapError:
    wanted = "a unit" if option == "--unit-column" else "a delay"
    fields = {"wanted": wanted, "found": [labels[at] for at in found], "option": option}
    return LatencyMapError("map-columns-ambiguous", source=file, **fields)


def _named(file: str, labels: Sequence[str], name: str | None, option: str) -> int | None:
    """Return the column that an option names; None if it names none."""
    if name is None:
        return None
    exact = [at for at, label in enumerate(labels) if label == name]
    found = exact or [at for at, label in enumerate(labels) if label.lower() == name.strip().lower()]
    if len(found) != 1:
        raise LatencyMapError("map-column-unknown", source=file, option=option, name=name, found=list(labels))
    return found[0]
