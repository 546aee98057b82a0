"""Times of a change, estimated from the last changes."""

from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

from gesscale.model.order import Order

_CHANGES_COUNTED = 9
#: A change with a downtime of more than this number of triggers stopped the job.
_STOP_CYCLES = 1.5
#: Start time of a new replica, and downtime of a restart of the query, until they are measured.
_START_S, _RESTART_S = 8.0, 120.0


class ChangeTimes(NamedTuple):
    """Times of a change of the replicas, seconds."""

    #: Time until a new replica serves, if the job continues.
    start_s: float
    #: Time during which the job stops; 0 if it continues.
    stop_s: float = 0.0

    @property
    def effective_s(self) -> float:
        """Time until the ordered replicas serve."""
        return self.stop_s or self.start_s


def change_times(orders: Sequence[Order], trigger_s: float, *, restarts: bool) -> ChangeTimes:
    """Estimate the times of a change from the last ones: whether it stops the query, and its duration."""
    changes = orders[:_CHANGES_COUNTED]
    stops_s = [each.downtime_s for each in changes if each.downtime_s is not None]
    took_s = median(stops_s) if stops_s else _RESTART_S if restarts else 0.0
    started_s = [each.first_tasks_s for each in changes if each.first_tasks_s is not None and each.added > 0]
    return ChangeTimes(
        start_s=median(started_s) if started_s else _START_S,
        stop_s=took_s if took_s > _STOP_CYCLES * trigger_s else 0.0,
    )
