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
    """Expect an error of this class; one of its problems has this code and at least these fields."""
    with pytest.raises(kind) as caught:
        yield caught
    problems = caught.value.problems
    found = [problem.fields for problem in problems if problem.code == code]
    assert found, problems
    assert any(all(each.get(name) == value for name, value in fields.items()) for each in found), (fields, found)
    assert all(str(problem).isprintable() for problem in problems)


def codes(stderr: str) -> list[str]:
    """Return the codes of the errors and warnings that a command wrote, in their order."""
    return re.findall(r"^(?:error|warning)\[([a-z0-9-]+)\]: ", stderr, re.MULTILINE)


def error_in_json(stderr: str) -> dict:
    """Return the only error that a command with ``--output json`` wrote: code, fields, message."""
    (error,) = json.loads(stderr.splitlines()[-1])["errors"]
    return error


def logged_codes(text: str) -> list[str]:
    """Return the codes of the problems in a log, in their order."""
    return re.findall(r"\bcode=([a-z0-9-]+)", text)
