"""The order: which nodes an operator's replicas are to be on, since when and why, and what became of it."""

from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field

from gesscale.fields import MAX_DURATION_S
from gesscale.wire import MAX_REPLICAS


class Order(BaseModel):
    """The placement that an operator is to have. Knowledge files and StreamAutoscalers store it as it is here.

    The decision of this operator at the same instant ordered it. What is not known is None or empty.
    """

    model_config = ConfigDict(extra="ignore", frozen=True, allow_inf_nan=False)

    placement: tuple[Annotated[str, Field(min_length=1, max_length=253)], ...] = Field(
        max_length=MAX_REPLICAS, description="Nodes that are to hold exactly one executor each, sorted."
    )
    at_s: float = Field(description="When it was written.")
    before: int | None = Field(None, ge=0, description="Replicas when it was written.")
    reason: str = Field("", max_length=64, description="Why, in a word; empty where its controller died.")
    settled_at_s: float | None = Field(None, description="When it had settled or was given up; absent until then.")
    given_up: bool = Field(False, description="Whether the rescale timeout passed with executors missing.")
    downtime_s: float | None = Field(
        None,
        ge=0,
        le=MAX_DURATION_S,
        description="The longest time without a finished batch around it; absent until it has settled.",
    )
    first_tasks_s: float | None = Field(
        None,
        ge=0,
        le=MAX_DURATION_S,
        description="From the order to the beginning of the first batch on just its nodes; absent without one.",
    )

    @property
    def is_pending(self) -> bool:
        """Whether it has not settled and was not given up."""
        return self.downtime_s is None

    def ended(self, at_s: float, downtime_s: float, *, arrived: bool, first_tasks_s: float | None = None) -> Self:
        """Return it as it is once it has settled or was given up.

        Parameters
        ----------
        at_s
            When this was found.
        downtime_s
            The longest time without a finished batch around it.
        arrived
            Whether all replicas are there. If not, the order is given up.
        first_tasks_s
            From the order to the beginning of the first batch on its nodes.
        """
        end = {"settled_at_s": at_s, "given_up": not arrived, "downtime_s": downtime_s, "first_tasks_s": first_tasks_s}
        return self.model_copy(update=end)
