"""Hypothesis strategies for nearly valid inputs, derived from samples."""

import gzip
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from copy import deepcopy
from functools import cache
from typing import Any

import yaml
from hypothesis import strategies as st

from fuzz.target import Form

PIECES = (
    b"\0", b"\xff", b"\xef\xbb\xbf", b"\n", b"\r\n", b"\r", b",", b";", b"\t", b" ", b'"', b"'", b"-", b"-1", b"0",
    b"1e999", b"1e-400", b"NaN", b"Infinity", b"9" * 400, b"9" * 5000, b"1_0", "٣".encode(), b"null", b"true", b"5 ms",
    b"rtt_ms", b"#", b"{", b"}", b"[", b"]", b"[" * 3000, b'{"a":' * 3000, b"<a>" * 3000, b"<!DOCTYPE g>", b"&amp;",
    b"&#0;", b"<!--", b"graph [", b"node [", b"edge [ source 0 target 1 ]", b"multigraph 1", b"directed 1", b"id 0",
    b'label "a"', b": [0], ", b"&a", b"*a", b"<<: 3", b"!!int ''", b"!!python/name:os.system", b"2001-99-99", b"? ",
    b"|", b"%", b"@", b"\\", b"\\u0000", b"\xed\xa0\x80", b"\x1f\x8b",
)  # fmt: skip
"""Rare or malicious pieces of input."""

_VALUES = (
    None, True, False, 0, -1, 1, 3, 255, 65_536, 2**31, 2**63, -(2**63) - 1, 10**30, 10**400, 0.5, -0.0, 5e-324, 1e15,
    1.5e308, float("inf"), float("nan"), "", " ", "a", "0", "-1", "1e999", "NaN", "null", "x" * 300, "z" * 70_000,
    "\0", "a\nb", "\x1b[31m", "\u202e", "\ufeff", "é", "１２", "\ud800", "%s%n{0}", "$(id)", "`id`", "'; --",
    "../..", "[/]", "fd00::1%eth0", "999.1.1.1", "1ms", "-5s", "99999999999999999999h", "9" * 400, "1_0",
    "2001-99-99", "9999-12-31T23:59:59Z", "http://[::1", "http://a:99999/", "file:///etc/hostname", "1e30Ei", "500m",
    [], {}, [0], [[]], {"a": 1}, {"": None},
)  # fmt: skip


@st.composite
def changed_bytes(draw: st.DrawFn, content: bytes) -> bytes:
    """Content with pieces cut out, doubled, flipped, moved or put in."""
    changed = bytearray(content)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, max(len(changed) - 1, 0)))
        end = at + draw(st.integers(0, 40))
        change = draw(st.sampled_from(("cut off", "cut out", "double", "flip", "put in", "move")))
        if change == "cut off":
            del changed[at:]
        elif change == "cut out":
            del changed[at:end]
        elif change == "double":
            changed[at:at] = changed[at:end]
        elif change == "flip" and changed:
            changed[at] ^= 1 << draw(st.integers(0, 7))
        elif change == "put in":
            changed[at:at] = draw(st.sampled_from(PIECES))
        elif change == "move":
            piece = changed[at:end]
            del changed[at:end]
            changed += piece
    return bytes(changed)


def mutants(samples: Sequence[bytes], form: Form) -> st.SearchStrategy[bytes]:
    """Inputs that differ from a sample in a few bytes, or in its structure where it has one."""
    sample = st.sampled_from(samples)
    if form is Form.GZIP:
        return sample.map(gzip.decompress).flatmap(changed_bytes).map(gzip.compress) | sample.flatmap(changed_bytes)
    by_bytes = sample.flatmap(changed_bytes)
    if form is Form.TEXT:
        return by_bytes
    return by_bytes | sample.flatmap(_STRUCTURES[form])


@st.composite
def _changed_tree(draw: st.DrawFn, tree: Any) -> Any:
    """A copy of a tree of lists and mappings with a few values replaced, taken out or put elsewhere."""
    tree = json.loads(json.dumps(tree, default=str))
    for _ in range(draw(st.integers(1, 3))):
        places = list(_places(tree))
        if not places:
            return draw(st.sampled_from(_VALUES))
        parent, key = draw(st.sampled_from(places))
        change = draw(st.sampled_from(("replace", "replace", "take out", "copy", "near")))
        with suppress(KeyError, IndexError):  # a change before this one took it out
            if change == "take out":
                del parent[key]
            elif change == "copy":
                other, its_key = draw(st.sampled_from(places))
                parent[key] = json.loads(json.dumps(other[its_key]))
            elif change == "near" and type(parent[key]) in (int, float):
                parent[key] += draw(st.integers(-2, 2))
            else:
                parent[key] = deepcopy(draw(st.sampled_from(_VALUES)))
    return tree


def _places(tree: Any) -> Iterator[tuple[Any, Any]]:
    if isinstance(tree, dict | list):
        for key in tree if isinstance(tree, dict) else range(len(tree)):
            yield tree, key
            yield from _places(tree[key])


def _as_json(tree: Any) -> bytes:
    return json.dumps(tree, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _json(sample: bytes) -> st.SearchStrategy[bytes]:
    return _changed_tree(json.loads(sample)).map(_as_json)


def _yaml(sample: bytes) -> st.SearchStrategy[bytes]:
    return _changed_tree(_loaded(sample)).map(_as_json)  # which is YAML, too


@cache
def _loaded(sample: bytes) -> Any:
    return yaml.load(sample, Loader=yaml.CSafeLoader)


@st.composite
def _json_lines(draw: st.DrawFn, sample: bytes) -> bytes:
    lines = sample.splitlines()
    at = draw(st.integers(0, len(lines) - 1))
    lines[at] = draw(_json(lines[at])).replace(b"\n", b" ")
    return b"\n".join(lines) + b"\n"


_STRUCTURES: dict[Form, Callable[[bytes], st.SearchStrategy[bytes]]] = {
    Form.JSON: _json,
    Form.JSON_LINES: _json_lines,
    Form.YAML: _yaml,
}
