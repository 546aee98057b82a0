"""Results of a check of a survey: findings with a severity, and a verdict."""

from dataclasses import dataclass, field
from enum import StrEnum

from gesscale.common.errors import Problem, catalogue


class Severity(StrEnum):
    """Severity of a finding.

    ``ERROR``: the survey is not a complete latency map, so decisions cannot use it. ``WARNING``: they can, but may be
    worse for it. ``INFO``: no action needed.
    """

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One result of a check."""

    #: Code, and the figures of the worst case.
    problem: Problem
    severity: Severity
    #: The number of cases, their possible number, and what is counted (count, out_of, counted).
    count: int
    out_of: int
    counted: str
    #: ``count / out_of``; 0 if there is nothing to count.
    share_ratio: float = field(init=False)
    #: The nodes of the worst case; none if no case stands out.
    nodes: tuple[str, ...] = ()
    #: Their round trip; None if there is none.
    rtt_ms: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "share_ratio", self.count / self.out_of if self.out_of else 0.0)

    @property
    def code(self) -> str:
        """The code of the problem."""
        return self.problem.code

    @property
    def advice(self) -> str:
        """The remedy in the catalogue."""
        return catalogue()[self.code].action


@dataclass(frozen=True, slots=True, kw_only=True)
class QualityReport:
    """Result of a check of a survey."""

    #: Number of nodes, and of pairs in either direction (nodes, pairs).
    nodes: int
    pairs: int
    #: Errors first.
    findings: tuple[Finding, ...]
    #: True if decisions can use the survey without a repair.
    usable: bool
    #: Options of ``repair`` that make it usable; none if it is, or if none would.
    repairs: tuple[str, ...]
    #: A summary in one line.
    verdict: str
