"""What a check says: findings with a severity, and a verdict."""

from dataclasses import dataclass, field
from enum import StrEnum


class Severity(StrEnum):
    """How much a finding matters.

    ``ERROR``: the survey amounts to no complete latency map, so decisions cannot be made by it as it is.
    ``WARNING``: it does, but a decision may be a worse one for it. ``INFO``: good to know.
    """

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class Concern(StrEnum):
    """What a finding is about."""

    MISSING_PAIRS = "missing pairs"
    ISLANDS = "islands"
    SELF_DELAYS = "non-zero diagonal"
    ASYMMETRY = "asymmetry"
    ONE_WAY_PAIRS = "one direction missing"
    ZERO_DELAYS = "zeros off the diagonal"
    BROKEN_TRIANGLES = "broken triangles"
    SLOW_PAIRS = "outliers: slow pairs"
    FAST_PAIRS = "outliers: fast pairs"
    ESTIMATED = "estimated"
    AGE = "age"


@dataclass(frozen=True, slots=True, kw_only=True)
class Worst:
    """The worst case of a finding."""

    #: The nodes that it is about, by name.
    nodes: tuple[str, ...]
    #: Their round trip; None where there is none.
    rtt_ms: float | None
    #: The case for people.
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that a check found."""

    #: What it is about, and how much it matters (concern, severity).
    concern: Concern
    severity: Severity
    #: How many of how many, and what is counted (count, out_of, counted).
    count: int
    out_of: int
    counted: str
    #: ``count / out_of``; 0 where there is nothing to count.
    share_ratio: float = field(init=False)
    #: The worst case; None where none stands out.
    worst: Worst | None = None
    #: What to do.
    advice: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "share_ratio", self.count / self.out_of if self.out_of else 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class QualityReport:
    """What a check says of a survey."""

    #: How many there are; a pair is two nodes whatever the direction (nodes, pairs).
    nodes: int
    pairs: int
    #: Errors first.
    findings: tuple[Finding, ...]
    #: Whether decisions can be made by it as it is.
    usable: bool
    #: Options of ``repair`` that make it usable; none where it is, or where none would.
    repairs: tuple[str, ...]
    #: All that in one line.
    verdict: str
