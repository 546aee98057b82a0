"""What a policy remembers from step to step: it hands a value out with an analysis and gets it with Knowledge.

So a policy stays a pure function, and what it remembers outlives the process, a failover and a replay.
"""

from typing import ClassVar, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from gesscale.ports import Knowledge


class Memo(BaseModel):
    """What one policy remembers of one operator; its writer bounds its size."""

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="forbid")

    #: The registered name of the policy that wrote it; no other reads it.
    policy: str
    #: The newest observation in it, seconds since the epoch: to plan again on that one adds nothing.
    at_s: float


M = TypeVar("M", bound=Memo)


class SerializedMemo(str):
    """A memo's JSON that still knows what it says: knowledge in memory hands the very text back in the next step."""

    __slots__ = ("memo",)

    memo: Memo


def serialize_memo(memo: Memo) -> str:
    """Return a memo as JSON; `read` of this very text is quick."""
    text = SerializedMemo(memo.model_dump_json())
    text.memo = memo
    return text


def parse_memo(kind: type[M], text: str) -> M:
    """Return what a memo's JSON says.

    Raises
    ------
    ValidationError
        It is none of this kind.
    """
    if isinstance(text, SerializedMemo) and isinstance(text.memo, kind):
        return text.memo
    return kind.model_validate_json(text)


def load_memo(kind: type[M], policy: str, operator: str, knowledge: Knowledge) -> M | None:
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
        memo = parse_memo(kind, text)
    except ValidationError:
        return None
    return memo if memo.policy == policy else None
