"""Mutations of tables and of other text: its words, its lines, the columns of its lines."""

import re
from random import Random

from fuzz.tree import MILD_SHARE
from fuzz.values import TEXTS, nasty_number, near_number, near_text

_WORD = re.compile(r"[^\s,;:=<>\"'(){}\[\]|/]+")
_MANY, _NUMBERED = 400, 150


def changed_text(text: str, donor: str, random: Random) -> str:
    """Return text with one thing changed.

    Parameters
    ----------
    text, donor
        What is changed, and another sample that may give a line.
    random
        Randomness.
    """
    if random.random() < MILD_SHARE:
        return _with_a_near_word(text, random)
    change = random.choice((_with_a_nasty_word, _with_a_nasty_word, _with_other_lines, _with_other_columns))
    return change(text, donor, random)


def _with_a_near_word(text: str, random: Random) -> str:
    words = list(_WORD.finditer(text))
    if not words:
        return text + "a"
    found = random.choice(words)
    number = _number(found[0])
    # Most words of a table are numbers; where it holds names too, they get their turn.
    names = [word for word in words if _number(word[0]) is None]
    if names and random.random() < 0.3:
        found, number = random.choice(names), None
    if number is None:
        near = near_text(found[0], random)
    else:
        near = (
            f"{near_number(number, random):.6g}"
            if isinstance(number, float)
            else str(near_number(number, random))
        )
    return text[: found.start()] + near + text[found.end() :]


def _with_a_nasty_word(text: str, donor: str, random: Random) -> str:
    words = list(_WORD.finditer(text))
    if not words:
        return donor
    found = random.choice(words)
    put = random.choice((str(nasty_number(random)), random.choice(TEXTS), random.choice(words)[0]))
    return text[: found.start()] + put + text[found.end() :]


def _with_other_lines(text: str, donor: str, random: Random) -> str:
    lines = text.splitlines(keepends=True)
    others = donor.splitlines(keepends=True)
    if not lines or not others:
        return text + donor
    at = random.randrange(len(lines))
    kind = random.choice(("drop", "double", "swap", "take", "repeat", "number", "cut off", "blank"))
    if kind == "drop":
        del lines[at]
    elif kind == "double":
        lines.insert(at, lines[at])
    elif kind == "swap":
        other = random.randrange(len(lines))
        lines[at], lines[other] = lines[other], lines[at]
    elif kind == "take":
        lines.insert(at, random.choice(others))
    elif kind == "repeat":
        lines[at:at] = [lines[at]] * random.choice((3, _MANY))
    elif kind == "number":
        lines[at:at] = [_numbered(lines[at], number) for number in range(random.choice((3, _NUMBERED)))]
    elif kind == "cut off":
        del lines[at + 1 :]
    else:
        lines.insert(at, random.choice(("\n", "#\n", " \n", "\t\n", "\0\n")))
    return "".join(lines)


def _with_other_columns(text: str, donor: str, random: Random) -> str:
    """Drop, double or swap columns of a table, in all lines or in one."""
    del donor
    lines = text.splitlines()
    separator = random.choice([each for each in (",", "\t", ";", " ") if each in text] or [","])
    columns = max((line.count(separator) for line in lines), default=0) + 1
    one, two = random.randrange(columns), random.randrange(columns)
    only = random.choice((None, None, random.randrange(len(lines) or 1)))
    kind = random.choice(("drop", "double", "swap", "put"))
    put = random.choice((str(nasty_number(random)), random.choice(TEXTS)))
    for number, line in enumerate(lines):
        cells = line.split(separator)
        if (only is not None and number != only) or max(one, two) >= len(cells):
            continue
        if kind == "drop":
            del cells[one]
        elif kind == "double":
            cells.insert(one, cells[two])
        elif kind == "swap":
            cells[one], cells[two] = cells[two], cells[one]
        else:
            cells[one] = put
        lines[number] = separator.join(cells)
    return "\n".join(lines) + "\n"


def _numbered(line: str, number: int) -> str:
    """Return a line with a number behind each of its names."""
    return _WORD.sub(lambda word: word[0] if _number(word[0]) is not None else f"{word[0]}{number}", line)


def _number(word: str) -> int | float | None:
    for kind in (int, float):
        try:
            return kind(word)
        except ValueError:
            continue
    return None
