"""JSON that is read piece by piece: what it holds, and what is said of it where it is broken."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from latency_map import LatencyMapError, MapLimits
from latency_map.formats.json_text import JsonReader

LIMITS = MapLimits(nodes=1)
LONG = LIMITS.piece_characters

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=20,
)


def reader(text, size=7):
    return JsonReader([text[at : at + size] for at in range(0, len(text), size)], "x", LIMITS)


def whole(content):
    """Go through all of a text, to its end."""
    gone_through(content)
    content.end()


def gone_through(content):
    """Rebuild what a reader holds without taking anything but leaves."""
    begins = content.begins()
    if begins == "{":
        return {key: gone_through(content) for key in content.members()}
    if begins == "[":
        return [gone_through(content) for _ in content.items()]
    return content.value()


@given(values, st.integers(1, 40), st.sampled_from([None, 1]))
def test_whatever_the_pieces_the_same_is_read(value, size, indent):
    text = json.dumps(value, indent=indent)
    for read in (JsonReader.last_value, gone_through):
        assert read(reader(text, size)) == value
    content = reader(f"[{text},5]", size)
    read = [content.skip() if position == 0 else content.value() for position in content.items()]
    content.end()
    assert read == [None, 5]


@given(values, st.data())
def test_a_text_that_is_cut_off_is_refused(value, data):
    text = json.dumps([value])
    cut = text[: data.draw(st.integers(0, len(text) - 1))]
    for read in (JsonReader.last_value, gone_through, JsonReader.skip):
        with pytest.raises(LatencyMapError, match=r"^x: expected JSON, got: "):
            read(reader(cut))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"a": 1, "a": 2}', "the key 'a' twice in one object: line 1 column 13"),
        ('{"a": [\n{"b": 1, "b": 2}]}', "the key 'b' twice in one object: line 2 column 13"),
        ("[1,\n 2,\n x]", "Expecting value: line 3 column 2"),
        ("[1,\n 2\n 3]", "Expecting ',' or ']': line 3 column 2"),
        ('{"a" 1}', "Expecting ':': line 1 column 6"),
        ("{1: 2}", "Expecting a key in double quotes: line 1 column 2"),
        ("[1] 2", "Extra data: line 1 column 5"),
        ("[NaN]", "NaN where a number or null is expected: line 1 column 2"),
        ("\n" * 100_000 + "[x]", "Expecting value: line 100001 column 2"),
    ],
)
def test_broken_json_is_refused_with_its_place(text, problem):
    for size in (1, 50_000):
        with pytest.raises(LatencyMapError) as caught:
            whole(reader(text, size))
        assert str(caught.value).startswith(f"x: expected JSON, got: {problem}")


@pytest.mark.parametrize("piece", ['"{}"', "[{}]", '{{"a": "{}"}}'])
def test_no_piece_may_be_long_but_any_text_may(piece):
    fill = "1" * (LONG - 20) if '"' in piece else "1," * (LONG // 2 - 20) + "1"
    assert reader(f"[{piece.format(fill)}]", 4096).value is not None
    many = reader("[" + ",".join([piece.format(fill)] * 5) + "]", 4096)
    assert sum(many.value() is not None for _ in many.items()) == 5
    for text in (piece.format(fill * 2), piece.format(fill * 9)):
        with pytest.raises(
            LatencyMapError, match=f"^x: expected at most {LONG} characters in a piece of JSON"
        ):
            reader(text, 4096).value()


def test_nesting_has_an_end_for_what_is_taken_and_what_is_passed():
    for read in (JsonReader.value, JsonReader.skip):
        for opening in ("[", '{"a":'):
            with pytest.raises(LatencyMapError, match=r"got: nesting of thousands of levels: line 1 column "):
                read(reader(opening * 200_000, 4096))


def test_an_object_may_not_have_keys_without_an_end():
    text = "{" + ",".join(f'"{key}": 0' for key in range(500)) + "}"
    with pytest.raises(LatencyMapError, match=r"^x: expected at most 101 keys in an object"):
        whole(reader(text))
