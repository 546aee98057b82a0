"""Options of an operator in one step."""

from typing import NamedTuple

from gesscale.model.decision import Analysis
from gesscale.model.observation import OperatorReading
from gesscale.plan.node_ranking import NodeRanking
from gesscale.policies.gesscale.analysis.placements import Placements
from gesscale.policies.gesscale.memo import GesscaleMemo
from perfmodel import CapacityModel


class ReplicaOptions(NamedTuple):
    """Placements to choose from: the present one, and the best one of each number of replicas."""

    analysis: Analysis
    reading: OperatorReading
    memo: GesscaleMemo
    model: CapacityModel
    present: tuple[str, ...]
    free: NodeRanking
    #: The best placement of each number of replicas.
    sized: Placements
