"""One run of the arena, and what came of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Annotated

from pydantic import Field

from gesscale.fields import MAX_EXACT_INTEGER
from testbed.scoring.sample import Scores
from testbed.scoring.workflow_totals import Backlog, ReplicaCount

#: Names of all that a run is judged by: the scores; the replicas of all operators together, and the rows that
#: wait before them; the least cost at its own number of changes (replica-minutes), and by how much its own
#: cost lies above that (per cent).
METRICS = (
    *(score.name for score in fields(Scores)),
    *(figure.name for figure in fields(ReplicaCount)),
    *(figure.name for figure in fields(Backlog)),
    "frontier_cost",
    "above_frontier_pct",
)


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Case:
    """A policy on a workload, with a seed; everything else is the experiment's."""

    workload: str
    #: Decides noise, what is random of the workload and, where the experiment says so, day and latency map.
    #: The same seed is the same world to every policy.
    seed: int
    policy: str
    #: Name of the experiment's variant; empty where it has none.
    variant: str = ""


#: A whole number that is a float as well.
Exact = Annotated[int, Field(ge=-MAX_EXACT_INTEGER, le=MAX_EXACT_INTEGER)]


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseResult:
    """What came of a case."""

    #: Which.
    case: Case
    #: Why the policy lost the run: it raised, gave nonsense or did not come to an end; empty where it did
    #: not.
    lost: str = ""
    #: By the names of `METRICS`; None where unknown. Empty where the run was lost.
    metrics: Mapping[str, float | Exact | bool | None] = field(default_factory=dict)
    #: The course of the run for the figures, downsampled: names of columns to values. Empty unless asked for.
    series: Mapping[str, tuple[float | None, ...]] = field(default_factory=dict)


def case_name(words: Sequence[object]) -> str:
    """Return a name for a folder or a file: letters, digits and dots, the rest as dashes.

    Examples
    --------
    >>> case_name(("nyc-day", "mine.py:POLICY", 0))
    'nyc-day-mine.py-POLICY-0'
    """
    text = "-".join(map(str, words))
    return "".join(letter if letter.isalnum() or letter in ".-_" else "-" for letter in text).strip(".-")
