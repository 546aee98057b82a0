"""Assertions on errors: their code and fields, never their sentence."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from gesscale.common.errors import GesscaleError


@contextmanager
def refused(
    code: str, kind: type[GesscaleError] = GesscaleError, /, **fields: object
) -> Iterator[pytest.ExceptionInfo]:
    """Expect an error with this code, of this class, with at least these fields."""
    with pytest.raises(kind) as caught:
        yield caught
    assert caught.value.code == code
    assert {name: caught.value.fields.get(name) for name in fields} == fields
    assert str(caught.value).isprintable()


def codes(stderr: str) -> list[str]:
    """Return the codes of the errors and warnings that a command wrote, in their order."""
    return re.findall(r"^(?:error|warning)\[([a-z0-9-]+)\]: ", stderr, re.MULTILINE)


def error_in_json(stderr: str) -> dict:
    """Return the error that a command with ``--output json`` wrote: code, fields, message."""
    return json.loads(stderr.splitlines()[-1])["error"]


def logged_codes(text: str) -> list[str]:
    """Return the codes of the problems in a log, in their order."""
    return re.findall(r"\bcode=([a-z0-9-]+)", text)
