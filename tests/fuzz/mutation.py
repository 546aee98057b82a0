"""Mutants of valid samples; the same randomness gives the same mutant."""

import gzip
import json
from collections.abc import Sequence
from functools import cache
from random import Random
from typing import Any

import yaml

from fuzz.database import changed_database
from fuzz.target import Form
from fuzz.text import changed_text
from fuzz.tree import Tree, plain
from fuzz.values import BYTES

BYTES_SHARE = 0.2
"""So many mutants are made of a sample's bytes, the others of its structure."""

_LONGEST = 1 << 20


def mutant(samples: Sequence[bytes], form: Form, random: Random) -> bytes:
    """Return an input that is nearly a sample.

    Parameters
    ----------
    samples
        Valid inputs, at least one.
    form
        How their structure is taken apart.
    random
        Randomness.

    Returns
    -------
    bytes
        At most 1 MiB.
    """
    sample, donor = random.choice(samples), random.choice(samples)
    changes = random.choice((1, 1, 1, 1, 2, 3))
    if random.random() < BYTES_SHARE:
        for _ in range(changes):
            sample = changed_bytes(sample, donor, random)
    else:
        sample = _STRUCTURES[form](sample, donor, random, changes)
    return sample[:_LONGEST]


def changed_bytes(content: bytes, donor: bytes, random: Random) -> bytes:
    """Return content with a few bytes flipped, put in, cut out, doubled, moved, or taken from another sample."""
    changed = bytearray(content)
    at = random.randrange(len(changed) + 1)
    end = at + random.choice((1, 2, 8, 40, 400))
    kind = random.choice(
        ("flip", "flip", "put in", "put in", "cut out", "double", "move", "splice", "cut off")
    )
    if kind == "flip" and at < len(changed):
        changed[at] ^= 1 << random.randrange(8)
    elif kind == "put in":
        changed[at:at] = random.choice(BYTES)
    elif kind == "cut out":
        del changed[at:end]
    elif kind == "double":
        changed[at:at] = changed[at:end] * random.choice((1, 1, 200))
    elif kind == "move":
        piece = changed[at:end]
        del changed[at:end]
        changed += piece
    elif kind == "splice":
        changed[at:] = donor[random.randrange(len(donor) + 1) :]
    elif kind == "cut off":
        del changed[at:]
    return bytes(changed)


def _json(sample: bytes, donor: bytes, random: Random, changes: int) -> bytes:
    tree = Tree(json.loads(sample), [json.loads(donor)], random)
    for _ in range(changes):
        tree.change()
    return _encoded(tree.json())


def _json_lines(sample: bytes, donor: bytes, random: Random, changes: int) -> bytes:
    lines, others = sample.splitlines(), donor.splitlines()
    for at in random.sample(range(len(lines)), min(changes, len(lines))):
        lines[at] = _json(lines[at], random.choice(others), random, 1).replace(b"\n", b" ")
    content = b"\n".join(lines) + b"\n"
    return content if random.random() < 0.8 else _text(content, donor, random, 1)


def _yaml(sample: bytes, donor: bytes, random: Random, changes: int) -> bytes:
    tree = Tree(_loaded(sample), [_loaded(donor)], random)
    for _ in range(changes):
        tree.change()
    return _encoded(tree.yaml())


def _text(sample: bytes, donor: bytes, random: Random, changes: int) -> bytes:
    text = _decoded(sample)
    for _ in range(changes):
        text = changed_text(text, _decoded(donor), random)
    return _encoded(text)


def _gzip(sample: bytes, donor: bytes, random: Random, changes: int) -> bytes:
    inner = _text(gzip.decompress(sample), gzip.decompress(donor), random, changes)
    if random.random() < 0.01:
        inner += random.choice((b" ", b"\n", b"0 ", b"\0")) * (random.choice((1, 100)) << 20)
    return gzip.compress(inner, mtime=0)


def _database(sample: bytes, donor: bytes, random: Random, changes: int) -> bytes:
    del donor
    return changed_database(sample, random, changes)


@cache
def _loaded(sample: bytes) -> Any:
    return plain(yaml.load(sample, Loader=yaml.CSafeLoader))


_STRUCTURES = {
    Form.JSON: _json,
    Form.JSON_LINES: _json_lines,
    Form.YAML: _yaml,
    Form.TEXT: _text,
    Form.GZIP: _gzip,
    Form.SQLITE: _database,
}


def _decoded(content: bytes) -> str:
    return content.decode("utf-8", "surrogateescape")


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
