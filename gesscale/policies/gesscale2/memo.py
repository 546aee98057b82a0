"""What `gesscale2` remembers of an operator."""

from gesscale.policies.gesscale2.analysis.demand import LoadHistory
from gesscale.policies.gesscale2.analysis.law import LawEvidence
from gesscale.policies.gesscale2.analysis.speeds import NodeSpeeds
from gesscale.policies.memos import Memo


class Gesscale2Memo(Memo):
    """All that is learned of an operator; 3 to 7 kB of JSON."""

    #: Time between two steps.
    period_s: float
    #: End of the newest batch that the law knows, seconds since the epoch.
    learned_until_s: float = 0.0
    #: Evidence for the law of batch times.
    law: LawEvidence = LawEvidence()
    #: The offered load so far.
    load: LoadHistory = LoadHistory()
    #: How fast the nodes are.
    speeds: NodeSpeeds = NodeSpeeds()
