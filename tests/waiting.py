"""Polling of real systems."""

import time
from collections.abc import Callable
from typing import TypeVar

import pytest

from gesscale.errors import ClusterError

T = TypeVar("T")


def until(done: Callable[[], T], what: str, within_s: float = 240.0, state: Callable[[], str] = str) -> T:
    """Poll until the result is true, and return it; an exception counts as not true yet."""
    end_s = time.monotonic() + within_s
    while True:
        problem = ""
        try:
            if found := done():
                return found
        except (ClusterError, OSError, LookupError, StopIteration) as error:
            problem = f" ({error})"
        if time.monotonic() > end_s:
            pytest.fail(f"expected within {within_s:g} s: {what}{problem}\n{state()}")
        time.sleep(0.1)
