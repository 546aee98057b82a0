"""Mutations of what JSON and YAML say: a value among a tree of mappings and lists is changed, moved or dropped."""

import json
import math
from collections.abc import Iterator, Sequence
from copy import deepcopy
from random import Random
from typing import Any

import yaml

from fuzz.values import (
    JSON_LITERALS,
    TEXTS,
    YAML_LITERALS,
    nasty_number,
    near_number,
    near_text,
)

_MARK = "literal-{}-goes-here"
_DEEP = 60
_FEW, _MANY = 20, 150
MILD_SHARE = 0.6
"""So many changes are small ones, which a parser may well take."""

Place = tuple[Any, Any]
"""A mapping or list, and a key or index in it."""


class Tree:
    """A document under mutation.

    Parameters
    ----------
    document
        What the sample says; it is copied.
    donors
        What other samples say, for grafts.
    random
        Randomness.
    """

    def __init__(self, document: Any, donors: Sequence[Any], random: Random) -> None:
        self.root: dict[str, Any] = {"": deepcopy(document)}
        self._donors, self._random = donors, random
        self._literals: list[str] = []

    def change(self) -> None:
        """Change one thing."""
        holder, key = self._random.choice(list(places(self.root)))
        if self._random.random() < MILD_SHARE:
            self._change_a_little(holder, key)
        else:
            self._random.choice((
                self._put_nasty, self._put_nasty, self._put_nasty, self._put_literal, self._drop, self._double,
                self._rename, self._repeat, self._deepen, self._swap, self._graft, self._add,
            ))(holder, key)  # fmt: skip

    def json(self) -> str:
        """Return the document as JSON."""
        indent = self._random.choice((None, None, 1))
        return self._with_literals(json.dumps(self.root[""], indent=indent), '"{}"', JSON_LITERALS)

    def yaml(self) -> str:
        """Return the document as YAML."""
        form = {"sort_keys": False, "default_flow_style": self._random.choice((False, False, None))}
        try:
            text = yaml.dump(self.root[""], Dumper=yaml.CSafeDumper, allow_unicode=True, **form)
        except UnicodeEncodeError:  # half a surrogate pair, which only the slow one escapes
            text = yaml.safe_dump(self.root[""], **form)
        return self._with_literals(text, "{}", YAML_LITERALS)

    def _with_literals(self, text: str, quoted: str, literals: Sequence[str]) -> str:
        for mark in self._literals:
            text = text.replace(quoted.format(mark), self._random.choice(literals))
        return text

    def _change_a_little(self, holder: Any, key: Any) -> None:
        leaves = [place for place in places(self.root) if not isinstance(place[0][place[1]], dict | list)]
        numbers = [(at, index) for at, index in leaves if is_number(at[index])]
        kind = self._random.choice(("number", "number", "number", "near", "near", "donor", "order", "drop"))
        if kind == "number" and numbers:
            holder, key = self._random.choice(numbers)
            holder[key] = near_number(holder[key], self._random)
        elif kind == "donor":
            self._take_the_same_place()
        elif kind == "order":
            self._reorder(holder, key)
        elif kind == "drop" and leaves:
            self._drop(*self._random.choice(leaves))
        elif leaves:
            holder, key = self._random.choice(leaves)
            texts = [value for value in (at[index] for at, index in leaves) if isinstance(value, str)]
            holder[key] = self._near(holder[key], texts)

    def _near(self, value: Any, texts: Sequence[str]) -> Any:
        if isinstance(value, bool):
            return not value
        if is_number(value):
            return near_number(value, self._random)
        if isinstance(value, str):
            return self._random.choice(
                (near_text(value, self._random), near_text(value, self._random), self._random.choice(texts))
            )
        return value

    def _take_the_same_place(self) -> None:
        """Take over what another sample says at a place that both have."""
        mine, theirs = self.root, {"": self._random.choice(self._donors)}
        while True:
            if isinstance(mine, dict) and isinstance(theirs, dict):
                common: list[Any] = [key for key in mine if key in theirs]
            elif isinstance(mine, list) and isinstance(theirs, list):
                common = list(range(min(len(mine), len(theirs))))
            else:
                return
            if not common:
                return
            key = self._random.choice(common)
            if not isinstance(mine[key], dict | list) or self._random.random() < 0.3:
                mine[key] = deepcopy(theirs[key])
                return
            mine, theirs = mine[key], theirs[key]

    def _reorder(self, holder: Any, key: Any) -> None:
        value = holder[key]
        if isinstance(value, list):
            self._random.shuffle(value)
        elif isinstance(value, dict):
            items = list(value.items())
            self._random.shuffle(items)
            value.clear()
            value.update(items)

    def _put_nasty(self, holder: Any, key: Any) -> None:
        kind = self._random.choice(("number", "number", "text", "text", "other"))
        value = holder[key]
        if self._random.random() < 0.5 and isinstance(value, int | float | str):
            kind = "text" if isinstance(value, str) else "number"
        if kind == "number":
            holder[key] = nasty_number(self._random)
        elif kind == "text":
            holder[key] = self._random.choice(TEXTS)
        else:
            holder[key] = self._random.choice(
                (None, True, False, [], {}, [[]], [None], {"": ""}, [{}], {"a": {"a": []}})
            )

    def _put_literal(self, holder: Any, key: Any) -> None:
        self._literals.append(_MARK.format(len(self._literals)))
        holder[key] = self._literals[-1]

    def _drop(self, holder: Any, key: Any) -> None:
        del holder[key]
        self.root.setdefault("", None)

    def _double(self, holder: Any, key: Any) -> None:
        if isinstance(holder, list):
            holder.insert(key, deepcopy(holder[key]))
        else:
            holder[f"{key}{self._random.choice(('', '2', ' '))}"] = deepcopy(holder[key])

    def _rename(self, holder: Any, key: Any) -> None:
        if isinstance(holder, dict) and holder is not self.root:
            named = {
                (near_text(str(old), self._random) if old == key else old): value
                for old, value in holder.items()
            }
            holder.clear()
            holder.update(named)

    def _repeat(self, holder: Any, key: Any) -> None:
        """Repeat a list, a text, or an item many times, each time as it is or under other names."""
        value, many = holder[key], self._random.choice((_FEW, _MANY))
        if isinstance(value, str):
            holder[key] = (value * many)[:100_000]
        elif isinstance(value, list) and value:
            item = self._random.choice(value)
            value += [numbered(item, number) if many == _MANY else deepcopy(item) for number in range(many)]
        elif isinstance(value, dict) and value:
            name = self._random.choice(list(value))
            value.update({f"{name}{number}": numbered(value[name], number) for number in range(many)})

    def _deepen(self, holder: Any, key: Any) -> None:
        for _ in range(self._random.choice((1, _DEEP))):
            holder[key] = [holder[key]] if self._random.random() < 0.5 else {"a": holder[key]}

    def _swap(self, holder: Any, key: Any) -> None:
        other, at = self._random.choice(list(places(self.root)))
        mine, theirs = deepcopy(holder[key]), deepcopy(other[at])
        holder[key] = theirs
        if at in other if isinstance(other, dict) else at < len(other):
            other[at] = mine

    def _graft(self, holder: Any, key: Any) -> None:
        donor = self._random.choice(self._donors)
        other, at = self._random.choice(list(places({"": donor})))
        holder[key] = deepcopy(other[at])

    def _add(self, holder: Any, key: Any) -> None:
        donor = self._random.choice(self._donors)
        other, at = self._random.choice(list(places({"": donor})))
        if isinstance(holder[key], dict):
            holder[key][str(at)] = deepcopy(other[at])
        elif isinstance(holder[key], list):
            holder[key].append(deepcopy(other[at]))
        else:
            holder[key] = None


def places(tree: Any) -> Iterator[Place]:
    """Yield every place in a tree, the outer ones first."""
    waiting = [tree]
    while waiting:
        holder = waiting.pop()
        for key in list(holder) if isinstance(holder, dict) else range(len(holder)):
            yield holder, key
            if isinstance(holder[key], dict | list):
                waiting.append(holder[key])


def numbered(value: Any, number: int) -> Any:
    """Return a value with a number behind each text in it."""
    if isinstance(value, dict):
        return {key: numbered(item, number) for key, item in value.items()}
    if isinstance(value, list):
        return [numbered(item, number) for item in value]
    return f"{value}{number}" if isinstance(value, str) else value


def is_number(value: Any) -> bool:
    """Return whether a value is a number; no truth value is."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def plain(value: Any) -> Any:
    """Return a value without what JSON and safe YAML cannot write: tuples, dates, infinite keys."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
