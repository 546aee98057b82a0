"""Nasty values: those that a parser meets once in a lifetime, and those that somebody sends on purpose."""

import re
from random import Random

_FIGURE = re.compile(r"[0-9]{1,9}")

NUMBERS = (
    0, -1, 1, 2, 3, 255, 65_536, 2**31, 2**53 + 1, 2**63 - 1, 2**63, 2**64, -(2**63) - 1, 10**30, 10**400,
    0.5, -0.0, 1e-9, 5e-324, 1e15, 1e18, 1.5e308, -1.5e308, float("inf"), float("-inf"), float("nan"),
)  # fmt: skip
TEXTS = (
    "", " ", "a", "A b", "0", "-1", "1e999", "NaN", "inf", "null", "true", "x" * 64, "y" * 300, "z" * 70_000,
    "\0", "\n", "a\nb", "\x1b[31m", "\u202e", "\ufeff", "é", "１２", "\ud800", "%s%n{0}", "$(id)", "`id`", "'; --",
    "..", "../..", "/", "[red]", "[/]", "[", "fd00::1%eth0", "fd00::1%$(id)", "::", "10.0.0.0/8", "999.1.1.1",
    "1ms", "0s", "-5s", "1h30m", "99999999999999999999h", "9" * 400, "1_0", "0x10", "1e400", "2001-99-99",
    "2026-02-30T00:00:00Z", "9999-12-31T23:59:59Z", "0001-01-01T00:00:00+14:00", "http://[::1", "http://a:99999/",
    "http://%zz", "file:///etc/hostname", "1Gi", "1e30Ei", "500m",
)  # fmt: skip
BYTES = (
    b"\0", b"\xff", b"\xef\xbb\xbf", b"\n", b"\r\n", b"\r", b",", b";", b"\t", b" ", b'"', b"'", b"-", b"-1", b"0",
    b"1e999", b"1e-400", b"NaN", b"Infinity", b"9" * 400, b"9" * 5000, b"1_0", "٣".encode(), b"null", b"true", b"#",
    b"{", b"}", b"[", b"]", b"[" * 3000, b'{"a":' * 3000, b"<a>" * 3000, b"<!DOCTYPE g>", b"&#0;", b"&a", b"*a", b"!!",
    b": ", b"? ", b"|", b">", b"%", b"@", b"\\", b"\\u0000", b"\xed\xa0\x80", b"\x1f\x8b",
)  # fmt: skip
JSON_LITERALS = (
    "1e999", "-1e999", "-0", "9" * 5000, "NaN", "Infinity", "1.0E+2", '{"a": 1, "a": 2}', '"\\ud800"', '"\\u0000"',
    "[" * 400 + "]" * 400, "[" * 3000 + "]" * 3000, '{"a":' * 500 + "0" + "}" * 500, "1e-999", "123456789" * 30,
)  # fmt: skip


def alias_bomb(levels: int = 9) -> str:
    """Return YAML of a few hundred bytes that stands for 9**levels items."""
    anchors = [f"&a0 [{', '.join(['lol'] * 9)}]"]
    anchors += [f"&a{level} [{', '.join([f'*a{level - 1}'] * 9)}]" for level in range(1, levels)]
    return f"[{', '.join(anchors)}]"


YAML_LITERALS = (
    "2001-99-99", "2001-01-01", "2001-01-01 00:00:00", "!!int ''", "!!int x", "!!float x", "!!timestamp x", "!!bool x",
    "!!binary x", "!!binary 'é'", "!!set {a, b}", "!!omap [a]", "!!pairs [a]", "!!python/name:os.system", "!local x",
    "&a [*a]", "&a {b: *a}", "*nowhere", ".inf", "-.inf", ".nan", "0x", "0o9", "1_0", "1:90:00", "190:20:30.15", "09",
    "{a: 1, a: 2}", "{[a]: 1}", "{{}: 1}", "? a", "{<<: 3}", "{<<: [1]}", "[" * 400 + "]" * 400, "[" * 3000,
    "[" * 3000 + "]" * 3000, "{a: " * 500 + "}" * 500, "9" * 5000, "~", "yes", "on", "=", "'", "\"\\x", "|\n  a", "%",
    alias_bomb(3), alias_bomb(),
)  # fmt: skip


def nasty_number(random: Random) -> int | float:
    """Draw a number that is seldom meant."""
    return random.choice(NUMBERS)


def near_number(number: float, random: Random) -> int | float:
    """Draw a number of the same type not far off: most parsers take it."""
    if isinstance(number, int):
        return number + random.randint(-2, 2)
    if not abs(number) < 1e300:
        return number
    return random.choice(
        (number * random.uniform(0.5, 2.0), number + random.uniform(-1, 1), float(round(number)))
    )


def near_text(text: str, random: Random) -> str:
    """Draw a text not far off: another figure in it, a letter more or less."""
    figures = list(_FIGURE.finditer(text))
    if figures and random.random() < 0.6:
        found = random.choice(figures)
        return f"{text[: found.start()]}{abs(near_number(int(found[0]), random))}{text[found.end() :]}"
    at = random.randrange(len(text) + 1)
    letter = random.choice("abcxyz019-._ ")
    return random.choice(
        (text[:at] + letter + text[at:], text[:at] + text[at + 1 :], text + letter, text.upper())
    )
