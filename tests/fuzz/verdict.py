"""What became of an input."""

from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """What became of it, in a word; all but the first two are findings."""

    ACCEPTED = "accepted"
    REFUSED = "refused"
    TRACEBACK = "traceback"
    HANG = "hang"
    MEMORY = "memory"
    CRASH = "crash"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one input may take.

    Attributes
    ----------
    cpu_s
        CPU time. It does not grow when others keep the machine busy.
    wall_s
        Time on the clock, against waiting for ever.
    mib
        Memory beyond what the worker had before.
    """

    cpu_s: float = 5.0
    wall_s: float = 60.0
    mib: int = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What became of an input.

    Attributes
    ----------
    kind
        In a word.
    cause
        For a finding: the error, where it was raised, and what it says.
    place
        Of the cause: file and line.
    cpu_s
        CPU time that it took.
    mib
        How much more memory than before was in use at its peak.
    """

    kind: Kind
    cause: str = ""
    place: str = ""
    cpu_s: float = 0.0
    mib: float = 0.0

    @property
    def is_finding(self) -> bool:
        """Whether the parser has a fault."""
        return self.kind not in {Kind.ACCEPTED, Kind.REFUSED}
