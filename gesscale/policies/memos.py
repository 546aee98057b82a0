"""What a policy remembers from step to step: a value that it hands out with an analysis and gets back with Knowledge.

So a policy stays a pure function, and what it remembers outlives the process, a failover and a replay.
"""

from typing import ClassVar, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from gesscale.ports import Knowledge


class Memo(BaseModel):
    """What one policy remembers of one operator; bounded in size by whoever writes it.

    Attributes
    ----------
    policy
        The registered name of the policy that wrote it; no other reads it.
    at_s
        The observation that it includes last, seconds since the epoch: planning again on that one adds nothing.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="forbid")

    policy: str
    at_s: float


M = TypeVar("M", bound=Memo)


def recalled(kind: type[M], policy: str, operator: str, knowledge: Knowledge) -> M | None:
    """Return what a policy remembers of an operator.

    Parameters
    ----------
    kind
        Its memo.
    policy
        Its registered name.
    operator
        Whose.
    knowledge
        Where it is kept.

    Returns
    -------
    Memo or None
        None where there is none, where another policy or another version wrote it, or where it is damaged: the
        policy then begins again.
    """
    text = knowledge.memos.get(operator)
    if text is None:
        return None
    try:
        memo = kind.model_validate_json(text)
    except ValidationError:
        return None
    return memo if memo.policy == policy else None
