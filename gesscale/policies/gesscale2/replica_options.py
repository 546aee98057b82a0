"""What an operator can choose from in one step."""

from typing import NamedTuple

from gesscale.model.decision import Analysis
from gesscale.model.observation import OperatorReading
from gesscale.plan.placement import NodeRanking
from gesscale.policies.gesscale2.analysis.rollout import Rollout
from gesscale.policies.gesscale2.memo import Gesscale2Memo


class ReplicaOptions(NamedTuple):
    """What an operator can choose from: the present placement, and the best of each number of replicas."""

    analysis: Analysis
    reading: OperatorReading
    memo: Gesscale2Memo
    present: tuple[str, ...]
    free: NodeRanking
    #: The fewest replicas first.
    placements: tuple[tuple[str, ...], ...]
    #: With a candidate for each of them.
    rollout: Rollout
