"""Unit and direction of delays, parsed from labels such as ``rtt_ms`` or ``latency (us)``."""

import re
from collections.abc import Sequence

from latency_map.kinds import DelayKind, DelayUnit

_UNITS = {
    **dict.fromkeys(("us", "usec", "micros", "microseconds", "µs", "μs"), DelayUnit.US),
    **dict.fromkeys(("ms", "msec", "millis", "milliseconds"), DelayUnit.MS),
    **dict.fromkeys(("s", "sec", "secs", "seconds"), DelayUnit.S),
}
_ROUND_TRIP = {"rtt", "roundtrip", "rtts"}
_ONE_WAY = {"oneway", "owd"}
_DELAY = {"latency", "delay", "ping"}
_OTHER = {"avg", "average", "mean", "median", "p50", "min", "max", "value", "time", "in"}
_JOINED = (("round trip", "roundtrip"), ("one way", "oneway"))
_WORD = re.compile(r"[a-zµμ]+[0-9]*")
_MAX_CHARACTERS = 60
_PAIRS = (
    ("from", "to"),
    ("source", "target"),
    ("source", "destination"),
    ("src", "dst"),
    ("origin", "destination"),
    ("a", "b"),
    ("i", "j"),
    ("u", "v"),
)
_DELAY_STRING = re.compile(r"\s*([0-9.eE+-]{1,40})\s*([a-zµμ]{1,12})\s*", re.IGNORECASE)


def words_of(label: str) -> tuple[str, ...]:
    """Return the words of a label in lower case, "round trip" and "one way" joined; empty for a long label."""
    if len(label) > _MAX_CHARACTERS:
        return ()
    plain = re.sub(r"[\s_()\[\]./-]+", " ", label.lower()).strip()
    for apart, joined in _JOINED:
        plain = plain.replace(apart, joined)
    words = plain.split(" ")
    return tuple(words) if all(_WORD.fullmatch(word) for word in words) else ()


def is_delay_label(label: str) -> bool:
    """Return whether a label is that of a delay and has no word with another meaning."""
    words = set(words_of(label))
    if not words <= _UNITS.keys() | _ROUND_TRIP | _ONE_WAY | _DELAY | _OTHER:
        return False
    # a time without a unit may be a time of day
    return bool(words & (_ROUND_TRIP | _ONE_WAY | _DELAY)) or ("time" in words and bool(words & _UNITS.keys()))


def parse_label(label: str) -> tuple[DelayUnit | None, DelayKind | None]:
    """Return the unit and the direction in a label of a delay; None for each that is missing."""
    if not is_delay_label(label):
        return None, None
    words = words_of(label)
    units = {_UNITS[word] for word in words if word in _UNITS}
    kind = None
    if _ROUND_TRIP & set(words):
        kind = DelayKind.RTT
    elif _ONE_WAY & set(words):
        kind = DelayKind.ONE_WAY
    return (units.pop() if len(units) == 1 else None), kind


def pair_columns(labels: Sequence[str]) -> tuple[int, int] | None:
    """Return the columns of the two ends of a pair in a heading, such as ``source`` and ``destination``."""
    lowered = [label.lower() for label in labels]
    for a, b in _PAIRS:
        if a in lowered and b in lowered:
            return lowered.index(a), lowered.index(b)
    return None


def split_unit(text: str) -> tuple[float, DelayUnit] | None:
    """Parse a delay with its unit, such as ``50 ms``."""
    match = _DELAY_STRING.fullmatch(text)
    if match is None or match[2].lower() not in _UNITS:
        return None
    try:
        return float(match[1]), _UNITS[match[2].lower()]
    except ValueError:
        return None
