"""Memo of `gesscale`."""

from gesscale.policies.gesscale.analysis.demand import LoadHistory
from gesscale.policies.gesscale.analysis.speeds import NodeSpeeds
from gesscale.policies.memos import Memo
from perfmodel import BatchEvidence


class GesscaleMemo(Memo):
    """Learned state of an operator; 3 to 9 kB of JSON."""

    #: Time between two steps.
    period_s: float
    #: End of the newest batch in the evidence, seconds since the epoch.
    learned_until_s: float = 0.0
    #: Evidence for the law of batch times.
    batches: BatchEvidence = BatchEvidence()
    #: History of the offered load.
    load: LoadHistory = LoadHistory()
    #: Relative speeds of the nodes.
    speeds: NodeSpeeds = NodeSpeeds()
