"""Inputs of a performance model: readings to fit, and conditions to predict for.

A *reading* is one window or one micro-batch of an operator; *conditions* are a placement whose throughput is predicted.
*Capacity* is the number of replicas n or, on unequal nodes, the sum of their weights, which replaces n.
"""

import math
from dataclasses import dataclass

from gesscale.common.errors import InvalidValueError


class ModelError(InvalidValueError):
    """A reading, a condition or a set of readings that a performance model cannot use."""


#: Beyond any figure of a cluster. Quotients, squares and cubes of values between them are still finite.
_SMALLEST, _LARGEST = 1e-30, 1e30


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """Conditions to predict the MST for; the attributes are those of `Reading`.

    Raises
    ------
    ModelError
        When a value is beyond 1e30, above 0 by less than 1e-30, or out of its range.
    """

    replicas: int
    nd_max_ms: float
    weight: float | None = None
    batch_rows: float | None = None
    tasks: int | None = None

    def __post_init__(self) -> None:
        _check_conditions("conditions", self)

    @property
    def capacity(self) -> float:
        """The sum of the capacity weights if given, else n."""
        return float(self.replicas) if self.weight is None else self.weight


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading(Conditions):
    """One window or one micro-batch of an operator.

    Attributes
    ----------
    replicas
        n, at least 1.
    nd_max_ms
        NDmax of the placement, round trip, the driver's node included.
    batch_rows
        Rows of the batch (B when full); the micro-batch law needs them.
    tasks
        Tasks per batch; recorded because readings with different numbers of task waves are not comparable.
    weight
        Sum of the capacity weights of the replicas.

    Raises
    ------
    ModelError
        When a value is beyond 1e30, above 0 by less than 1e-30, or out of its range.

    Examples
    --------
    >>> Reading(replicas=2, nd_max_ms=150, rows_per_s=3000, weight=1.5).capacity
    1.5
    """

    #: Observed throughput, above 0; the MST if ``saturated``.
    rows_per_s: float
    #: True if the operator worked at its limit. Eq. 1 learns only from saturated readings.
    saturated: bool = True
    #: Time of the observation, seconds since the epoch.
    at_s: float = 0.0

    def __post_init__(self) -> None:
        _check_conditions("reading", self)
        _check("reading", "rows_per_s", self.rows_per_s)
        _check("reading", "at_s", self.at_s, least=-_LARGEST)


def _check_conditions(owner: str, value: Conditions) -> None:
    _check(owner, "replicas", value.replicas, least=1)
    _check(owner, "nd_max_ms", value.nd_max_ms, least=0)
    _check(owner, "weight", value.weight)
    _check(owner, "batch_rows", value.batch_rows)
    _check(owner, "tasks", value.tasks, least=1)


def _check(owner: str, name: str, value: float | None, *, least: float = _SMALLEST) -> None:
    if value is None or least <= value <= _LARGEST:
        return
    limit = "> 0" if least == _SMALLEST else f">= {least:g}"
    got = value if isinstance(value, float) or value <= _LARGEST else math.inf  # a long int cannot be printed
    raise ModelError("reading-invalid", owner=owner, field=name, limit=limit, got=got)
