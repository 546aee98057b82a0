"""The result of one check."""

from typing import NamedTuple

from gesscale.common.errors import Problem, catalogue


class Check(NamedTuple):
    """What was checked, and what was found."""

    #: Such as ``java`` or ``operator hashes``.
    check: str
    #: A sentence.
    found: str
    #: ok, warning (gesscale works in spite of it) or failed.
    result: str = "ok"
    #: What is wrong, and what to do about it.
    problem: Problem | None = None
    action: str = ""


def failed(check: str, problem: Problem, *, is_warning: bool = False) -> Check:
    """Return a check that found a problem."""
    entry = catalogue().get(problem.code)
    return Check(check, str(problem), "warning" if is_warning else "failed", problem, entry.action if entry else "")
