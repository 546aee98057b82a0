"""An order in the status of a StreamAutoscaler: the driver's part (`gesscale.wire`) and the controller's."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import chain, islice
from typing import Annotated, Any

from pydantic import Field, ValidationError, model_validator

from gesscale.common.errors import InvalidValueError
from gesscale.fields import MAX_EXACT_INTEGER
from gesscale.kubernetes.resource.parts import MAX_LISTED_NODES, ExactMoment, NodeName, Reported, like
from gesscale.model.order import Order
from gesscale.wire import Strategy, entries_of, group_of, lease_of, order_problem

MAX_HISTORY = 10
#: Fields that the controller adds after it has written an order.
FOUND_LATER = {"reason", "before", "settled_at_s", "given_up", "downtime_s", "first_tasks_s"}


class OrderStatus(Reported, Order):
    """An order; written by the leader, under optimistic locking."""

    id: str = Field(max_length=64, description="Term and counter, ``<term>-<counter>``.")
    term: int = Field(
        ge=0, le=MAX_EXACT_INTEGER, description="Term of the leader that wrote it; drivers ignore lower terms."
    )
    placement: Annotated[tuple[NodeName, ...], Field(max_length=MAX_LISTED_NODES)] = like(
        Order, "placement", min_length=1
    )
    at_s: ExactMoment = like(Order, "at_s")
    strategy: Strategy = Field(Strategy.LIVE, description="How executors are replaced.")
    lease: str = Field(
        "", max_length=400, description="Lease of the leader that wrote it, and id: ``<namespace>/<name>/<id>``."
    )
    lost: Annotated[tuple[NodeName, ...], Field(max_length=MAX_LISTED_NODES)] = Field(
        (), description="Nodes that can hold no executor now, sorted; the driver removes executors on them at once."
    )
    settled_at_s: ExactMoment | None = like(Order, "settled_at_s")
    downtime_s: float | None = like(Order, "downtime_s", alias="downtimeSeconds")
    first_tasks_s: float | None = like(Order, "first_tasks_s", alias="firstTasksSeconds")

    @property
    def written_under(self) -> str:
        """The Lease of the leader that wrote it, ``namespace/name``; empty if it is not known."""
        return lease_of({"id": self.id, "lease": self.lease})

    @model_validator(mode="after")
    def _check(self) -> "OrderStatus":
        if problem := order_problem(self.id, self.term, self.placement):
            raise InvalidValueError(problem.code, **problem.fields)
        return self

    def found_later(self) -> dict[str, Any]:
        """Return the fields that the controller adds after it has written the order."""
        return self.model_dump(mode="json", by_alias=True, include=FOUND_LATER, exclude_defaults=True)


def order_of(document: Mapping[str, Any]) -> OrderStatus | None:
    """Return the order in a resource; None without a valid one."""
    return next(_valid(group_of(document, "status").get("order")), None)


def past_orders(status: Mapping[str, Any], *, replaced: bool = False) -> tuple[OrderStatus, ...]:
    """Return the valid past orders in a status, newest first."""
    newest = (status.get("order"),) if replaced else ()
    valid = chain.from_iterable(map(_valid, (*newest, *entries_of(status, "history"))))
    return tuple(islice(valid, MAX_HISTORY))


def _valid(value: Any) -> Iterator[OrderStatus]:
    with suppress(ValidationError):
        yield OrderStatus.model_validate(value)
