"""An order: on which nodes an operator's executors are to be. The controller writes it, the Spark driver obeys."""

import re
from enum import StrEnum
from typing import Annotated, Any

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError, model_validator

from gesscale.errors import InputError
from gesscale.fields import LARGEST_EXACT, LONGEST_S, MOST_REPLICAS

_FAULTS_SHOWN = 5
_ID = re.compile(r"(0|[1-9]\d*)-(0|[1-9]\d*)")


class Strategy(StrEnum):
    """How an order is carried out.

    Live: executors join and leave the running query. Restart: the query stops at its checkpoint and starts again
    on the new placement, for jobs whose state or Kafka partitions cap the useful replicas.
    """

    LIVE = "Live"
    RESTART = "Restart"


class Order(BaseModel):
    """What stands in ``status.order`` of a StreamAutoscaler.

    Attributes
    ----------
    id
        ``<term>-<counter>``.
    term
        How often the controllers' leadership had changed hands when it was written: an order of a lower
        term comes from a controller that has lost it.
    placement
        Names of the nodes that are to hold exactly one executor each: at least one, sorted, no two alike.
    at
        When it was written.
    strategy
        How it is carried out.
    downtime_seconds
        The longest time without a finished batch around it; None until it has settled.
    """

    model_config = ConfigDict(extra="ignore", frozen=True, validate_by_name=True, validate_by_alias=True)

    id: str = Field(max_length=64)
    term: int = Field(ge=0, le=LARGEST_EXACT)
    placement: tuple[Annotated[str, Field(max_length=253)], ...] = Field(
        min_length=1, max_length=MOST_REPLICAS
    )
    at: AwareDatetime
    strategy: Strategy = Strategy.LIVE
    downtime_seconds: float | None = Field(None, alias="downtimeSeconds", ge=0, le=LONGEST_S)

    @property
    def rank(self) -> tuple[int, int]:
        """Return term and counter: of two orders, the one of the higher rank is newer."""
        return self.term, int(self.id.partition("-")[2])

    @model_validator(mode="after")
    def _check(self) -> "Order":
        found = _ID.fullmatch(self.id)
        if found is None or int(found[1]) != self.term:
            message = f"expected the id as <term>-<counter> with term {self.term}, got {self.id!r}"
            raise ValueError(message)
        if list(self.placement) != sorted(set(self.placement)) or not all(self.placement):
            message = f"expected the names of nodes, sorted, none twice, got {list(self.placement)!r:.200}"
            raise ValueError(message)
        return self


def parse_order(value: Any) -> Order:
    """Check an order as it stands in a resource.

    Parameters
    ----------
    value
        The JSON value of ``status.order``.

    Raises
    ------
    InputError
        Where it is none; the message names every field that is wrong.
    """
    try:
        return Order.model_validate(value)
    except ValidationError as error:
        faults = "; ".join(
            ": ".join(filter(None, [".".join(map(str, fault["loc"])), fault["msg"]]))
            for fault in error.errors(include_url=False)[:_FAULTS_SHOWN]
        )
        message = f"status.order is no order: {faults}"
        raise InputError(message) from None
