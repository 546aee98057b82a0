"""What `gesscale2` remembers of an operator."""

from gesscale.policies.gesscale2.demand import LoadHistory
from gesscale.policies.gesscale2.law import LawEvidence
from gesscale.policies.memos import Memo


class Gesscale2Memo(Memo):
    """All that is learned of an operator.

    Attributes
    ----------
    period_s
        Time between two steps.
    learned_until_s
        The end of the newest batch that is part of the evidence.
    """

    period_s: float
    learned_until_s: float = 0.0
    law: LawEvidence = LawEvidence()
    load: LoadHistory = LoadHistory()
