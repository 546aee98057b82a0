"""What `gesscale2` remembers of an operator."""

from gesscale.policies.gesscale2.analysis.demand import LoadHistory
from gesscale.policies.gesscale2.analysis.law import LawEvidence
from gesscale.policies.gesscale2.analysis.speeds import NodeSpeeds
from gesscale.policies.memos import Memo


class Gesscale2Memo(Memo):
    """All that is learned of an operator; 3 to 7 kB of JSON.

    Attributes
    ----------
    period_s
        Time between two steps.
    learned_until_s
        End of the newest batch that the law knows, seconds since the epoch.
    law
        Evidence for the law of batch times.
    load
        The offered load so far.
    speeds
        How fast the nodes are.
    """

    period_s: float
    learned_until_s: float = 0.0
    law: LawEvidence = LawEvidence()
    load: LoadHistory = LoadHistory()
    speeds: NodeSpeeds = NodeSpeeds()
