"""An order as a StreamAutoscaler holds it, with what the controller adds to the driver's part (`gesscale.wire`)."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import chain, islice
from typing import Annotated, Any

from pydantic import Field, ValidationError, model_validator

from gesscale.common.errors import InvalidValueError
from gesscale.fields import MAX_EXACT_INTEGER
from gesscale.kubernetes.resource.parts import NODES_AT_MOST, ExactMoment, NodeName, Reported, like
from gesscale.model.order import Order
from gesscale.wire import Strategy, entries_of, group_of, order_problem

HISTORY_AT_MOST = 10
_FOUND_LATER = {"reason", "before", "settled_at_s", "given_up", "downtime_s", "first_tasks_s"}


class OrderStatus(Reported, Order):
    """An order; the controller that leads writes it, under optimistic locking."""

    id: str = Field(max_length=64, description="Term and counter, ``<term>-<counter>``.")
    term: int = Field(
        ge=0, le=MAX_EXACT_INTEGER, description="Of the leader that wrote it: drivers ignore lower terms."
    )
    placement: Annotated[tuple[NodeName, ...], Field(max_length=NODES_AT_MOST)] = like(Order, "placement", min_length=1)
    at_s: ExactMoment = like(Order, "at_s")
    strategy: Strategy = Field(Strategy.LIVE, description="How executors are exchanged.")
    settled_at_s: ExactMoment | None = like(Order, "settled_at_s")
    downtime_s: float | None = like(Order, "downtime_s", alias="downtimeSeconds")
    first_tasks_s: float | None = like(Order, "first_tasks_s", alias="firstTasksSeconds")

    @model_validator(mode="after")
    def _check(self) -> "OrderStatus":
        if problem := order_problem(self.id, self.term, self.placement):
            raise InvalidValueError(problem.code, **problem.fields)
        return self

    def found_later(self) -> dict[str, Any]:
        """Return the members that the controller adds after it has written the order, as the resource holds them."""
        return self.model_dump(mode="json", by_alias=True, include=_FOUND_LATER, exclude_defaults=True)


def order_of(document: Mapping[str, Any]) -> OrderStatus | None:
    """Return the order in a resource; None where there is none, or none that a driver could carry out."""
    return next(_sound(group_of(document, "status").get("order")), None)


def past_orders(status: Mapping[str, Any], *, replaced: bool = False) -> tuple[OrderStatus, ...]:
    """Return the past orders in a status that can be read, newest first; an older controller wrote others."""
    newest = (status.get("order"),) if replaced else ()
    sound = chain.from_iterable(map(_sound, (*newest, *entries_of(status, "history"))))
    return tuple(islice(sound, HISTORY_AT_MOST))


def _sound(value: Any) -> Iterator[OrderStatus]:
    with suppress(ValidationError):
        yield OrderStatus.model_validate(value)
