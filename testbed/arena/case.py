"""A case of an experiment, and the result of running it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Annotated, Self

from pydantic import Field

from gesscale.common.errors import Problem
from gesscale.fields import MAX_EXACT_INTEGER
from testbed.scoring.engine_figures import EngineFigures
from testbed.scoring.sample import Scores
from testbed.scoring.workflow_totals import Backlog, ReplicaCount

#: Names of all metrics of a run: the scores, the replicas and the backlog of all operators together, the figures that
#: the engine reports, the lowest cost at the run's number of changes (replica-minutes), how far the cost of the run is
#: above it (per cent), and the lower bound of the cost with late minutes and changes (replica-minutes).
METRICS = (
    *(score.name for score in fields(Scores)),
    *(figure.name for figure in fields(ReplicaCount)),
    *(figure.name for figure in fields(Backlog)),
    *(figure.name for figure in fields(EngineFigures)),
    "frontier_cost",
    "above_frontier_pct",
    "lower_bound_cost",
)

#: Column of a trajectory: latencies from the 0th to the 100th percentile of the rows, with its own length.
LATENCIES = "latency_quantiles_s"


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Case:
    """A policy on a workload with a seed; the experiment defines everything else."""

    workload: str
    #: Seed of the noise, of random parts of the workload and, optionally, of day and latency map.
    #: The same seed gives every policy the same world.
    seed: int
    policy: str
    #: Name of the experiment's variant; empty if it has none.
    variant: str = ""


#: A whole number that a float represents exactly.
Exact = Annotated[int, Field(ge=-MAX_EXACT_INTEGER, le=MAX_EXACT_INTEGER)]


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseResult:
    """Metrics of one case, or the reason why its run was lost."""

    case: Case
    #: Reason why the run has no metrics: the policy raised, returned invalid output or timed out; empty otherwise.
    lost: str = ""
    #: The reason as a code of the error catalogue, such as ``policy-raised``.
    lost_code: str = ""
    #: By the names of `METRICS`; None if unknown. Empty for a lost run.
    metrics: Mapping[str, float | Exact | bool | None] = field(default_factory=dict)
    #: Trajectory of the run for the figures, downsampled: values by column name. Empty unless requested.
    series: Mapping[str, tuple[float | None, ...]] = field(default_factory=dict)

    @classmethod
    def of_lost(cls, case: Case, problem: Problem) -> Self:
        """Return the result of a run that a problem ended."""
        return cls(case=case, lost=str(problem), lost_code=problem.code)


def case_name(words: Sequence[object]) -> str:
    """Return a name for a folder or a file: letters, digits and dots, the rest as dashes.

    Examples
    --------
    >>> case_name(("nyc-day", "mine.py:POLICY", 0))
    'nyc-day-mine.py-POLICY-0'
    """
    text = "-".join(map(str, words))
    return "".join(letter if letter.isalnum() or letter in ".-_" else "-" for letter in text).strip(".-")
