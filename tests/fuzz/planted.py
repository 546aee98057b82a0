"""Parsers with known faults, by which the fuzzer itself is tested."""

import os
import time
from pathlib import Path

from fuzz.target import Form, RefusedError, Target


def _faulty(data: bytes, folder: Path) -> None:
    """Refuse what has no figure, and fall over a 7."""
    del folder
    text = data.decode(errors="replace")
    if not any(letter.isdecimal() for letter in text):
        raise RefusedError
    if "7" in text:
        message = "seven"
        raise ZeroDivisionError(message)


def _hungry(data: bytes, folder: Path) -> None:
    del folder
    _ = [bytes(len(data)) for _ in range(10 * (1 << 20))]


def _endless(data: bytes, folder: Path) -> None:
    del data, folder
    while True:
        pass


def _asleep(data: bytes, folder: Path) -> None:
    del data, folder
    time.sleep(3600)


def _dying(data: bytes, folder: Path) -> None:
    del folder
    if data != b"sound":
        os.abort()


def _strict(data: bytes, folder: Path) -> None:
    del folder
    if data != b"sound":
        raise RefusedError


def _sample() -> list[bytes]:
    return [b"a 1\nb 2\n"]


TARGETS = (
    Target(name="faulty", form=Form.TEXT, samples=_sample, call=_faulty),
    Target(name="hungry", form=Form.TEXT, samples=list, call=_hungry),
    Target(name="endless", form=Form.TEXT, samples=list, call=_endless),
    Target(name="asleep", form=Form.TEXT, samples=list, call=_asleep),
    Target(name="dying", form=Form.TEXT, samples=list, call=_dying),
    Target(name="strict", form=Form.TEXT, samples=lambda: [b"sound"], call=_strict),
)
