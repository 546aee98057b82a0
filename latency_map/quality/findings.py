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
    """The worst case of a finding.

    Attributes
    ----------
    nodes
        The nodes that it is about, by name.
    rtt_ms
        Their round trip; None where there is none.
    text
        The case for people.
    """

    nodes: tuple[str, ...]
    rtt_ms: float | None
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that a check found.

    Attributes
    ----------
    concern, severity
        What it is about, and how much it matters.
    count, out_of, counted
        How many of how many, and what is counted.
    share_ratio
        ``count / out_of``; 0 where there is nothing to count.
    worst
        The worst case; None where none stands out.
    advice
        What to do.
    """

    concern: Concern
    severity: Severity
    count: int
    out_of: int
    counted: str
    share_ratio: float = field(init=False)
    worst: Worst | None = None
    advice: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "share_ratio", self.count / self.out_of if self.out_of else 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class QualityReport:
    """What a check says of a survey.

    Attributes
    ----------
    nodes, pairs
        How many there are; a pair is two nodes whatever the direction.
    findings
        Errors first.
    usable
        Whether decisions can be made by it as it is.
    repairs
        Options of ``repair`` that make it usable; none where it is, or where none would.
    verdict
        All that in one line.
    """

    nodes: int
    pairs: int
    findings: tuple[Finding, ...]
    usable: bool
    repairs: tuple[str, ...]
    verdict: str
