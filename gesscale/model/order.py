"""Order: the placement that was requested for an operator, with its time, reason and end."""

from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field

from gesscale.fields import MAX_DURATION_S
from gesscale.wire import MAX_REPLICAS


class Order(BaseModel):
    """Requested placement of an operator. Knowledge files and StreamAutoscalers store it in this form.

    It belongs to the decision of this operator at the same instant. Unknown values are None or empty.
    """

    model_config = ConfigDict(extra="ignore", frozen=True, allow_inf_nan=False)

    placement: tuple[Annotated[str, Field(min_length=1, max_length=253)], ...] = Field(
        max_length=MAX_REPLICAS, description="Nodes that must hold exactly one executor each, sorted."
    )
    at_s: float = Field(description="When it was written.")
    before: int | None = Field(None, ge=0, description="Replicas when it was written.")
    reason: str = Field("", max_length=64, description="Reason in a word; empty if its controller died.")
    settled_at_s: float | None = Field(None, description="When it settled or timed out; absent until then.")
    given_up: bool = Field(False, description="Whether the rescale timeout passed with missing executors.")
    downtime_s: float | None = Field(
        None,
        ge=0,
        le=MAX_DURATION_S,
        description="Longest time after it in which rows waited and no batch ran; absent until it has settled.",
    )
    first_tasks_s: float | None = Field(
        None,
        ge=0,
        le=MAX_DURATION_S,
        description="Time from the order to the start of the first batch on exactly its nodes; absent without one.",
    )

    @property
    def is_pending(self) -> bool:
        """Whether it has neither settled nor timed out."""
        return self.downtime_s is None

    @property
    def added(self) -> int:
        """Replicas added less those removed; 0 if their number before is unknown."""
        return 0 if self.before is None else len(self.placement) - self.before

    def ended(self, at_s: float, downtime_s: float, *, arrived: bool, first_tasks_s: float | None = None) -> Self:
        """Return the order with its end.

        Parameters
        ----------
        at_s
            When the end was detected.
        downtime_s
            Longest time after it in which rows waited and no batch ran.
        arrived
            Whether all replicas are there; otherwise the order timed out.
        first_tasks_s
            Time from the order to the start of the first batch on its nodes.
        """
        end = {"settled_at_s": at_s, "given_up": not arrived, "downtime_s": downtime_s, "first_tasks_s": first_tasks_s}
        return self.model_copy(update=end)
