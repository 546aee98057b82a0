"""Memos: state of a policy between steps, returned with an analysis and received in the next step with the knowledge.

So a policy is a pure function, and its state survives restarts, failovers and replays.
"""

from typing import ClassVar, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from gesscale.ports import Knowledge


class Memo(BaseModel):
    """State of one policy for one operator; the policy bounds its size."""

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="forbid")

    #: Registered name of the policy that wrote it; no other policy reads it.
    policy: str
    #: Time of its newest observation, seconds since the epoch. The same observation is not added twice.
    at_s: float


M = TypeVar("M", bound=Memo)


class SerializedMemo(str):
    """JSON of a memo with the memo itself, which saves parsing while the knowledge is in memory."""

    __slots__ = ("memo",)

    memo: Memo


def serialize_memo(memo: Memo) -> str:
    """Return a memo as JSON; `parse_memo` of the same object is fast."""
    text = SerializedMemo(memo.model_dump_json())
    text.memo = memo
    return text


def parse_memo(kind: type[M], text: str) -> M:
    """Parse the JSON of a memo.

    Raises
    ------
    ValidationError
        If it is not a memo of this kind.
    """
    if isinstance(text, SerializedMemo) and isinstance(text.memo, kind):
        return text.memo
    return kind.model_validate_json(text)


def load_memo(kind: type[M], policy: str, operator: str, knowledge: Knowledge) -> M | None:
    """Return the memo of a policy for an operator.

    Parameters
    ----------
    kind
        Class of the memo.
    policy
        Registered name of the policy.
    operator
        Name of the operator.
    knowledge
        The knowledge that contains the memo.

    Returns
    -------
    Memo or None
        None if there is no memo, if it is damaged, or if another policy or version wrote it. The policy then starts
        without state.
    """
    text = knowledge.memos.get(operator)
    if text is None:
        return None
    try:
        memo = parse_memo(kind, text)
    except ValidationError:
        return None
    return memo if memo.policy == policy else None
