"""The result of one check."""

from typing import NamedTuple

from gesscale.common.errors import Problem, catalogue


class Check(NamedTuple):
    """What was checked, and what was found."""

    #: Such as ``java`` or ``operator hashes``.
    subject: str
    #: What was found, or why it was not checked.
    found: str = ""
    problem: Problem | None = None
    #: Whether gesscale works in spite of the problem.
    is_warning: bool = False

    @property
    def result(self) -> str:
        """The result in one word: ok, warning or failed."""
        return "ok" if self.problem is None else "warning" if self.is_warning else "failed"

    @property
    def action(self) -> str:
        """What to do about the problem; empty without one."""
        entry = catalogue().get(self.problem.code) if self.problem else None
        return entry.action if entry else ""

    def document(self) -> dict[str, object]:
        """Return the check as JSON values."""
        problem = self.problem.as_json() if self.problem else None
        return {
            "check": self.subject,
            "result": self.result,
            "found": self.found,
            "problem": problem,
            "action": self.action,
        }


def failed(subject: str, problem: Problem, *, is_warning: bool = False) -> Check:
    """Return a check that found a problem."""
    return Check(subject, str(problem), problem, is_warning)
