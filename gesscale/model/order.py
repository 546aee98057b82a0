"""The order: which nodes an operator's replicas are to be on, since when and why, and what became of it."""

from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field

from gesscale.fields import LONGEST_S
from gesscale.wire import MOST_REPLICAS


class Order(BaseModel):
    """The placement that an operator is to have. Knowledge files and StreamAutoscalers store it as it is here.

    Attributes
    ----------
    placement
        Nodes that are to hold exactly one replica each, sorted.
    at_s
        When it was ordered, seconds since the epoch. The decision of this operator at this instant ordered it.
    before
        Replicas when it was ordered; None where this is not known.
    reason
        Why, in one word: the reason of that decision. Empty where this is not known.
    settled_at_s
        When it had settled or was given up; None until then, and where only the downtime was stored.
    given_up
        Whether the rescale timeout passed before all replicas were there.
    downtime_s
        The longest time without a finished batch around it; None until it has settled or was given up.
    first_tasks_s
        From the order to the beginning of the first batch on all its nodes and no other; None where there was none.
    """

    model_config = ConfigDict(extra="ignore", frozen=True, allow_inf_nan=False)

    placement: tuple[Annotated[str, Field(min_length=1, max_length=253)], ...] = Field(
        max_length=MOST_REPLICAS
    )
    at_s: float
    before: int | None = Field(None, ge=0)
    reason: str = Field("", max_length=64)
    settled_at_s: float | None = None
    given_up: bool = False
    downtime_s: float | None = Field(None, ge=0, le=LONGEST_S)
    first_tasks_s: float | None = Field(None, ge=0, le=LONGEST_S)

    @property
    def is_pending(self) -> bool:
        """Whether it has not settled and was not given up."""
        return self.downtime_s is None

    def ended(
        self, at_s: float, downtime_s: float, *, arrived: bool, first_tasks_s: float | None = None
    ) -> Self:
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
        end = {
            "settled_at_s": at_s,
            "given_up": not arrived,
            "downtime_s": downtime_s,
            "first_tasks_s": first_tasks_s,
        }
        return self.model_copy(update=end)
